/**
 * The life of a service process: settings, start, health, drain, end.
 *
 * The process ends on SIGTERM or SIGINT (after draining), when the IPC channel to its supervisor closes (so that no
 * orphan survives a killed launcher), and on any error that was not caught. Exit codes: 0 drained, 1 failed,
 * `EXIT_BAD_CONFIG` when the settings are not usable and a restart cannot help.
 */
import { randomBytes } from 'node:crypto';
import { Session } from 'node:inspector/promises';
import { type Tracer } from '@troupe/contracts';
import { watchEventLoop } from './event-loop.js';
import { Health, serveHealth, type HealthChecks } from './health.js';
import { createLogger, type Logger } from './logger.js';
import { Metrics } from './metrics.js';
import type { OpenTraces } from './trace-destination.js';
import { openTraces, type TraceSettings } from './traces.js';

/** The settings of a service that `runService` itself reads. */
export interface ServiceSettings extends TraceSettings {
  readonly logLevel: string;
  readonly logFormat?: 'pretty' | 'json';
  readonly metricsPort: number;
  readonly host: string;
}

export interface ServiceContext<C> {
  config: C;
  log: Logger;
  metrics: Metrics;
  tracer: Tracer;
  /** Unique for this process, usable as a key: `<name>-<8 hex digits>`. */
  instance: string;
}

export interface RunningService {
  /** Readiness asks every one of them; name them after the dependency (`postgres`, `nats`). */
  checks: HealthChecks;
  /** Stop taking work, finish what is begun, close connections. At most `DRAIN_TIMEOUT_MS`, then the process ends. */
  drain(): Promise<void>;
  /** Address of the service's own interface, if it has one; announced with the ready message. */
  url?: string;
}

/** Sent to the supervisor over IPC, once. */
export interface ReadyMessage {
  type: 'ready';
  /** Base of the health endpoints. */
  health: string;
  instance: string;
  url?: string;
}

export const EXIT_BAD_CONFIG = 78;
export const DRAIN_TIMEOUT_MS = 30_000;
/** Without a supervisor a long drain serves no purpose, and Postgres and NATS are about to go. */
const ORPHAN_DRAIN_MS = 3_000;

class ServiceProcess<C extends ServiceSettings> {
  private running: RunningService | null = null;
  private ending = false;
  readonly health: Health;

  constructor(
    private readonly name: string,
    private readonly context: ServiceContext<C>,
    private readonly traces: OpenTraces,
  ) {
    this.health = new Health(name, context.instance);
  }

  async run(start: (context: ServiceContext<C>) => Promise<RunningService>): Promise<void> {
    const { config, log, instance, metrics } = this.context;
    this.listenForTheEnd();
    watchEventLoop(log);
    const { url: health } = await serveHealth({ health: this.health, metrics }, config.metricsPort, config.host);
    this.running = await start(this.context);
    await releaseStartMemory();
    if (this.ending) return;
    this.health.running(this.running.checks);
    log.info({ health, url: this.running.url }, `${this.name} is ready`);
    const ready: ReadyMessage = { type: 'ready', health, instance, url: this.running.url };
    process.send?.(ready);
  }

  private listenForTheEnd(): void {
    process.on('SIGTERM', () => this.onSignal('SIGTERM'));
    process.on('SIGINT', () => this.onSignal('SIGINT'));
    process.on('disconnect', () => void this.end('the supervisor is gone', ORPHAN_DRAIN_MS));
    process.on('uncaughtException', (error) => this.crash(error));
    process.on('unhandledRejection', (reason) => this.crash(reason));
    if (process.send !== undefined && !process.connected) process.exit(1);
  }

  private onSignal(signal: string): void {
    if (this.ending) process.exit(1);
    void this.end(signal, DRAIN_TIMEOUT_MS);
  }

  crash(error: unknown): void {
    this.context.log.fatal({ err: error }, `${this.name} failed`);
    process.exit(1);
  }

  private async end(reason: string, timeoutMs: number): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    this.health.draining();
    const { log } = this.context;
    log.info({ reason }, `${this.name} drains`);
    setTimeout(() => {
      log.error({ timeoutMs }, `${this.name} did not drain in time`);
      process.exit(1);
    }, timeoutMs);
    try {
      await this.running?.drain();
      await this.traces.stop();
    } catch (error) {
      this.crash(error);
    }
    log.info(`${this.name} stopped`);
    process.exit(0);
  }
}

/**
 * Frees the memory that loading the program left behind: V8 would keep it until the service has work. Only when it is asked like this does
 * it also give back the young generation, which starting has made large. No request waits for this process yet.
 */
async function releaseStartMemory(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}

/**
 * Runs a service until it is told to end; the promise settles when it is ready. `options.readConfig` is handed in
 * because this library knows no settings of its own.
 */
export async function runService<C extends ServiceSettings>(
  name: string,
  start: (context: ServiceContext<C>) => Promise<RunningService>,
  options: { readConfig: () => C },
): Promise<void> {
  const config = configOrExit(name, options.readConfig);
  const instance = `${name}-${randomBytes(4).toString('hex')}`;
  const log = createLogger(name, { level: config.logLevel, format: config.logFormat, instance });
  const metrics = new Metrics(name);
  const traces = await openTraces(config, { service: name, instance, log, metrics });
  const service = new ServiceProcess(name, { config, log, instance, metrics, tracer: traces.tracer }, traces);
  try {
    await service.run(start);
  } catch (error) {
    service.crash(error);
  }
}

function configOrExit<C>(name: string, readConfig: () => C): C {
  try {
    return readConfig();
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(EXIT_BAD_CONFIG);
  }
}
