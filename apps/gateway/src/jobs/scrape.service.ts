/** Sync scrapes: request/reply with a fetcher, no table on the path (docs/design/messages.md, "Request and reply"). */
import { randomUUID } from 'node:crypto';
import {
  actionsLost,
  errorFromWire,
  inSpan,
  isRepeatable,
  isTroupeError,
  NO_TRACES,
  parseScrapeId,
  RPC,
  TroupeError,
  type FetchReply,
  type FetchRequest,
  type ScrapeSpec,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { unpackDocument } from '@troupe/packing';
import { type Caller } from '../auth/caller.js';
import { ApiError, unavailable } from '../errors/api-error.js';
import { type CreditGate } from '../limits/credit-gate.js';
import { type Documents, type Link, type RemoteCalls } from './ports.js';
import { type PageBytes } from './page-bytes.js';
import { type ScrapeArchive } from './scrape-archive.js';
import { refuseTooLarge } from './spec-limits.js';
import { type TargetPolicy } from './target-policy.js';
import { type TeamTokens, type TokenLease } from './team-tokens.js';
import { type UsageLog } from './usage-log.js';

/** Share of the timeout that may be spent waiting for a place. */
const QUEUE_SHARE = 2 / 3;

export interface ScrapeOrder {
  /** Absolute. */
  url: string;
  /** The caller's text. */
  sourceUrl: string;
  spec: ScrapeSpec;
}

export interface ScrapeAnswer {
  id: Uuid;
  /** JSON of the page's document. */
  document: Uint8Array;
  credits: number;
  warning: string | undefined;
}

export interface ScrapeServiceParts {
  calls: RemoteCalls;
  link: Link;
  tokens: Pick<TeamTokens, 'acquire'>;
  usage: Pick<UsageLog, 'record'>;
  archive: Pick<ScrapeArchive, 'keep'>;
  targets: Pick<TargetPolicy, 'check'>;
  credits: Pick<CreditGate, 'charge'>;
  documents: Pick<Documents, 'find'>;
  pages: Pick<PageBytes, 'ofScrapeId'>;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

interface Attempt {
  id: Uuid;
  order: ScrapeOrder;
  caller: Caller;
  startedMs: number;
  signal: AbortSignal;
}

export class ScrapeService {
  constructor(private readonly parts: ScrapeServiceParts) {}

  /**
   * One page, now. Resolves when the answer is billed; a page that could not be had rejects with its code.
   * `signal` ends the work when the client has gone.
   */
  async scrape(caller: Caller, order: ScrapeOrder, signal: AbortSignal): Promise<ScrapeAnswer> {
    refuseTooLarge('scrape', order.spec);
    await this.parts.credits.charge(caller, 1);
    this.parts.targets.check(order.url);
    if (!this.parts.link.isUp()) throw unavailable(null);
    const attempt: Attempt = { id: randomUUID(), order, caller, startedMs: performance.now(), signal };
    const { tracer = NO_TRACES, tokens } = this.parts;
    const lease = await inSpan(tracer, ['wait for team', tracer.active()], () =>
      tokens.acquire(caller.team, order.spec.timeoutMs * QUEUE_SHARE, signal),
    );
    try {
      return await this.fetch(attempt, lease);
    } finally {
      lease.release();
    }
  }

  /** The document of an earlier scrape, of a sync one or of a job's page, as JSON. */
  async find(caller: Caller, id: Uuid): Promise<Uint8Array> {
    const document =
      parseScrapeId(id) === null ? await this.findSync(caller, id) : await this.parts.pages.ofScrapeId(caller.team, id);
    if (document === null) throw new ApiError(404, 'Job not found.');
    return document;
  }

  private async findSync(caller: Caller, id: Uuid): Promise<Uint8Array | null> {
    const stored = await this.parts.documents.find(id);
    if (stored === null || stored.team !== caller.team) return null;
    return unpackDocument(stored.packed);
  }

  private async fetch(attempt: Attempt, lease: TokenLease): Promise<ScrapeAnswer> {
    const { order, signal, id } = attempt;
    const leftMs = order.spec.timeoutMs - (performance.now() - attempt.startedMs);
    if (leftMs <= 0) throw timedOut(order.spec.timeoutMs);
    const request = fetchRequest(attempt, lease, Math.ceil(leftMs));
    const reply = await this.ask(request, signal);
    if (!reply.head.ok) return this.refuse(attempt, inWordsOfTheClient(errorFromWire(reply.head.error), order));
    const { credits, statusCode, warning } = reply.head;
    await this.bill(attempt, credits, statusCode);
    if (!order.spec.zeroRetention) this.parts.archive.keep(id, attempt.caller.team, reply.body);
    return { id, document: reply.body, credits, warning };
  }

  private async ask(request: FetchRequest, signal: AbortSignal) {
    try {
      return await this.parts.calls.call<FetchReply>(RPC.fetchHttp, request, null, {
        timeoutMs: request.deadlineMs,
        signal,
        ...(isRepeatable(request.spec) ? {} : { whenLost: actionsLost }),
      });
    } catch (error) {
      throw isTroupeError(error) && error.code === 'SCRAPE_TIMEOUT' ? timedOut(request.spec.timeoutMs, error) : error;
    }
  }

  /** An unknown host costs a credit, every other failure is free. */
  private async refuse(attempt: Attempt, error: TroupeError): Promise<never> {
    if (error.code === 'SCRAPE_DNS_RESOLUTION_ERROR') await this.bill(attempt, 1, 0);
    throw error;
  }

  private async bill({ id, order, caller, startedMs }: Attempt, credits: number, statusCode: number): Promise<void> {
    const ms = Math.round(performance.now() - startedMs);
    const url = order.spec.zeroRetention ? '' : order.url;
    const usage = { id, team: caller.team, keyId: caller.keyId, credits, url, statusCode, ms };
    try {
      await this.parts.usage.record(usage);
    } catch (error) {
      throw isTroupeError(error) ? error : unavailable(error);
    }
  }
}

function fetchRequest({ id, order, caller }: Attempt, lease: TokenLease, deadlineMs: number): FetchRequest {
  return {
    id,
    team: caller.team,
    url: order.url,
    sourceUrl: order.sourceUrl,
    spec: order.spec,
    deadlineMs,
    metadata: {
      scrapeId: id,
      concurrencyLimited: lease.limited,
      ...(lease.limited ? { concurrencyQueueDurationMs: lease.queuedMs } : {}),
    },
  };
}

/** A fetcher knows only what was left to it; the client knows the `timeout` it asked for. */
function inWordsOfTheClient(error: TroupeError, { spec }: ScrapeOrder): TroupeError {
  return error.code === 'SCRAPE_TIMEOUT' ? timedOut(spec.timeoutMs, error, `: ${error.message}`) : error;
}

function timedOut(timeoutMs: number, cause?: unknown, reason = ''): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', `The scrape did not finish within its timeout of ${timeoutMs} ms${reason}`, {
    cause,
    retryable: true,
  });
}
