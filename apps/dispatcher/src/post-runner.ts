/** Runs of posts: reads the pages of their events, posts them and reports what came of it. */
import { readDocument } from '@troupe/blob-store';
import { numbersOf, placeOf, type Post, type PostResult } from '@troupe/contracts';
import type { PostedPage } from '@troupe/persistence';
import { eventBody, MAX_BODY_BYTES } from './event-body.js';
import { Gate } from './gate.js';
import { PostReport } from './post-report.js';
import type { Blobs, Deliveries, Mailboxes, Secrets } from './ports.js';
import type { Answer, Receivers } from './receivers.js';
import { signatureOf } from './sign.js';

export interface PostParts {
  instance: string;
  mailboxes: Mailboxes;
  deliveries: Deliveries;
  blobs: Blobs;
  secrets: Secrets;
  receivers: Pick<Receivers, 'visit' | 'post'>;
}

/** `none`: the event has no page. undefined: the page is gone. */
type PageOfEvent = PostedPage | 'none' | undefined;

/** Rows of pages held for one run at a time. */
const SLICE = 25;
/** Bytes of pages that are being posted by this process at a time. */
const PAGE_MEMORY_BYTES = 8 * MAX_BODY_BYTES;
/** Another dispatcher takes up what a stopping one leaves. */
const HANDED_BACK_MS = 500;

export class PostRunner {
  private readonly memory = new Gate(PAGE_MEMORY_BYTES);
  private draining = false;

  constructor(private readonly parts: PostParts) {}

  /** Resolves when every event was attempted and the actor knows; throws to ask for redelivery. */
  async run(post: Post): Promise<void | { retryMs: number }> {
    const report = new PostReport(post, this.parts.mailboxes, this.parts.instance);
    try {
      const left = await this.withoutAttempted(post, report);
      const secret = await this.parts.secrets.of(post.team);
      for (let i = 0; i < left.length && !this.draining; i += SLICE)
        await this.postSlice(post, left.slice(i, i + SLICE), secret, report);
    } finally {
      await report.end();
    }
    if (this.draining) return { retryMs: HANDED_BACK_MS };
  }

  /** Starts no further post; what is under way ends within the time of a post. */
  drain(): void {
    this.draining = true;
  }

  /** A run may come twice: what is on record is reported again and not posted. */
  private async withoutAttempted(post: Post, report: PostReport): Promise<number[]> {
    const events = [...numbersOf(post.events)];
    const known = await this.parts.deliveries.attempted(post.jobNo, post.attempt, events);
    for (const { eventNo, at, status, error, ms } of known)
      report.add({ eventNo, status, error, ms, atMs: at.getTime() });
    const done = new Set(known.map(({ eventNo }) => eventNo));
    return events.filter((eventNo) => !done.has(eventNo));
  }

  private async postSlice(post: Post, events: number[], secret: string | null, report: PostReport): Promise<void> {
    const pages = await this.pagesOf(post, events);
    const url = new URL(post.webhook.url);
    const postOne = async (eventNo: number): Promise<void> => {
      if (this.draining) return;
      const page = pages.get(eventNo);
      const work = (): Promise<PostResult> => this.postEvent(post, eventNo, page, secret);
      report.add(await this.memory.pass(work, page === 'none' ? 0 : (page?.bytes ?? 0)));
    };
    await Promise.all(events.map((eventNo) => this.parts.receivers.visit(url, () => postOne(eventNo))));
  }

  private async pagesOf(post: Post, events: number[]): Promise<Map<number, PageOfEvent>> {
    const places = events.map((eventNo) => ({ eventNo, place: placeOf(eventNo, post.ends) }));
    const ords = places.flatMap(({ place }) => (place.what === 'page' ? [place.ord] : []));
    const stored = ords.length === 0 ? null : await this.parts.deliveries.pages(post.jobNo, ords);
    return new Map(
      places.map(({ eventNo, place }) => [eventNo, place.what === 'page' ? stored?.get(place.ord) : 'none'] as const),
    );
  }

  private async postEvent(post: Post, eventNo: number, page: PageOfEvent, secret: string | null): Promise<PostResult> {
    const atMs = Date.now();
    const startedMs = performance.now();
    const answer = await this.exchange(post, eventNo, page, secret);
    return { eventNo, ...answer, ms: Math.round(performance.now() - startedMs), atMs };
  }

  private async exchange(post: Post, eventNo: number, page: PageOfEvent, secret: string | null): Promise<Answer> {
    if (page === undefined) return { status: null, error: 'the page is no longer stored' };
    const document = page === 'none' ? null : await readDocument(this.parts.blobs, page).catch(() => undefined);
    if (document === undefined) return { status: null, error: 'the stored page could not be read' };
    const body = eventBody(post, eventNo, document);
    const signature = secret === null ? null : signatureOf(body, secret);
    return this.parts.receivers.post(new URL(post.webhook.url), post.webhook.headers, body, signature);
  }
}
