/** Runs of posts: reads the pages of their events, posts them and reports what came of it. */
import { readDocument } from '@troupe/blob-store';
import {
  inSpan,
  NO_TRACES,
  numbersOf,
  type Post,
  type PostResult,
  type TraceParent,
  type Tracer,
} from '@troupe/contracts';
import { eventBody, eventOf, MAX_BODY_BYTES } from './event-body.js';
import { dataOfEvents, type EventData } from './event-data.js';
import { Gate } from './gate.js';
import { PostReport } from './post-report.js';
import type { WebhookSecrets } from '@troupe/persistence';
import type { Blobs, Deliveries, Mailboxes, Secrets } from './ports.js';
import type { Answer, Receivers } from './receivers.js';
import { signaturesOf } from './sign.js';

export interface PostParts {
  instance: string;
  mailboxes: Mailboxes;
  deliveries: Deliveries;
  blobs: Blobs;
  secrets: Secrets;
  receivers: Pick<Receivers, 'visit' | 'post'>;
  /** @default nothing is recorded */
  tracer?: Tracer;
}

/** A run under way. */
interface PostRun {
  post: Post;
  secrets: WebhookSecrets;
  report: PostReport;
  /** When it is recorded. */
  trace: TraceParent | undefined;
}

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
  async run(post: Post, trace?: TraceParent): Promise<void | { retryMs: number }> {
    const report = new PostReport(post, this.parts.mailboxes, this.parts.instance, trace);
    try {
      const left = await this.withoutAttempted(post, report);
      const secrets = await this.parts.secrets.of(post.team);
      for (let i = 0; i < left.length && !this.draining; i += SLICE)
        await this.postSlice({ post, secrets, report, trace }, left.slice(i, i + SLICE));
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

  private async postSlice(run: PostRun, events: number[]): Promise<void> {
    const { post, report } = run;
    const data = await dataOfEvents(this.parts.deliveries, post, events);
    const url = new URL(post.webhook.url);
    const postOne = async (eventNo: number): Promise<void> => {
      if (this.draining) return;
      const told = data.get(eventNo);
      const work = (): Promise<PostResult> => this.postEvent(run, eventNo, told);
      report.add(await this.memory.pass(work, bytesOf(told)));
    };
    await Promise.all(events.map((eventNo) => this.parts.receivers.visit(url, () => postOne(eventNo))));
  }

  private async postEvent(run: PostRun, eventNo: number, data: EventData): Promise<PostResult> {
    const atMs = Date.now();
    const startedMs = performance.now();
    const answer = await this.recorded(run, eventNo, () => this.exchange(run, eventNo, data));
    return { eventNo, ...answer, ms: Math.round(performance.now() - startedMs), atMs };
  }

  /** The address of a receiver may be a secret of its own. */
  private recorded({ post, trace }: PostRun, eventNo: number, exchange: () => Promise<Answer>): Promise<Answer> {
    const attributes = { 'troupe.event': eventNo, 'troupe.attempt': post.attempt };
    return inSpan(
      this.parts.tracer ?? NO_TRACES,
      ['post webhook', trace, { kind: 'client', attributes }],
      async (span) => {
        const answer = await exchange();
        if (answer.status !== null) span.set({ 'http.response.status_code': answer.status });
        else span.set({ 'error.type': 'no answer' });
        return answer;
      },
    );
  }

  private async exchange({ post, secrets }: PostRun, eventNo: number, data: EventData): Promise<Answer> {
    if (data === undefined) return { status: null, error: `the ${whatIsGone(post, eventNo)} is no longer stored` };
    const document = await this.read(data).catch(() => undefined);
    if (document === undefined) return { status: null, error: 'the stored page could not be read' };
    const body = eventBody(post, eventNo, document);
    const signatures = signaturesOf(body, secrets);
    return this.parts.receivers.post(new URL(post.webhook.url), post.webhook.headers, body, signatures);
  }

  private read(data: NonNullable<EventData>): Promise<Buffer | null> {
    if (data === 'none') return Promise.resolve(null);
    return 'json' in data ? Promise.resolve(data.json) : readDocument(this.parts.blobs, data);
  }
}

function bytesOf(data: EventData): number {
  if (data === undefined || data === 'none') return 0;
  return 'json' in data ? data.json.length : data.bytes;
}

function whatIsGone(post: Post, eventNo: number): string {
  const event = eventOf(post, eventNo);
  return event === 'page' || event === 'action' ? event : 'result';
}
