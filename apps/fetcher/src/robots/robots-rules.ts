/**
 * robots.txt of any host, from memory, from the cluster's cache in Postgres, or fetched on an express place
 * (RFC 9309). One load per host and process at a time.
 *
 * Only 2xx, 3xx and 4xx without 429 are answers. Until there is one the file is asked for again and again, ever more
 * rarely; meanwhile the last answer holds if it is not too old.
 */
import { Inject, Injectable } from '@nestjs/common';
import { isTroupeError, timeoutSignal, TroupeError } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import { RobotsFile, robotsForStatus } from '@troupe/politeness';
import { LOG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { HostPausedError } from '../slots/hop-guard.js';
import { blameOf, TransportError } from '../slots/transport-error.js';
import { ROBOTS_STORE, type RobotsStore } from '../cluster/ports.js';
import { ExpressFetch } from '../slots/express-fetch.js';
import { MAX_RETRY_MS } from '../slots/host-reports.js';

/** The known state of a host's robots.txt. */
export interface HostRobots {
  file: RobotsFile;
  /** True: the file is current. Else it is an earlier one, or the rules that hold without a file. */
  isAnswer: boolean;
  /** HTTP status of robots.txt, 0 when it could not be fetched. */
  status: number;
  /** Why it could not be fetched. */
  error: TroupeError | null;
}

/** Thrown while robots.txt of a host could not be read. */
export class RobotsUnreadableError extends TroupeError {
  constructor(
    readonly host: string,
    /** When the file is asked for again. */
    readonly retryMs: number,
    cause: TroupeError,
  ) {
    super(cause.code, unreadable(host, cause), { cause, retryable: true, retryAfterMs: retryMs });
  }
}

interface Loaded extends HostRobots {
  bytes: number;
  ttlMs: number;
  /** Error of a page without rules to judge it by: the page fails with it, or waits. */
  refusal: TroupeError | null;
}

/** An answer of the past, as the cluster keeps it. */
interface Kept {
  status: number;
  text: string;
  ageMs: number;
}

/** A request for robots.txt that failed. */
interface Failure {
  status: number;
  error: TroupeError | null;
  /** Retry-After. */
  retryMs: number | null;
}

@Injectable()
export class RobotsRulesParts {
  @Inject(ROBOTS_STORE) readonly store!: RobotsStore;
  @Inject(ExpressFetch) readonly fetch!: Pick<ExpressFetch, 'get'>;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
  /** @default performance */
  clock?: { now(): number };
}

const FRESH_MS = 24 * 60 * 60_000;
/** How long an answer holds that cannot be renewed. */
const LAST_RESORT_MS = 7 * FRESH_MS;
/** Waits before the file is asked for again without an answer, the last one for ever, unless the host names a time. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000] as const;
const PAUSED_MS = 1000;
/** An actor asks on behalf of its jobs at the very moment that it was told. It must not count as too early. */
const ALMOST_MS = 1000;
const REMEMBERED_FAILURES = 10_000;
/** RFC 9309: at least 500 KiB must be parsed; what follows is not. */
const PARSED_BYTES = 500 * 1024;
const MAX_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const MEMORY_BYTES = 32 * 1024 * 1024;
const ENTRY_BYTES = 500;

@Injectable()
export class RobotsRules {
  private readonly known: LRUCache<string, Loaded>;
  private readonly loading = new Map<string, Promise<Loaded>>();
  /** How often in a row a host gave no answer. */
  private readonly failures = new LRUCache<string, number>({ max: REMEMBERED_FAILURES });

  constructor(private readonly options: RobotsRulesParts) {
    this.known = new LRUCache({
      maxSize: MEMORY_BYTES,
      sizeCalculation: ({ bytes }) => bytes + ENTRY_BYTES,
      perf: options.clock ?? performance,
    });
  }

  /**
   * Rules that hold for a URL.
   * @throws RobotsUnreadableError, HostPausedError: they may be known later; TransportError: they will not be (DNS, TLS, an
   * address that is not allowed), nor could the page be fetched
   */
  async rulesFor(url: string, signal: AbortSignal): Promise<RobotsFile> {
    const host = hostKey(url);
    const { refusal, file } = this.known.get(host) ?? (await untilAborted(this.load(host, url), signal));
    if (refusal instanceof RobotsUnreadableError)
      throw new RobotsUnreadableError(host, this.leftMs(host), refusal.cause as TroupeError);
    if (refusal !== null) throw refusal;
    return file;
  }

  /** Everything known of the host of a URL, and in how many ms the file is asked for again; never rejects for what the host does. */
  async describe(url: string): Promise<HostRobots & { retryMs: number | null }> {
    const host = hostKey(url);
    const known = this.known.get(host);
    const isLate = known === undefined || (!known.isAnswer && this.leftMs(host) <= ALMOST_MS);
    const { file, isAnswer, status, error } = isLate ? await this.load(host, url) : known;
    return { file, isAnswer, status, error, retryMs: isAnswer ? null : this.leftMs(host) };
  }

  private leftMs(host: string): number {
    return this.known.getRemainingTTL(host);
  }

  private load(host: string, url: string): Promise<Loaded> {
    const running = this.loading.get(host);
    if (running !== undefined) return running;
    const load = this.loadNow(host, url).finally(() => this.loading.delete(host));
    this.loading.set(host, load);
    return load;
  }

  private async loadNow(host: string, url: string): Promise<Loaded> {
    const kept = await this.fromStore(host);
    const loaded = kept !== null && kept.ageMs < FRESH_MS ? answer(kept) : await this.fromHost({ host, url, kept });
    this.known.set(host, loaded, { ttl: Math.max(1, loaded.ttlMs) });
    return loaded;
  }

  private async fromStore(host: string): Promise<Kept | null> {
    try {
      const row = await this.options.store.get(host);
      if (row === null || !isAnswer(row.status)) return null;
      return { status: row.status, text: row.body.toString('utf8'), ageMs: Math.max(0, row.ageMs) };
    } catch (error) {
      this.options.log.warn({ host, err: error }, 'robots cache not readable');
      return null;
    }
  }

  private async fromHost({ host, url, kept }: { host: string; url: string; kept: Kept | null }): Promise<Loaded> {
    const came = await this.ask(url);
    if ('text' in came) {
      this.failures.delete(host);
      this.remember(host, came.status, came.text);
      return answer({ status: came.status, text: came.text.toString('utf8'), ageMs: 0 });
    }
    const waitMs = this.waitMs(host, came);
    return kept !== null && kept.ageMs < LAST_RESORT_MS
      ? { ...answer(kept), ...came, isAnswer: false, ttlMs: waitMs }
      : withoutFile(host, came, waitMs);
  }

  private async ask(url: string): Promise<{ status: number; text: Buffer } | Failure> {
    try {
      const { statusCode, body, retryAfterMs } = await this.fetch(new URL('/robots.txt', url).href);
      if (!isAnswer(statusCode)) return { status: statusCode, error: null, retryMs: retryAfterMs };
      const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, PARSED_BYTES));
      return { status: statusCode, text };
    } catch (cause) {
      const options = { cause, retryable: true };
      const error = isTroupeError(cause) ? cause : new TroupeError('UNKNOWN_ERROR', String(cause), options);
      return { status: 0, error, retryMs: null };
    }
  }

  /** A host that rests was not asked, which is no failure. */
  private waitMs(host: string, { error, retryMs }: Failure): number {
    if (error instanceof HostPausedError) return Math.min(error.pauseMs, PAUSED_MS);
    const failures = this.failures.get(host) ?? 0;
    this.failures.set(host, failures + 1);
    const usualMs = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!;
    return retryMs === null ? usualMs : Math.min(Math.max(retryMs, PAUSED_MS), MAX_RETRY_MS);
  }

  private fetch(url: string) {
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

  private remember(host: string, status: number, body: Buffer): void {
    const isText = status >= 200 && status < 300;
    const row = { status, body: isText ? body : Buffer.alloc(0), ttlS: FRESH_MS / 1000 };
    this.options.store.put(host, row).catch((error: unknown) => {
      this.options.log.warn({ host, err: error }, 'robots cache not written');
    });
  }
}

/** The status is an answer: the host has rules, or says that it has none. */
function isAnswer(status: number): boolean {
  return status >= 200 && status < 500 && status !== 429;
}

function answer({ status, text, ageMs }: Kept): Loaded {
  const file = robotsForStatus(status, text);
  return { file, isAnswer: true, status, error: null, refusal: null, bytes: text.length, ttlMs: FRESH_MS - ageMs };
}

/** Rules without a file: a broken or busy server forbids everything; an unreachable one has said nothing. */
function withoutFile(host: string, { status, error }: Failure, ttlMs: number): Loaded {
  const nothing = { file: RobotsFile.disallowAll, isAnswer: false, status, error, bytes: 0, ttlMs };
  if (error === null || error instanceof HostPausedError) return { ...nothing, refusal: error };
  const isPassing = blameOf(error) !== null || error.code === 'CONCURRENCY_QUEUE_TIMEOUT';
  const failure = new TroupeError(error.code, unreadable(host, error), { cause: error, retryable: error.retryable });
  const refusal = isPassing ? new RobotsUnreadableError(host, ttlMs, error) : new TransportError(failure);
  return { ...nothing, refusal };
}

function unreadable(host: string, { message }: TroupeError): string {
  return `robots.txt of ${host} cannot be read: ${message}`;
}

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
