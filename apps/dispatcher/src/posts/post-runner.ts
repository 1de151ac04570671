/** Runs of posts: reads the pages of their events, posts them and reports the results. */
import { Inject, Injectable } from '@nestjs/common';
import { readDocument } from '@troupe/blob-store';
import {
  eventAt,
  inSpan,
  NO_TRACES,
  numbersOf,
  type Post,
  type PostResult,
  type TraceParent,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { ActorBus } from '@troupe/messaging';
import { DeliveryRepository, type WebhookSecrets } from '@troupe/persistence';
import { INSTANCE, TRACER } from '@troupe/service';
import { eventBody, MAX_BODY_BYTES } from '../events/event-body.js';
import { dataOfEvents, type EventData } from '../events/event-data.js';
import { Gate, KeyedGates } from './gate.js';
import { PostReport } from './post-report.js';
import { PAGES, type Blobs, type Deliveries, type Mailboxes, type Secrets } from './ports.js';
import { PER_HOST, ReceiverPlaces } from '../receivers/receiver-places.js';
import { Receivers, type Answer } from '../receivers/receivers.js';
import { signaturesOf } from '../events/sign.js';
import { TeamSecrets } from '../events/team-secrets.js';

@Injectable()
export class PostParts {
  constructor(
    @Inject(INSTANCE) readonly instance: string,
    @Inject(ActorBus) readonly mailboxes: Mailboxes,
    @Inject(DeliveryRepository) readonly deliveries: Deliveries,
    @Inject(PAGES) readonly blobs: Blobs,
    @Inject(TeamSecrets) readonly secrets: Secrets,
    @Inject(Receivers) readonly receivers: Pick<Receivers, 'post'>,
    @Inject(ReceiverPlaces) readonly places: Pick<ReceiverPlaces, 'enter' | 'leave'>,
    /** @default nothing is recorded */
    @Inject(TRACER) readonly tracer?: Tracer,
  ) {}
}

/** A run under way. */
interface PostRun {
  post: Post;
  secrets: WebhookSecrets;
  report: PostReport;
  /** Trace of the run, when it is recorded. */
  trace: TraceParent | undefined;
}

/** Rows of pages held for one run at a time. */
const SLICE = 25;
/** Bytes of pages that are being posted by this process at a time; one team has half of them at most. */
const PAGE_MEMORY_BYTES = 8 * MAX_BODY_BYTES;
/** Runs of one team that this process works on at a time; it takes several times as many in all. */
export const MAX_TEAM_RUNS = 40;
/** When a run that found its team's share used up is tried again. */
const TEAM_WAIT_MS = 1_000;
const STALE = 'not sent: the event is older than 24 hours';
/** Wait before another dispatcher takes up the work of a stopping one. */
const HANDED_BACK_MS = 500;

@Injectable()
export class PostRunner {
  private readonly memory = new Gate(PAGE_MEMORY_BYTES);
  private readonly teamMemory = new KeyedGates(PAGE_MEMORY_BYTES / 2);
  private readonly teamRuns = new Map<Uuid, number>();
  private draining = false;

  constructor(@Inject(PostParts) private readonly parts: PostParts) {}

  /**
   * Resolves when the actor knows the result of every event, or when to hand it over again; throws to ask for
   * redelivery.
   */
  async run(post: Post, trace?: TraceParent): Promise<void | { retryMs: number }> {
    const report = new PostReport(post, this.parts.mailboxes, this.parts.instance, trace);
    const { team } = post;
    const runs = this.teamRuns.get(team) ?? 0;
    if (runs >= MAX_TEAM_RUNS) return report.end(TEAM_WAIT_MS);
    this.teamRuns.set(team, runs + 1);
    let waitMs: number | null = null;
    try {
      waitMs = await this.postAll(post, report, trace);
    } finally {
      this.leaveTeam(team);
      await report.end(waitMs);
    }
    if (this.draining && waitMs === null) return { retryMs: HANDED_BACK_MS };
  }

  private leaveTeam(team: Uuid): void {
    const left = this.teamRuns.get(team)! - 1;
    if (left === 0) this.teamRuns.delete(team);
    else this.teamRuns.set(team, left);
  }

  /**
   * Wait in ms before the rest should be tried; null when all was posted, or when no more is because this process ends.
   */
  private async postAll(post: Post, report: PostReport, trace?: TraceParent): Promise<number | null> {
    const left = this.withoutStale(post, await this.withoutAttempted(post, report), report);
    const secrets = await this.parts.secrets.of(post.team);
    let waitMs: number | null = null;
    for (let i = 0; i < left.length && !this.draining && waitMs === null; i += SLICE)
      waitMs = await this.postSlice({ post, secrets, report, trace }, left.slice(i, i + SLICE));
    return waitMs;
  }

  private withoutStale({ staleUpTo = -1 }: Post, events: number[], report: PostReport): number[] {
    const atMs = Date.now();
    for (const eventNo of events)
      if (eventNo <= staleUpTo) report.add({ eventNo, status: null, error: STALE, ms: 0, atMs });
    return events.filter((eventNo) => eventNo > staleUpTo);
  }

  /** Starts no further post. Posts under way end within the time limit of a post. */
  drain(): void {
    this.draining = true;
  }

  /** A run may come twice: recorded events are reported again and not posted. */
  private async withoutAttempted(post: Post, report: PostReport): Promise<number[]> {
    const events = [...numbersOf(post.events)];
    const known = await this.parts.deliveries.attempted(post.jobNo, post.attempt, events);
    for (const { eventNo, at, status, error, ms } of known)
      report.add({ eventNo, status, error, ms, atMs: at.getTime() });
    const done = new Set(known.map(({ eventNo }) => eventNo));
    return events.filter((eventNo) => !done.has(eventNo));
  }

  /** Posts as many at a time as the receiver has places for. When there is no place, the rest is for later. */
  private async postSlice(run: PostRun, events: number[]): Promise<number | null> {
    const data = await dataOfEvents(this.parts.deliveries, run.post, events);
    const url = new URL(run.post.webhook.url);
    const waiting = [...events];
    let waitMs = 0;
    const work = async (): Promise<void> => {
      while (waiting.length > 0 && !this.draining) {
        const place = await this.parts.places.enter(url, run.post.team);
        if ('waitMs' in place) return void (waitMs = Math.max(waitMs, place.waitMs));
        const eventNo = waiting.shift();
        let answered: boolean | null = null;
        try {
          if (eventNo !== undefined) answered = await this.postOne(run, eventNo, data.get(eventNo));
        } finally {
          await this.parts.places.leave(place, answered);
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(PER_HOST, events.length) }, work));
    return waiting.length > 0 && !this.draining ? waitMs : null;
  }

  /** Whether the receiver answered; null when nothing was posted. */
  private async postOne(run: PostRun, eventNo: number, data: EventData): Promise<boolean | null> {
    const bytes = bytesOf(data);
    const post = (): Promise<PostResult> => this.postEvent(run, eventNo, data);
    const shared = (): Promise<PostResult> => this.memory.pass(post, bytes);
    const result = await this.teamMemory.pass(run.post.team, shared, bytes);
    run.report.add(result);
    return data === undefined ? null : result.status !== null;
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
  const event = eventAt(post, eventNo);
  return event === 'page' || event === 'action' ? event : 'result';
}
