/**
 * Work for stateless workers: one durable pull consumer per subject, shared by all replicas (design/messages.md §1).
 *
 * A worker asks for as many messages as it has free places and no more, so that work waits in the stream, where an idle
 * replica can take it, and never behind a busy one.
 */
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
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
  /** Takes nothing more; what is in work goes on. */
  pause(): void;
  resume(): void;
  /** Takes nothing more and resolves when nothing is in work. */
  stop(): Promise<void>;
}

const ACK_WAIT_MS = 30_000;
const PROGRESS_MS = 10_000;
const FAILED_RETRY_MS = 1_000;
const UNREADABLE_RETRY_MS = 30_000;
const MAX_UNACKED = 20_000;

export class WorkQueue {
  constructor(private readonly link: NatsLink) {}

  /**
   * Acknowledged when the handler resolves, handed back for `retryMs` when it says so, for 1 s when it throws. While
   * it runs the server hears of progress every 10 s.
   */
  async consume(cls: WorkClass, prio: WorkPriority, options: WorkFeedOptions, handler: WorkHandler): Promise<WorkFeed> {
    const consumer = `w-${cls}-${prio}`;
    const subscription = new PullSubscription(this.link, {
      stream: STREAM_WORK,
      consumer,
      maxInFlight: options.maxInFlight,
      ensure: () => this.#ensureConsumer(consumer, workSubject(cls, prio)),
      handle: (message) => this.#work(message, handler),
    });
    await subscription.start();
    return subscription;
  }

  /** Makes the queues of a class exist, so that work which nobody takes yet can be counted. */
  async prepare(cls: WorkClass): Promise<void> {
    for (const prio of ['hi', 'lo'] as const) await this.#ensureConsumer(`w-${cls}-${prio}`, workSubject(cls, prio));
  }

  async #ensureConsumer(name: string, filter: string): Promise<void> {
    await this.link.jsm.consumers.add(STREAM_WORK, {
      durable_name: name,
      filter_subject: filter,
      deliver_policy: DeliverPolicy.All,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ACK_WAIT_MS),
      max_ack_pending: MAX_UNACKED,
      max_deliver: -1,
    });
  }

  async #work(message: PulledMessage, handler: WorkHandler): Promise<void> {
    let body: WorkMessage;
    try {
      body = decodeBody(message.headers, message.data) as WorkMessage;
    } catch (error) {
      this.link.problem(`unreadable message on ${message.subject}`, error);
      return message.nak(UNREADABLE_RETRY_MS);
    }
    const progress = setInterval(() => message.working(), PROGRESS_MS);
    try {
      const result = await this.#handle(message, body, handler);
      if (result === undefined) message.ack();
      else message.nak(result.retryMs);
    } catch (error) {
      this.link.problem(`handler of ${message.subject} failed`, error);
      message.nak(FAILED_RETRY_MS);
    } finally {
      clearInterval(progress);
    }
  }

  #handle(message: PulledMessage, body: WorkMessage, handler: WorkHandler): Promise<void | { retryMs: number }> {
    const { subject, redelivered } = message;
    const attributes = { 'messaging.system': 'nats', 'troupe.message': body.type, 'troupe.redelivered': redelivered };
    return inSpan(
      this.link.tracer,
      [`process ${subject}`, traceIn(message.headers), { kind: 'consumer', attributes }],
      ({ context: trace }) => handler(body, { redelivered, trace }),
    );
  }
}
