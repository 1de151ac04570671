/**
 * A partition's mailbox: one long-lived `consume()` whose messages wait in memory until the owner takes them.
 *
 * Deliveries of a consumer are numbered without a hole. A hole, a broken link, or messages that the server thinks we
 * have while we have none, all end the same way: a new consumer under the same epoch, which delivers everything that is
 * not acknowledged again.
 */
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { FencedError, type Delivery, type Mailbox } from '@troupe/actors';
import { STREAM_ACT, type Mail } from '@troupe/contracts';
import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';
import { decodeEnvelope } from './envelope.js';
import { deleteConsumer, replaceConsumer } from './mailbox-consumer.js';
import type { NatsLink } from './nats-link.js';

/** A message that cannot be read. */
export interface Poison {
  /** Partition of the mailbox. */
  part: number;
  subject: string;
  headers: Record<string, string[]>;
  data: Uint8Array;
  error: Error;
}
export type PoisonHandler = (poison: Poison) => Promise<void>;

export interface MailboxOptions {
  part: number;
  epoch: number;
  onPoison?: PoisonHandler;
}

const PULL_MESSAGES = 256;
const PULL_EXPIRES_MS = 30_000;
const LINGER_MS = 5;
/** Bytes of one `take`, beyond its first message. */
const TAKE_BYTES = 1024 * 1024;
const FIRST_PROBE_MS = 2_000;
const MAX_PROBE_MS = 30_000;
const PROBE_AGAIN_MS = 250;
const GIVE_WAY_MS = 200;
const REPAIR_RETRY_MS = 500;
const UNREADABLE_RETRY_MS = 30_000;

export class PartitionMailbox implements Mailbox {
  private buffer: JsMsg[] = [];
  private messages: ConsumerMessages | null = null;
  private name = '';
  /** Grows with each consumer; what an older one still delivers is ignored. */
  private generation = 0;
  private expected = 1;
  /** Taken and neither acked nor nacked, of the present consumer. */
  private unacked = 0;
  private closed = false;
  private fenced: FencedError | null = null;
  private repairing = false;
  private onWake: (() => void) | null = null;
  private probe: NodeJS.Timeout | null = null;
  private probeMs = FIRST_PROBE_MS;
  /** Until then the server rightly holds back messages that were put back. */
  private heldBackUntil = 0;
  private readonly unlisten: () => void;

  private constructor(
    private readonly link: NatsLink,
    private readonly options: MailboxOptions,
  ) {
    this.unlisten = link.onRestored(() => void this.repair());
  }

  /** @throws FencedError when a higher epoch has the partition. */
  static async open(link: NatsLink, options: MailboxOptions): Promise<PartitionMailbox> {
    const mailbox = new PartitionMailbox(link, options);
    try {
      await mailbox.consume();
    } catch (error) {
      mailbox.unlisten();
      throw error;
    }
    return mailbox;
  }

  /** @throws FencedError once a higher epoch has taken the partition. */
  async take(max: number, idleMs: number): Promise<Delivery[]> {
    if (this.buffer.length === 0 && idleMs > 0) await this.arrival(idleMs);
    if (this.fenced !== null) throw this.fenced;
    if (this.buffer.length > 0) await this.linger(max);
    const taken = this.shift(max);
    return taken.flatMap((message) => this.deliver(message) ?? []);
  }

  wake(): void {
    this.onWake?.();
  }

  /** Ends consuming and removes the consumer, so that the next owner finds everything unacknowledged. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.shut();
    this.wake();
    if (this.name !== '' && this.link.isUp()) {
      await deleteConsumer(this.link, this.name).catch((error: unknown) =>
        this.link.problem(`consumer ${this.name} left behind`, error),
      );
    }
  }

  private async consume(): Promise<void> {
    const consumer = await replaceConsumer(this.link, this.options.part, this.options.epoch);
    const { name } = await consumer.info(true);
    if (this.closed) return deleteConsumer(this.link, name);
    const generation = ++this.generation;
    this.name = name;
    this.buffer = [];
    this.expected = 1;
    this.unacked = 0;
    this.messages = await consumer.consume({
      max_messages: PULL_MESSAGES,
      expires: PULL_EXPIRES_MS,
      bind: true,
      callback: (message) => this.receive(message, generation),
    });
    void this.listen(this.messages, generation);
    this.scheduleProbe(FIRST_PROBE_MS);
  }

  private receive(message: JsMsg, generation: number): void {
    if (generation !== this.generation || this.closed) return;
    const { deliverySequence } = message.info;
    if (deliverySequence !== this.expected) {
      this.link.problem(
        `partition ${this.options.part}: delivery ${deliverySequence} came instead of ${this.expected}`,
        null,
      );
      void this.repair();
      return;
    }
    this.expected++;
    this.buffer.push(message);
    this.wake();
  }

  /** A consumer that ended, or that the server no longer knows, is replaced. */
  private async listen(messages: ConsumerMessages, generation: number): Promise<void> {
    const suspects = new Set([
      'consumer_deleted',
      'consumer_not_found',
      'stream_not_found',
      'no_responders',
      'heartbeats_missed',
    ]);
    for await (const status of messages.status()) {
      if (generation === this.generation && this.link.isUp() && suspects.has(status.type)) void this.repair();
    }
    if (generation === this.generation && this.link.isUp()) void this.repair();
  }

  private async repair(): Promise<void> {
    if (this.closed || this.repairing) return;
    this.repairing = true;
    this.generation++;
    this.messages?.stop();
    this.buffer = [];
    // Most often a new owner has just deleted our consumer. It goes first, or both would delete each other's in turn.
    await sleep(GIVE_WAY_MS);
    while (!this.closed && this.link.isUp()) {
      try {
        await this.consume();
        break;
      } catch (error) {
        if (error instanceof FencedError) {
          this.fence(error);
          break;
        }
        this.link.problem(`mailbox of partition ${this.options.part} not restored yet`, error);
        await sleep(REPAIR_RETRY_MS);
      }
    }
    this.repairing = false;
  }

  private fence(error: FencedError): void {
    this.fenced = error;
    this.shut();
    this.wake();
  }

  private shut(): void {
    this.closed = true;
    this.generation++;
    this.unlisten();
    this.messages?.stop();
    this.buffer = [];
    if (this.probe !== null) clearTimeout(this.probe);
  }

  /** Asks the server, ever more rarely while nothing happens, whether it waits for acks of messages we never saw. */
  private scheduleProbe(inMs: number): void {
    if (this.probe !== null) clearTimeout(this.probe);
    this.probeMs = inMs;
    this.probe = setTimeout(() => void this.look(), inMs);
  }

  private async look(): Promise<void> {
    const generation = this.generation;
    const seen = this.expected;
    const isIdle = () => generation === this.generation && seen === this.expected && this.isWaiting();
    if (isIdle() && (await this.hasLostMessages()) && isIdle()) {
      this.link.problem(
        `partition ${this.options.part}: the server waits for acks of messages that never arrived`,
        null,
      );
      return this.repair();
    }
    if (this.closed || generation !== this.generation) return;
    this.scheduleProbe(Math.min(this.probeMs * 2, MAX_PROBE_MS));
  }

  private isWaiting(): boolean {
    return this.link.isUp() && this.buffer.length === 0 && this.unacked === 0 && performance.now() > this.heldBackUntil;
  }

  /** Asked twice: a message may be on its way, and so may an ack. */
  private async hasLostMessages(): Promise<boolean> {
    try {
      if ((await this.link.jsm.consumers.info(STREAM_ACT, this.name)).num_ack_pending === 0) return false;
      await sleep(PROBE_AGAIN_MS);
      return this.isWaiting() && (await this.link.jsm.consumers.info(STREAM_ACT, this.name)).num_ack_pending > 0;
    } catch (error) {
      this.link.problem(`consumer ${this.name} not found`, error);
      return this.link.isUp();
    }
  }

  private arrival(idleMs: number): Promise<void> {
    if (this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.onWake = null;
        resolve();
      };
      const timer = setTimeout(done, idleMs);
      this.onWake = done;
    });
  }

  /** Lets a burst arrive whole: at most 5 ms, and only while more keeps coming. */
  private async linger(max: number): Promise<void> {
    const until = performance.now() + LINGER_MS;
    for (let before = 0; before < this.buffer.length && this.buffer.length < max && performance.now() < until;) {
      before = this.buffer.length;
      await nextRound();
      await sleep(1);
    }
  }

  private shift(max: number): JsMsg[] {
    let count = 0;
    for (let bytes = 0; count < this.buffer.length && count < max; count++) {
      bytes += this.buffer[count]!.data.length;
      if (count > 0 && bytes > TAKE_BYTES) break;
    }
    return this.buffer.splice(0, count);
  }

  private deliver(message: JsMsg): Delivery | null {
    const settle = this.accountFor();
    let envelope: Mail;
    try {
      envelope = decodeEnvelope(message.subject, message.headers, message.data);
    } catch (error) {
      void this.setAside(message, error).finally(settle);
      return null;
    }
    return {
      envelope,
      ack: () => {
        settle();
        message.ack();
      },
      nack: (delayMs) => {
        settle();
        this.nak(message, delayMs);
      },
    };
  }

  /** Counts a taken message as in work until it is settled, if its consumer still lives then. */
  private accountFor(): () => void {
    const generation = this.generation;
    let isOpen = true;
    this.unacked++;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      if (generation !== this.generation) return;
      this.unacked--;
      if (this.unacked === 0 && this.buffer.length === 0 && this.probeMs > FIRST_PROBE_MS)
        this.scheduleProbe(FIRST_PROBE_MS);
    };
  }

  private async setAside(message: JsMsg, reason: unknown): Promise<void> {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    const headers = Object.fromEntries(
      (message.headers?.keys() ?? []).map((name) => [name, message.headers!.values(name)]),
    );
    try {
      if (this.options.onPoison === undefined) throw error;
      await this.options.onPoison({
        part: this.options.part,
        subject: message.subject,
        headers,
        data: message.data,
        error,
      });
      message.ack();
    } catch (failure) {
      this.link.problem(`unreadable message on ${message.subject}`, failure);
      this.nak(message, UNREADABLE_RETRY_MS);
    }
  }

  private nak(message: JsMsg, delayMs: number): void {
    message.nak(delayMs);
    this.heldBackUntil = Math.max(this.heldBackUntil, performance.now() + delayMs + FIRST_PROBE_MS);
  }
}
