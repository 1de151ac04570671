/**
 * Work for stateless workers: one durable pull consumer per subject, shared by all replicas (docs/design/messages.md,
 * "Streams and buckets").
 *
 * A worker asks for as many messages as it has free places and no more, so that work waits in the stream, where an idle
 * replica can take it, and never behind a busy one.
 */
import { AckPolicy, DeliverPolicy, JetStreamApiError, type ConsumerConfig } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import {
  inSpan,
  STREAM_WORK,
  workSubject,
  type TraceParent,
  type WorkClass,
  type WorkMessage,
  type WorkPriority,
} from '@troupe/contracts';
import { decodeBody, traceIn } from './envelope.js';
import type { NatsLink } from './nats-link.js';
import { PullSubscription, type PulledMessage } from './pull-subscription.js';

export interface WorkFeedOptions {
  /** Messages handled at the same time. */
  maxInFlight: number;
}

export interface WorkDelivery {
  /** The message may have been handled, or be in work, elsewhere. */
  redelivered: boolean;
  /** For what belongs to the work, when it is recorded. */
  trace: TraceParent | undefined;
}

export type WorkHandler = (msg: WorkMessage, delivery: WorkDelivery) => Promise<void | { retryMs: number }>;

export interface WorkFeed {
  /** Takes no more work; work under way goes on. */
  pause(): void;
  resume(): void;
  /** Takes no more work and resolves when none is under way. */
  stop(): Promise<void>;
}

interface Patience {
  /** Silence of a worker after which its message goes to another one. */
  ackWaitMs: number;
  /** How often a worker says that it is not done. */
  progressMs: number;
}

/** The lane's slot, or the number of a chunk, detects a second run: the work of a dead worker may move on quickly. */
const QUICK: Patience = { ackWaitMs: 4_000, progressMs: 1_250 };
/** A second run is a second call of a model or a webhook: a worker may stand still for a while first. */
const SLOW: Patience = { ackWaitMs: 30_000, progressMs: 10_000 };
const PATIENCE: Record<WorkClass, Patience> = { http: QUICK, browser: QUICK, kick: QUICK, llm: SLOW, post: SLOW };

/** JetStream's word for "there is one of this name, but different". */
const CONSUMER_EXISTS = 10148;
const FAILED_RETRY_MS = 1_000;
const UNREADABLE_RETRY_MS = 30_000;
const MAX_UNACKED = 20_000;

export class WorkQueue {
  constructor(private readonly link: NatsLink) {}

  /**
   * Acknowledged when the handler resolves, handed back for `retryMs` when it says so, for 1 s when it throws. While
   * it runs the server hears of its progress; what a silent worker had goes to another one after 4 s, model calls and
   * webhooks after 30 s.
   */
  async consume(cls: WorkClass, prio: WorkPriority, options: WorkFeedOptions, handler: WorkHandler): Promise<WorkFeed> {
    const consumer = consumerName(cls, prio);
    const subscription = new PullSubscription(this.link, {
      stream: STREAM_WORK,
      consumer,
      maxInFlight: options.maxInFlight,
      ensure: () => this.ensureConsumer(cls, prio),
      handle: (message) => this.work(message, handler, PATIENCE[cls].progressMs),
    });
    await subscription.start();
    return subscription;
  }

  /** Makes the queues of a class exist, so that work without a consumer can be counted. */
  async prepare(cls: WorkClass): Promise<void> {
    for (const prio of ['hi', 'lo'] as const) await this.ensureConsumer(cls, prio);
  }

  /** A consumer made by a service of another version is changed to this one's needs. */
  private async ensureConsumer(cls: WorkClass, prio: WorkPriority): Promise<void> {
    const name = consumerName(cls, prio);
    const ackWait = { ack_wait: nanos(PATIENCE[cls].ackWaitMs) };
    const desired: Partial<ConsumerConfig> = {
      durable_name: name,
      filter_subject: workSubject(cls, prio),
      deliver_policy: DeliverPolicy.All,
      ack_policy: AckPolicy.Explicit,
      ...ackWait,
      max_ack_pending: MAX_UNACKED,
      max_deliver: -1,
    };
    const { consumers } = this.link.jsm;
    try {
      await consumers.add(STREAM_WORK, desired);
    } catch (error) {
      if (!(error instanceof JetStreamApiError && error.code === CONSUMER_EXISTS)) throw error;
      await consumers.update(STREAM_WORK, name, ackWait);
    }
  }

  private async work(message: PulledMessage, handler: WorkHandler, progressMs: number): Promise<void> {
    let body: WorkMessage;
    try {
      body = decodeBody(message.headers, message.data) as WorkMessage;
    } catch (error) {
      this.link.problem(`unreadable message on ${message.subject}`, error);
      return message.nak(UNREADABLE_RETRY_MS);
    }
    const { subject, redelivered } = message;
    const attributes = { 'messaging.system': 'nats', 'troupe.message': body.type, 'troupe.redelivered': redelivered };
    const progress = setInterval(() => message.working(), progressMs);
    try {
      const result = await inSpan(
        this.link.tracer,
        [`process ${subject}`, traceIn(message.headers), { kind: 'consumer', attributes }],
        ({ context: trace }) => handler(body, { redelivered, trace }),
      );
      if (result === undefined) message.ack();
      else message.nak(result.retryMs);
    } catch (error) {
      this.link.problem(`handler of ${subject} failed`, error);
      message.nak(FAILED_RETRY_MS);
    } finally {
      clearInterval(progress);
    }
  }
}

function consumerName(cls: WorkClass, prio: WorkPriority): string {
  return `w-${cls}-${prio}`;
}
