/** Sync scrapes: request/reply with a fetcher, no table on the path (docs/design/messages.md, "Request and reply"). */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  actionsLost,
  errorFromWire,
  isRepeatable,
  isTroupeError,
  RPC,
  TroupeError,
  type FetchReply,
  type FetchRequest,
  type ScrapeSpec,
  type Uuid,
} from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { unavailable } from '../errors/api-error.js';
import { CreditGate } from '../limits/credit-gate.js';
import { RemoteCalls } from './remote-calls.js';
import { ScrapeArchive } from './scrape-archive.js';
import { refuseTooLarge } from './spec-limits.js';
import { TargetPolicy } from './target-policy.js';
import { TeamTokens, type TokenLease } from './team-tokens.js';
import { UsageLog } from './usage-log.js';

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

interface Attempt {
  id: Uuid;
  order: ScrapeOrder;
  caller: Caller;
  startedMs: number;
  signal: AbortSignal;
}

@Injectable()
export class ScrapeService {
  constructor(
    private readonly calls: RemoteCalls,
    @Inject(TeamTokens) private readonly tokens: Pick<TeamTokens, 'acquire'>,
    @Inject(UsageLog) private readonly usage: Pick<UsageLog, 'record'>,
    @Inject(ScrapeArchive) private readonly archive: Pick<ScrapeArchive, 'keep'>,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
    @Inject(CreditGate) private readonly credits: Pick<CreditGate, 'charge'>,
  ) {}

  /**
   * Scrapes one page. Resolves when the answer is billed; rejects with the error code of a page that failed. `signal`
   * ends the work when the client has gone.
   */
  async scrape(caller: Caller, order: ScrapeOrder, signal: AbortSignal): Promise<ScrapeAnswer> {
    refuseTooLarge('scrape', order.spec);
    await this.credits.charge(caller, 1);
    this.targets.check(order.url);
    this.calls.ensureUp();
    const attempt: Attempt = { id: randomUUID(), order, caller, startedMs: performance.now(), signal };
    const lease = await this.tokens.acquire(caller.team, order.spec.timeoutMs * QUEUE_SHARE, signal);
    try {
      return await this.fetch(attempt, lease);
    } finally {
      lease.release();
    }
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
    if (!order.spec.zeroRetention) this.archive.keep(id, attempt.caller.team, reply.body);
    return { id, document: reply.body, credits, warning };
  }

  private async ask(request: FetchRequest, signal: AbortSignal) {
    try {
      return await this.calls.call<FetchReply>(RPC.fetchHttp, request, null, {
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
      await this.usage.record(usage);
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
