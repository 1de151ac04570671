/**
 * One POST to a receiver: to a checked address, within ten seconds, redirects not followed, the answer's body ignored.
 */
import { isTroupeError, timeoutSignal } from '@troupe/contracts';
import { basicAuth, connectOf, Connector, type Resolver } from '@troupe/egress';
import type { Agent } from 'undici';
import { PER_HOST } from './receiver-places.js';
import { SIGNATURE_HEADERS } from '../events/sign.js';

export interface ReceiverOptions {
  resolver: Resolver;
  userAgent: string;
  /** Limit of the whole exchange, in ms. @default 10_000 */
  timeoutMs?: number;
  /** Told of every exchange. @default none */
  onAnswer?: (answer: Answer, ms: number) => void;
}

export type Answer = { status: number; error: null } | { status: null; error: string };

/** Headers that the delivery sets itself. */
const OWN_HEADERS = new Set(['content-type', 'content-length', 'host', ...SIGNATURE_HEADERS]);
const TIMEOUT_MS = 10_000;
/** Shorter than the idle time of common servers, so that none closes a connection just when it is used again. */
const KEEP_ALIVE_MS = 2_000;
/** The rest of an answer up to this size is read, so that its connection stays usable. */
const DISCARD_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_ERROR_CHARS = 300;

export class Receivers {
  private agent: Promise<Agent> | null = null;
  private readonly timeoutMs: number;

  constructor(private readonly options: ReceiverOptions) {
    this.timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  }

  /** Never rejects. @param headers of the caller; the names that a delivery owns are left out @param signatures headers */
  async post(
    url: URL,
    headers: Record<string, string>,
    body: Buffer,
    signatures: Record<string, string>,
  ): Promise<Answer> {
    const startedAt = performance.now();
    const answer = await this.exchange(url, this.headersFor(url, headers, signatures), body);
    this.options.onAnswer?.(answer, performance.now() - startedAt);
    return answer;
  }

  async close(): Promise<void> {
    await (await this.agent)?.destroy();
  }

  /** Deadlines are ours: undici's own timers are off. The agent has no cookies, redirects or interceptors. */
  private async createAgent(): Promise<Agent> {
    const { Agent } = await import('undici');
    const { resolver } = this.options;
    const connector = new Connector({ resolver, verifyTls: true, timeoutMs: this.timeoutMs });
    return new Agent({
      connect: connectOf(connector),
      connections: PER_HOST,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
  }

  private async exchange(url: URL, headers: Record<string, string>, body: Buffer): Promise<Answer> {
    const agent = await (this.agent ??= this.createAgent());
    const signal = timeoutSignal(this.timeoutMs);
    try {
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers,
        body,
        signal,
      });
      await answer.body.dump({ limit: DISCARD_BYTES, signal }).catch(() => undefined);
      return { status: answer.statusCode, error: null };
    } catch (error) {
      return { status: null, error: this.describe(error).slice(0, MAX_ERROR_CHARS) };
    }
  }

  private headersFor(
    url: URL,
    own: Record<string, string>,
    signatures: Record<string, string>,
  ): Record<string, string> {
    const headers: Record<string, string> = { 'user-agent': this.options.userAgent };
    if (url.username !== '') headers.authorization = basicAuth(url);
    for (const [name, value] of Object.entries(own)) {
      const key = name.toLowerCase();
      if (!OWN_HEADERS.has(key)) headers[key] = value;
    }
    return { ...headers, 'content-type': 'application/json', ...signatures };
  }

  /** Shown to the owner of the job: never the address, which may hold a password. */
  private describe(error: unknown): string {
    if (isTroupeError(error)) return error.code === 'SCRAPE_TIMEOUT' ? this.timeoutText() : error.message;
    const { name, code, message } = error as { name?: string; code?: string; message?: string };
    if (name === 'TimeoutError' || name === 'AbortError') return this.timeoutText();
    return `the connection failed: ${code ?? message ?? 'unknown error'}`;
  }

  private timeoutText(): string {
    return `no answer within ${this.timeoutMs / 1000} s`;
  }
}
