/**
 * Results of a running lane on their way to the job's actor: gathered up to 8 pages or 50 ms, their documents stored,
 * published in order, and all of it tried again until it is acknowledged or the actor has given the lane up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BlobStore } from '@troupe/blob-store';
import {
  boundedResult,
  inSpan,
  NO_TRACES,
  type JobMessage,
  type Lane,
  type LaneEnd,
  type PageResult,
  type TraceParent,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { MessageTooLargeError } from '@troupe/messaging';
import type { Mailboxes } from '../cluster/ports.js';

const MAX_PAGES = 8;
const MAX_AGE_MS = 50;
/** Messages above 512 KB are refused by the stream's convention; leave room for the envelope. */
const MAX_TEXT = 400_000;
/** A document up to this size travels in the message. */
const INLINE_BYTES = 8 * 1024;
/** Documents that wait to be stored. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
const ENVELOPE_TEXT = 300;
/** Flushes that may be under way before the lane waits with its next page. */
const MAX_PENDING = 2;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2000;

export interface LaneResultsOptions {
  mailboxes: Mailboxes;
  blobs: Pick<BlobStore, 'put'>;
  /** Prefix under which blobs are stored now, see `blobHour`. */
  blobHour(): string;
  instance: string;
  /** How long one message may be retried: the actor dispatches the lane again after that. */
  patienceMs: number;
  /** A message could not be delivered in that time: nothing of this lane counts any more. */
  onLost(error: unknown): void;
  /** Trace of the lane, when it is recorded. */
  trace?: TraceParent;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

/** A document that the store shall keep, and the result that shall name its blob. */
interface Unstored {
  page: PageResult;
  document: Uint8Array;
  /** Trace of the page. */
  trace: TraceParent | undefined;
}

interface Batch {
  pages: PageResult[];
  unstored: Unstored[];
  /** Rough length of its JSON. */
  text: number;
}

const NOTHING: Batch = { pages: [], unstored: [], text: 0 };

export class LaneResults {
  private pages: PageResult[] = [];
  private unstored: Unstored[] = [];
  private text = 0;
  private waitingBytes = 0;
  private timer: NodeJS.Timeout | null = null;
  private flushes = 0;
  private pending = 0;
  private tail: Promise<void> = Promise.resolve();
  private lost = false;

  constructor(
    private readonly lane: Lane,
    private readonly run: Uuid,
    private readonly options: LaneResultsOptions,
  ) {}

  started(): void {
    this.publish({ type: 'LaneStarted', lane: this.lane.lane, run: this.run });
  }

  /** @param document the page's document, packed, null when it has none */
  add(result: PageResult, document: Uint8Array | null, trace?: TraceParent): void {
    const page = boundedResult(result);
    if (document !== null && page === result) this.take({ page, document, trace });
    this.pages.push(page);
    this.text += textOf(page);
    const isFull = this.pages.length >= MAX_PAGES || this.text >= MAX_TEXT || this.waitingBytes >= MAX_WAITING_BYTES;
    if (isFull) this.flush();
    else this.timer ??= setTimeout(() => this.flush(), MAX_AGE_MS);
  }

  private take(unstored: Unstored): void {
    const { page, document } = unstored;
    if (document.byteLength <= INLINE_BYTES) {
      page.inline = Buffer.from(document.buffer, document.byteOffset, document.byteLength).toString('base64');
      return;
    }
    this.unstored.push(unstored);
    this.waitingBytes += document.byteLength;
  }

  /** Resolves when there is room for another page. */
  async room(): Promise<void> {
    if (this.pending > MAX_PENDING) await this.tail;
  }

  /** Sends the end of the lane with its last pages. Resolves when everything is acknowledged or given up. */
  async end(reason: LaneEnd['reason'], rest: Pick<LaneEnd, 'ranMs' | 'unrun' | 'browser' | 'pause'>): Promise<void> {
    const batch = this.takeBatch();
    const { pages } = batch;
    this.publish({ type: 'LaneEnd', lane: this.lane.lane, run: this.run, reason, ...rest, pages }, batch);
    await this.tail;
  }

  /** Sends the results alone, because another run of the lane will tell its end. Resolves like `end`. */
  async leave(): Promise<void> {
    this.flush();
    await this.tail;
  }

  private flush(): void {
    const batch = this.takeBatch();
    const { pages } = batch;
    if (pages.length > 0) this.publish({ type: 'PagesDone', lane: this.lane.lane, run: this.run, pages }, batch);
  }

  private takeBatch(): Batch {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const batch = { pages: this.pages, unstored: this.unstored, text: this.text };
    this.pages = [];
    this.unstored = [];
    this.text = 0;
    this.waitingBytes = 0;
    return batch;
  }

  private publish(body: JobMessage, batch = NOTHING): void {
    const id = `r.${this.lane.job}.${this.lane.lane}.${this.run}.${this.flushes++}`;
    this.pending++;
    this.tail = this.tail
      .then(() => this.deliver(id, body, batch))
      .catch((error: unknown) => this.giveUp(error))
      .finally(() => this.pending--);
  }

  private async deliver(id: string, body: JobMessage, batch: Batch): Promise<void> {
    const giveUpAt = performance.now() + this.options.patienceMs;
    for (let waitMs = FIRST_RETRY_MS; !this.lost; waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)) {
      try {
        await this.store(batch.unstored);
        const from = `w/${this.options.instance}` as const;
        const { trace } = this.options;
        const envelope = { id, type: body.type, v: 1, from, to: this.lane.actor, n: null, body, trace };
        return await this.options.mailboxes.publishActor(envelope, batch.text + ENVELOPE_TEXT);
      } catch (error) {
        if (error instanceof MessageTooLargeError) return this.deliver(id, lighter(body, error), batch);
        if (performance.now() + waitMs > giveUpAt) return this.giveUp(error);
        await sleep(waitMs);
      }
    }
  }

  /**
   * Stores blobs before the message that names them: a blob without a row is harmless, a row without its blob is not.
   */
  private async store(unstored: Unstored[]): Promise<void> {
    const { blobs, blobHour, tracer = NO_TRACES } = this.options;
    const storeOne = async ({ page, document, trace }: Unstored) => {
      if (page.blob !== null) return;
      const attributes = { 'troupe.bytes': document.byteLength };
      page.blob = await inSpan(tracer, ['store document', trace, { kind: 'client', attributes }], () =>
        blobs.put(document, blobHour()),
      );
    };
    await Promise.all(unstored.map(storeOne));
  }

  private giveUp(error: unknown): void {
    this.lost = true;
    this.options.onLost(error);
  }
}

/** Roughly the JSON length of what can grow in a result. */
function textOf(page: PageResult): number {
  let length = (page.inline?.length ?? 0) + page.url.length + page.finalUrl.length + 400;
  for (const link of page.outlinks) length += link.url.length + 40;
  for (const link of page.excluded?.sample ?? []) length += link.url.length + 60;
  return length;
}

/**
 * The message with half of the outlinks, when thousands of long ones do not fit. @throws the error when there are none
 * left
 */
function lighter(body: JobMessage, error: MessageTooLargeError): JobMessage {
  if (!('pages' in body) || body.pages.every(({ outlinks }) => outlinks.length === 0)) throw error;
  const pages = body.pages.map((page) => ({
    ...page,
    outlinks: page.outlinks.slice(0, page.outlinks.length / 2),
    excluded: null,
  }));
  return { ...body, pages };
}
