/** The destination of a process's traces. Without a collector nothing of OpenTelemetry is loaded. */
import { NO_TRACES } from '@troupe/contracts';
import type { Logger } from './logger.js';
import type { Metrics } from './metrics.js';
import type { OpenTraces, TraceDestination } from './trace-destination.js';

export interface TraceSettings {
  /** Base address of a collector that speaks OTLP over HTTP; absent: no traces. */
  readonly otelExporterOtlpEndpoint?: string;
  /** `name=value` pairs, sent along with every batch. */
  readonly otelExporterOtlpHeaders?: readonly string[];
  /** Share of the API calls that are recorded, 0 to 1. */
  readonly otelTracesSamplerArg?: number;
}

const DEFAULT_RATIO = 0.01;
const WARN_EVERY_MS = 60_000;
const TRACES_PATH = 'v1/traces';

export async function openTraces(
  settings: TraceSettings,
  { service, instance, log, metrics }: { service: string; instance: string; log: Logger; metrics: Metrics },
): Promise<OpenTraces> {
  const { otelExporterOtlpEndpoint: endpoint, otelExporterOtlpHeaders = [], otelTracesSamplerArg } = settings;
  if (endpoint === undefined) return { tracer: NO_TRACES, stop: () => Promise.resolve() };
  const { openOtelTraces } = await import('./otel-tracer.js');
  return openOtelTraces({
    url: tracesUrl(endpoint),
    headers: Object.fromEntries(otelExporterOtlpHeaders.map(parseHeader)),
    ratio: otelTracesSamplerArg ?? DEFAULT_RATIO,
    service,
    instance,
    onResult: exportReport(log, metrics),
  });
}

export function tracesUrl(endpoint: string): string {
  return new URL(TRACES_PATH, endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
}

/** Values are percent-encoded, as OpenTelemetry has it. */
function parseHeader(pair: string): [string, string] {
  const at = pair.indexOf('=');
  return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
}

/** Counts sent and lost spans; a collector that is away is reported once a minute. */
export function exportReport(
  log: Pick<Logger, 'warn'>,
  metrics: Metrics,
  now: () => number = () => performance.now(),
): TraceDestination['onResult'] {
  const naming = { name: 'troupe_spans_exported_total', help: 'Spans of traces by what became of them' } as const;
  const spansTotal = metrics.counterOf(naming, 'result', ['sent', 'lost']);
  let warnAt = -Infinity;
  let lost = 0;
  return (spans, error) => {
    spansTotal.inc(error === null ? 'sent' : 'lost', spans);
    if (error === null) return;
    lost += spans;
    if (now() < warnAt) return;
    warnAt = now() + WARN_EVERY_MS;
    log.warn({ err: { message: error.message }, spans: lost }, 'the trace collector did not take spans; they are lost');
    lost = 0;
  };
}
