/** The outcome of a job's webhook events, and another try at those that are over (docs/api/own.md). */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ActorBus } from '@troupe/messaging';
import {
  actorKey,
  isDelivered,
  repeatedEvent,
  spansOf,
  START_EVENT,
  webhookIdOf,
  WEBHOOK_SUBJECTS,
  type Replay,
  type Uuid,
  type WebhookEvent,
  type WebhookSpec,
} from '@troupe/contracts';
import { DeliveryRepository, type DeliveryAttempt } from '@troupe/persistence';
import { INSTANCE } from '@troupe/service';
import { type Caller } from '../auth/caller.js';
import { JobStatusService } from './job-status.service.js';
import { type JobView, type Publisher } from './ports.js';

export interface Delivery {
  webhookId: Uuid;
  /** Full name, e.g. `crawl.page`. */
  type: string;
  eventNo: number;
  attempts: DeliveryAttempt[];
  state: 'pending' | 'delivered' | 'dead';
}

export interface ReplayOrder {
  /** null: all events. */
  webhookIds: Uuid[] | null;
  /** Only those that were given up. */
  isDeadOnly: boolean;
}

/** Ids are made and compared in portions, which takes about 3 µs each. Other work runs in between. */
const IDS_AT_A_TIME = 2_000;
/** A delivery actor keeps a bounded number of failed events. Scattered ones beyond this wait for another call. */
const MAX_SPANS = 2_000;

@Injectable()
export class DeliveriesService {
  constructor(
    @Inject(JobStatusService) private readonly status: Pick<JobStatusService, 'find'>,
    @Inject(DeliveryRepository)
    private readonly deliveries: Pick<
      DeliveryRepository,
      'pageCount' | 'actionCount' | 'ends' | 'attempts' | 'lastAttempts'
    >,
    @Inject(ActorBus) private readonly publisher: Publisher,
    @Inject(INSTANCE) private readonly instance: string,
  ) {}

  /** Events in the order of their numbers. @throws ApiError 404 as `JobStatusService.find` */
  async list(
    caller: Caller,
    id: Uuid,
    skip: number,
    limit: number,
  ): Promise<{ deliveries: Delivery[]; hasMore: boolean }> {
    const job = await this.status.find(caller, id);
    const events = await this.eventsOf(job);
    const numbers = events.slice(skip, skip + limit);
    if (numbers.length === 0) return { deliveries: [], hasMore: false };
    const attempts = await this.deliveries.attempts(job.jobNo, numbers);
    const deliveries = numbers.map((eventNo) => deliveryOf(job, events, eventNo, attempts.get(eventNo) ?? []));
    return { deliveries, hasMore: skip + limit < events.count };
  }

  /** Queues one more attempt at each event that is over and was asked for; returns how many. */
  async replay(caller: Caller, id: Uuid, order: ReplayOrder): Promise<number> {
    const job = await this.status.find(caller, id);
    const events = await this.eventsOf(job);
    if (events.count === 0) return 0;
    const asked = order.webhookIds === null ? null : await numbersOfIds(job.job, events, new Set(order.webhookIds));
    const last = await this.deliveries.lastAttempts(job.jobNo, asked);
    const isWanted = (attempt: DeliveryAttempt) => (isDelivered(attempt) ? !order.isDeadOnly : attempt.final);
    const groups = [...last]
      .map(([attempt, entries]) => ({
        attempt: attempt + 1,
        events: spansOf(entries.filter(isWanted).map(({ eventNo }) => eventNo)).slice(0, MAX_SPANS),
      }))
      .filter((group) => group.events.length > 0);
    const queued = groups.flatMap((group) => group.events).reduce((sum, [from, to]) => sum + to - from + 1, 0);
    if (queued > 0) await this.publish(job, groups);
    return queued;
  }

  private publish(job: JobView, groups: Replay['groups']): Promise<void> {
    const command = randomUUID();
    return this.publisher.publishActor({
      id: `c.${command}`,
      type: 'Replay',
      v: 1,
      from: `gw/${this.instance}`,
      to: actorKey('delivery', job.job),
      n: null,
      body: { type: 'Replay', id: command, groups },
    });
  }

  private async eventsOf(job: JobView): Promise<JobEvents> {
    const webhook = webhookOf(job);
    const manifold = repeatedEvent(job.kind);
    if (webhook === null) return new JobEvents({ wanted: [], manifold }, 0, []);
    const [pages, ends] = await Promise.all([
      manifold === 'page' ? this.deliveries.pageCount(job.jobNo) : this.deliveries.actionCount(job.jobNo),
      this.deliveries.ends(job.jobNo),
    ]);
    return new JobEvents({ wanted: webhook.events, manifold }, pages, ends);
  }
}

/** The events that a receiver gets, as far as the job has come. */
class JobEvents {
  private readonly hasStart: boolean;
  /** Pages, or actions of an agent. */
  private readonly hasPages: boolean;
  private readonly manifold: WebhookEvent;
  private readonly shownEnds: number[];
  private readonly hiddenEnds: number[];

  constructor(
    { wanted, manifold }: { wanted: readonly WebhookEvent[]; manifold: WebhookEvent },
    private readonly pages: number,
    private readonly ends: readonly { eventNo: number; status: WebhookEvent }[],
  ) {
    const isShown = ({ status }: { status: WebhookEvent }) => wanted.includes(status);
    this.hasStart = wanted.includes('started');
    this.hasPages = wanted.includes(manifold);
    this.manifold = manifold;
    this.shownEnds = ends.filter(isShown).map(({ eventNo }) => eventNo);
    this.hiddenEnds = ends.filter((end) => !isShown(end)).map(({ eventNo }) => eventNo);
  }

  get count(): number {
    return Number(this.hasStart) + (this.hasPages ? this.pages : 0) + this.shownEnds.length;
  }

  /** Numbers of the events at these places. */
  slice(from: number, to: number): number[] {
    const numbers: number[] = [];
    for (let place = from; place < Math.min(to, this.count); place++) numbers.push(this.at(place));
    return numbers;
  }

  nameOf(eventNo: number): WebhookEvent {
    if (eventNo === START_EVENT) return 'started';
    return this.ends.find((end) => end.eventNo === eventNo)?.status ?? this.manifold;
  }

  private at(place: number): number {
    const afterStart = place - Number(this.hasStart);
    if (afterStart < 0) return START_EVENT;
    if (!this.hasPages) return this.shownEnds[afterStart]!;
    return this.hiddenEnds.reduce((eventNo, hidden) => (hidden <= eventNo ? eventNo + 1 : eventNo), afterStart + 1);
  }
}

async function numbersOfIds(job: Uuid, events: JobEvents, ids: Set<Uuid>): Promise<number[]> {
  const found: number[] = [];
  for (let place = 0; place < events.count && found.length < ids.size; place += IDS_AT_A_TIME) {
    const numbers = events.slice(place, place + IDS_AT_A_TIME);
    found.push(...numbers.filter((eventNo) => ids.has(webhookIdOf(job, eventNo))));
    await setImmediate();
  }
  return found;
}

function deliveryOf(job: JobView, events: JobEvents, eventNo: number, attempts: DeliveryAttempt[]): Delivery {
  return {
    webhookId: webhookIdOf(job.job, eventNo),
    type: `${WEBHOOK_SUBJECTS[job.kind]}.${events.nameOf(eventNo)}`,
    eventNo,
    attempts,
    state: stateOf(attempts.at(-1)),
  };
}

function stateOf(last: DeliveryAttempt | undefined): Delivery['state'] {
  if (last === undefined) return 'pending';
  if (isDelivered(last)) return 'delivered';
  return last.final ? 'dead' : 'pending';
}

/** The job's spec is kept with the job; jobs from before webhooks have none. */
function webhookOf(job: JobView): WebhookSpec | null {
  return (job.wireOptions as { webhook?: WebhookSpec | null } | null)?.webhook ?? null;
}
