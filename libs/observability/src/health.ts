/** Liveness, readiness and metrics over HTTP, the same for every service. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.js';
import { hideCredentials } from './redact.js';

/** Resolves when the dependency answers, rejects with the reason when it does not. */
export type HealthCheck = () => Promise<void>;

/** A dependency without which the service still does most of its work. */
export interface OptionalCheck {
  optional: HealthCheck;
}

/** By the names of the dependencies. */
export type HealthChecks = Record<string, HealthCheck | OptionalCheck>;

export interface CheckAnswer {
  status: 'up' | 'down';
  /** Present when the service is ready without it. */
  optional?: true;
  /** How long the answer took. */
  ms: number;
  /** How old the answer is. */
  ageMs: number;
  /** How long it has been so, as far as it was asked. */
  forMs: number;
  error?: string;
}

export interface Readiness {
  /** `degraded`: ready, but something optional is down. */
  status: 'ok' | 'degraded' | 'starting' | 'draining' | 'unavailable';
  service: string;
  instance: string;
  checks: Record<string, CheckAnswer>;
}

/** A dependency that does not answer within this time counts as down. */
export const CHECK_TIMEOUT_MS = 2_000;
/** Probes, people and dashboards that ask within this time get the same answer. */
const FRESH_MS = 1_000;

interface Verdict {
  error?: string;
  ms: number;
  at: number;
}

/** One dependency, asked at most once a second however many callers want to know. */
class Dependency {
  private last: Verdict | null = null;
  private asking: Promise<Verdict> | null = null;
  private changedAt = 0;

  constructor(
    private readonly check: HealthCheck | OptionalCheck,
    private readonly timeoutMs: number,
  ) {}

  async answer(): Promise<CheckAnswer> {
    const { error, ms, at } = await this.verdict();
    const now = performance.now();
    return {
      status: error === undefined ? 'up' : 'down',
      ...(typeof this.check === 'function' ? {} : { optional: true }),
      ms,
      ageMs: Math.round(now - at),
      forMs: Math.round(now - this.changedAt),
      ...(error === undefined ? {} : { error }),
    };
  }

  private async verdict(): Promise<Verdict> {
    if (this.last !== null && performance.now() - this.last.at < FRESH_MS) return this.last;
    this.asking ??= this.ask().finally(() => (this.asking = null));
    return this.asking;
  }

  private async ask(): Promise<Verdict> {
    const check = typeof this.check === 'function' ? this.check : this.check.optional;
    const startedMs = performance.now();
    const error = await failureOf(check, this.timeoutMs);
    const at = performance.now();
    if (this.last === null || (this.last.error === undefined) !== (error === undefined)) this.changedAt = at;
    this.last = { ...(error === undefined ? {} : { error }), ms: Math.round(at - startedMs), at };
    return this.last;
  }
}

async function failureOf(check: HealthCheck, timeoutMs: number): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([check(), tooLate]);
    return undefined;
  } catch (error) {
    return hideCredentials(reasonOf(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Why something failed. A failure on several addresses of one name says so in its parts only. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  const { message, name } = error instanceof Error ? error : { message: String(error), name: 'Error' };
  return message === '' ? name : message;
}

/** Everything that a service depends on; all of it is asked at the same time. */
export class Dependencies {
  private readonly known: [name: string, dependency: Dependency][];

  constructor(checks: HealthChecks, timeoutMs: number = CHECK_TIMEOUT_MS) {
    this.known = Object.entries(checks).map(([name, check]) => [name, new Dependency(check, timeoutMs)]);
  }

  /** Asks all dependencies. Never rejects. */
  async ask(): Promise<Record<string, CheckAnswer>> {
    const answers = await Promise.all(this.known.map(async ([name, one]) => [name, await one.answer()] as const));
    return Object.fromEntries(answers);
  }
}

/** Status of a service that runs. */
export function statusOf(answers: Record<string, CheckAnswer>): 'ok' | 'degraded' | 'unavailable' {
  const down = Object.values(answers).filter(({ status }) => status === 'down');
  if (down.length === 0) return 'ok';
  return down.every(({ optional }) => optional) ? 'degraded' : 'unavailable';
}

/** State of a service as its probes see it. */
export class Health {
  private phase: 'starting' | 'running' | 'draining' = 'starting';
  private dependencies = new Dependencies({});

  constructor(
    readonly service: string,
    readonly instance: string,
  ) {}

  running(checks: HealthChecks): void {
    this.dependencies = new Dependencies(checks);
    this.phase = 'running';
  }

  draining(): void {
    this.phase = 'draining';
  }

  async readiness(): Promise<Readiness> {
    const checks = await this.dependencies.ask();
    const status = this.phase === 'running' ? statusOf(checks) : this.phase;
    return { status, service: this.service, instance: this.instance, checks };
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** The part of a service that its own metrics and health show. */
export interface OpsView {
  health: Health;
  metrics: Pick<Metrics, 'text' | 'contentType'>;
}

async function route({ health, metrics }: OpsView, path: string | undefined, response: ServerResponse): Promise<void> {
  if (path === '/metrics') {
    const text = await metrics.text();
    response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' });
    response.end(text);
    return;
  }
  if (LIVENESS.has(path ?? '')) return answer(response, 200, { status: 'ok' });
  if (!READINESS.has(path ?? ''))
    return answer(response, 404, { error: 'only /health/liveness, /health/readiness and /metrics' });
  const readiness = await health.readiness();
  answer(response, readiness.status === 'ok' || readiness.status === 'degraded' ? 200 : 503, readiness);
}

/** The long names, and those that Kubernetes' own components have made usual. */
const LIVENESS = new Set(['/health/liveness', '/health/live']);
const READINESS = new Set(['/health/readiness', '/health/ready']);

/**
 * `GET /health/liveness` or `/health/live` (200 while the event loop turns), `GET /health/readiness` or `/health/ready` (200
 * only when running and every dependency answers that is needed, 503 otherwise, always with an answer per dependency), and
 * `GET /metrics` for Prometheus.
 */
export async function serveHealth(view: OpsView, port: number, host: string): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => void route(view, request.url?.split('?')[0], response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  server.unref();
  const { address, port: actual, family } = server.address() as AddressInfo;
  return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actual}`, server };
}
