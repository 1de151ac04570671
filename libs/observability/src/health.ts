/** Liveness, readiness and metrics over HTTP, the same for every service. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from './metrics.js';

/** Resolves when the dependency answers, rejects with the reason when it does not. */
export type HealthCheck = () => Promise<void>;

export interface CheckAnswer {
  status: 'up' | 'down';
  /** How long the answer took. */
  ms: number;
  error?: string;
}

export interface Readiness {
  status: 'ok' | 'starting' | 'draining' | 'unavailable';
  service: string;
  instance: string;
  checks: Record<string, CheckAnswer>;
}

/** A dependency that does not answer within this time counts as down. */
export const CHECK_TIMEOUT_MS = 2_000;

async function askOne(check: HealthCheck, timeoutMs: number): Promise<CheckAnswer> {
  const startedMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    await Promise.race([check(), tooLate]);
    return { status: 'up', ms: Math.round(performance.now() - startedMs) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { status: 'down', ms: Math.round(performance.now() - startedMs), error: reason };
  } finally {
    clearTimeout(timer);
  }
}

/** Asks all dependencies at the same time; never rejects. */
export async function askChecks(
  checks: Record<string, HealthCheck>,
  timeoutMs: number = CHECK_TIMEOUT_MS,
): Promise<Record<string, CheckAnswer>> {
  const names = Object.keys(checks);
  const answers = await Promise.all(Object.values(checks).map((check) => askOne(check, timeoutMs)));
  return Object.fromEntries(answers.map((answer, i) => [names[i] ?? '', answer]));
}

/** State of a service as its probes see it. */
export class Health {
  private phase: 'starting' | 'running' | 'draining' = 'starting';
  private checks: Record<string, HealthCheck> = {};

  constructor(
    readonly service: string,
    readonly instance: string,
  ) {}

  running(checks: Record<string, HealthCheck>): void {
    this.checks = checks;
    this.phase = 'running';
  }

  draining(): void {
    this.phase = 'draining';
  }

  async readiness(): Promise<Readiness> {
    const checks = await askChecks(this.checks);
    const isUp = Object.values(checks).every((answer) => answer.status === 'up');
    const status = this.phase !== 'running' ? this.phase : isUp ? 'ok' : 'unavailable';
    return { status, service: this.service, instance: this.instance, checks };
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** What a service tells of itself. */
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
  if (path === '/health/liveness') return answer(response, 200, { status: 'ok' });
  if (path !== '/health/readiness')
    return answer(response, 404, { error: 'only /health/liveness, /health/readiness and /metrics' });
  const readiness = await health.readiness();
  answer(response, readiness.status === 'ok' ? 200 : 503, readiness);
}

/**
 * `GET /health/liveness` (200 while the event loop turns) and `GET /health/readiness` (200 only when running and every
 * dependency answers, 503 otherwise, always with an answer per dependency), and `GET /metrics` for Prometheus.
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
