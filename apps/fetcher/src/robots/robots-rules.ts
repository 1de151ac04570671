/**
 * robots.txt of any host, from memory, from the cluster's cache in Postgres, or fetched on an express place
 * (RFC 9309). One load per host and process at a time.
 */
import { isTroupeError, timeoutSignal, TroupeError } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { robotsForStatus, type RobotsFile } from '@troupe/politeness';
import { LRUCache } from 'lru-cache';
import { HostPausedError } from '../pages/hop-guard.js';
import { TransportError } from '../pages/transport-error.js';
import type { RobotsStore } from '../ports.js';
import type { ExpressFetch } from '../slots/express-fetch.js';

/** What is known of a host's robots.txt. */
export interface HostRobots {
  file: RobotsFile;
  /** HTTP status of robots.txt, 0 when it could not be fetched. */
  status: number;
  /** Why it could not be fetched. */
  error: TroupeError | null;
}

interface Loaded extends HostRobots {
  bytes: number;
  ttlMs: number;
}

export interface RobotsRulesOptions {
  store: RobotsStore;
  fetch: Pick<ExpressFetch, 'get'>;
  log: { warn(context: object, message: string): void };
  /** Tells the age of stored rules. @default Date.now */
  wallMs?: () => number;
}

const DAY_MS = 24 * 60 * 60_000;
/** A server error forbids everything, so it is asked again soon; what cannot be reached at all, sooner. */
const SERVER_ERROR_TTL_MS = 10 * 60_000;
const UNREACHABLE_TTL_MS = 1000;
/** RFC 9309: at least 500 KiB must be parsed; what follows is not. */
const PARSED_BYTES = 500 * 1024;
const MAX_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const MEMORY_BYTES = 32 * 1024 * 1024;
const ENTRY_BYTES = 500;

export class RobotsRules {
  readonly #known = new LRUCache<string, Loaded>({
    maxSize: MEMORY_BYTES,
    sizeCalculation: ({ bytes }) => bytes + ENTRY_BYTES,
  });
  readonly #loading = new Map<string, Promise<Loaded>>();

  constructor(private readonly options: RobotsRulesOptions) {}

  /**
   * Rules that hold for a URL.
   * @throws TransportError when robots.txt cannot be reached: the page could not be fetched either; HostPausedError
   */
  async rulesFor(url: string, signal: AbortSignal): Promise<RobotsFile> {
    const host = hostKey(url);
    const known = this.#known.get(host) ?? (await untilAborted(this.#load(host, url), signal));
    if (known.error !== null) throw known.error;
    return known.file;
  }

  /** Everything known of the host of a URL; never rejects for what the host does. */
  async describe(url: string): Promise<HostRobots> {
    const host = hostKey(url);
    return this.#known.get(host) ?? (await this.#load(host, url));
  }

  #load(host: string, url: string): Promise<Loaded> {
    const running = this.#loading.get(host);
    if (running !== undefined) return running;
    const load = this.#loadNow(host, url).finally(() => this.#loading.delete(host));
    this.#loading.set(host, load);
    return load;
  }

  async #loadNow(host: string, url: string): Promise<Loaded> {
    const loaded = (await this.#fromStore(host)) ?? (await this.#fromHost(host, url));
    this.#known.set(host, loaded, { ttl: loaded.ttlMs });
    return loaded;
  }

  async #fromStore(host: string): Promise<Loaded | null> {
    try {
      const row = await this.options.store.get(host);
      const ageMs = row === null ? 0 : (this.options.wallMs ?? Date.now)() - row.atMs;
      if (row === null || ageMs > row.ttlS * 1000) return null;
      return parsed(row.status, row.body.toString('utf8'), row.ttlS * 1000 - ageMs);
    } catch (error) {
      this.options.log.warn({ host, err: error }, 'robots cache not readable');
      return null;
    }
  }

  async #fromHost(host: string, url: string): Promise<Loaded> {
    try {
      const { statusCode, body } = await this.#fetch(new URL('/robots.txt', url).href);
      const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, PARSED_BYTES));
      const ttlMs = statusCode >= 500 ? SERVER_ERROR_TTL_MS : DAY_MS;
      this.#remember(host, statusCode, text, ttlMs);
      return parsed(statusCode, text.toString('utf8'), ttlMs);
    } catch (error) {
      return unreachable(host, error);
    }
  }

  #fetch(url: string) {
    const signal = timeoutSignal(TIMEOUT_MS);
    return this.options.fetch.get({
      url,
      headers: {},
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      skipTlsVerification: true,
      signal,
      robots: null,
    });
  }

  #remember(host: string, status: number, body: Buffer, ttlMs: number): void {
    const isText = status >= 200 && status < 300;
    const row = { status, body: isText ? body : Buffer.alloc(0), ttlS: Math.round(ttlMs / 1000) };
    this.options.store.put(host, row).catch((error: unknown) => {
      this.options.log.warn({ host, err: error }, 'robots cache not written');
    });
  }
}

function parsed(status: number, text: string, ttlMs: number): Loaded {
  return { file: robotsForStatus(status, text), status, error: null, bytes: text.length, ttlMs: Math.max(1, ttlMs) };
}

function unreachable(host: string, cause: unknown): Loaded {
  const nothing = { file: robotsForStatus(0, ''), status: 0, bytes: 0, ttlMs: UNREACHABLE_TTL_MS };
  // The host answers, only not now: that is no new trouble.
  if (cause instanceof HostPausedError)
    return { ...nothing, error: cause, ttlMs: Math.min(cause.pauseMs, UNREACHABLE_TTL_MS) };
  const failure = isTroupeError(cause)
    ? cause
    : new TroupeError('UNKNOWN_ERROR', String(cause), { cause, retryable: true });
  const error = new TransportError(failure, `robots.txt of ${host} cannot be read: ${failure.message}`);
  return { ...nothing, error };
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
