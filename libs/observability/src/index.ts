export { DURATION_BUCKETS, Metrics, watchLink, watchPool, type CountedLink, type CountedPool } from './metrics.js';
export { createLogger, type Logger, type LoggerOptions } from './logger.js';
export { openTraces, type TraceSettings } from './traces.js';
export type { OpenTraces } from './trace-destination.js';
export { spanUrl } from './span-url.js';
export { hideCredentials } from './redact.js';
export { TimeSlice } from './time-slice.js';
export { prettyLine } from './pretty.js';
export {
  Dependencies,
  reasonOf,
  statusOf,
  type CheckAnswer,
  type HealthCheck,
  type HealthChecks,
  type OptionalCheck,
  type Readiness,
} from './health.js';
export {
  DRAIN_TIMEOUT_MS,
  EXIT_BAD_CONFIG,
  runService,
  type ReadyMessage,
  type RunningService,
  type ServiceContext,
  type ServiceSettings,
} from './run-service.js';
