/** Crawl options out of a sentence: a language model writes them, over request/reply with an extractor. Costs nothing. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import {
  isTroupeError,
  RPC,
  TroupeError,
  type CrawlOptionsReply,
  type CrawlOptionsRequest,
  type CrawlWishes,
} from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { RemoteCalls } from './remote-calls.js';
import { TargetPolicy } from './target-policy.js';

export interface CrawlSentence {
  /** Absolute address of the start page. */
  url: string;
  prompt: string;
}

export interface WishesAnswer {
  wishes: CrawlWishes;
  warning: string | undefined;
}

const TIMEOUT_MS = 60_000;
/** Time an extractor has to answer after its own deadline, so that its error and not ours is reported. */
const GRACE_MS = 500;

@Injectable()
export class CrawlWishesService {
  constructor(
    private readonly calls: RemoteCalls,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
  ) {}

  /** @throws TroupeError BAD_REQUEST when no options came of the sentence, whatever the reason; SCRAPE_TARGET_FORBIDDEN */
  async read(caller: Caller, { url, prompt }: CrawlSentence, signal: AbortSignal): Promise<WishesAnswer> {
    this.targets.check(url);
    this.calls.ensureUp();
    const request: CrawlOptionsRequest = { id: randomUUID(), team: caller.team, url, prompt, deadlineMs: TIMEOUT_MS };
    const reply = await this.ask(request, signal);
    if (!reply.ok) throw notConvertible(reply.error.message);
    return { wishes: reply.wishes, warning: reply.warning };
  }

  private async ask(request: CrawlOptionsRequest, signal: AbortSignal): Promise<CrawlOptionsReply> {
    try {
      const timeoutMs = request.deadlineMs + GRACE_MS;
      const { head } = await this.calls.call<CrawlOptionsReply>(RPC.crawlOptions, request, null, {
        timeoutMs,
        signal,
      });
      return head;
    } catch (error) {
      if (!isTroupeError(error)) throw error;
      throw notConvertible(WHY[error.code] ?? error.message, error);
    }
  }
}

/** Reasons in words for the caller: names of NATS subjects mean nothing to it. */
const WHY: Partial<Record<TroupeError['code'], string>> = {
  SCRAPE_TIMEOUT: 'the language model did not answer in time',
  CONCURRENCY_QUEUE_TIMEOUT: 'no extractor had a free place in time',
};

function notConvertible(why: string, cause?: unknown): TroupeError {
  const reason = why.replace(/\.$/, '');
  return new TroupeError('BAD_REQUEST', `The prompt could not be made into crawl options: ${reason}`, { cause });
}
