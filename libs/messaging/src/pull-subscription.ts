/**
 * Pull requests by free capacity over one lasting subscription.
 *
 * The library's `consume()` asks for new messages as soon as some arrive, whether or not there is room to handle
 * them; its `fetch()` drops what arrives as a fetch ends. Here the subscription outlives every request, so nothing that
 * arrives is lost, and requests follow the handlers.
 */
import { createInbox, nanos, type Msg, type MsgHdrs, type Subscription } from '@nats-io/nats-core';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from './nats-link.js';

export interface PulledMessage {
  readonly subject: string;
  readonly headers?: MsgHdrs;
  readonly data: Uint8Array;
  readonly redelivered: boolean;
  ack(): void;
  nak(millis?: number): void;
  working(): void;
}

export interface PullOptions {
  stream: string;
  consumer: string;
  maxInFlight: number;
  /** Makes the consumer exist. */
  ensure(): Promise<void>;
  /** Settles the message itself; never rejects. */
  handle(message: PulledMessage): Promise<void>;
}

/** A delivery of JetStream: its reply subject carries the count of deliveries, and takes the answer. */
class Pulled implements PulledMessage {
  constructor(
    private readonly msg: Msg,
    private readonly link: NatsLink,
  ) {}

  get subject(): string {
    return this.msg.subject;
  }
  get headers(): MsgHdrs | undefined {
    return this.msg.headers;
  }
  get data(): Uint8Array {
    return this.msg.data;
  }
  /** `$JS.ACK.<stream>.<consumer>.<count>.…`, or with domain and account before the stream. */
  get redelivered(): boolean {
    const tokens = (this.msg.reply ?? '').split('.');
    return Number(tokens[tokens.length > 9 ? 6 : 4]) > 1;
  }
  ack(): void {
    this.answer('+ACK');
  }
  nak(millis = 0): void {
    this.answer(millis === 0 ? '-NAK' : `-NAK ${JSON.stringify({ delay: nanos(millis) })}`);
  }
  working(): void {
    this.answer('+WPI');
  }

  /** Without a connection the server cannot be told, and delivers again. */
  private answer(text: string): void {
    if (!this.link.nc.isClosed()) this.msg.respond(text);
  }
}

const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 10_000;
/** Silence after which an open request is taken for lost. */
const SILENCE_MS = 25_000;
const RETRY_MS = 500;

const STATUS_CONFLICT = 409;
const STATUS_NO_RESPONDERS = 503;

export class PullSubscription {
  private subscription: Subscription | null = null;
  private inbox = '';
  /** Messages the server still owes us. */
  private asked = 0;
  private running = 0;
  private isPaused = false;
  private isStopped = false;
  private isEnsuring = false;
  private heardAt = 0;
  private timer: NodeJS.Timeout | null = null;
  private unlisten: (() => void) | null = null;
  private onIdle: (() => void) | null = null;

  constructor(
    private readonly link: NatsLink,
    private readonly options: PullOptions,
  ) {}

  async start(): Promise<void> {
    await this.options.ensure();
    this.unlisten = this.link.onRestored(() => void this.reopen());
    this.timer = setInterval(() => this.checkSilence(), HEARTBEAT_MS / 2);
    this.subscribe();
    this.pull();
  }

  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.unsubscribe();
  }

  resume(): void {
    if (!this.isPaused || this.isStopped) return;
    this.isPaused = false;
    this.subscribe();
    this.pull();
  }

  async stop(): Promise<void> {
    this.pause();
    this.isStopped = true;
    this.unlisten?.();
    if (this.timer !== null) clearInterval(this.timer);
    if (this.running > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
  }

  private subscribe(): void {
    const inbox = createInbox();
    this.inbox = inbox;
    this.asked = 0;
    this.heardAt = performance.now();
    this.subscription = this.link.nc.subscribe(inbox, {
      callback: (error, msg) => {
        if (error !== null) this.link.problem(`pull from ${this.options.consumer}`, error);
        else this.receive(msg, inbox);
      },
    });
  }

  /** Without an interested inbox the server forgets our requests; what is on its way is still received. */
  private unsubscribe(): void {
    this.inbox = '';
    this.asked = 0;
    const subscription = this.subscription;
    this.subscription = null;
    if (subscription === null || this.link.nc.isClosed()) return;
    subscription
      .drain()
      .catch((error: unknown) => this.link.problem(`pull from ${this.options.consumer} not ended`, error));
  }

  private receive(msg: Msg, inbox: string): void {
    this.heardAt = performance.now();
    const isStatus = msg.subject === inbox;
    if (isStatus) {
      if (inbox === this.inbox) this.onStatus(msg);
      return;
    }
    const message = new Pulled(msg, this.link);
    if (inbox !== this.inbox) return message.nak();
    this.asked = Math.max(0, this.asked - 1);
    this.run(message);
    this.pull();
  }

  private run(message: PulledMessage): void {
    this.running++;
    void this.options.handle(message).finally(() => {
      this.running--;
      if (this.running === 0) this.onIdle?.();
      this.pull();
    });
  }

  /** A request ended before it was filled: expired, or the consumer or its leader changed. */
  private onStatus(msg: Msg): void {
    const code = msg.headers?.code ?? 0;
    if (code === 100) return;
    const left = Number(msg.headers?.get('Nats-Pending-Messages') ?? '');
    this.asked = left > 0 ? Math.max(0, this.asked - left) : 0;
    if (code === STATUS_CONFLICT || code === STATUS_NO_RESPONDERS) void this.reopen();
    else this.pull();
  }

  /** Few requests at a time: the next one goes out when the last is used up or a quarter of the places is free. */
  private pull(): void {
    if (this.inbox === '' || this.isEnsuring || !this.link.isUp()) return;
    const { stream, consumer, maxInFlight } = this.options;
    const wanted = maxInFlight - this.running - this.asked;
    if (wanted <= 0 || (this.asked > 0 && wanted < maxInFlight / 4)) return;
    this.asked += wanted;
    const request = { batch: wanted, expires: nanos(EXPIRES_MS), idle_heartbeat: nanos(HEARTBEAT_MS) };
    this.link.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), {
      reply: this.inbox,
    });
  }

  private checkSilence(): void {
    if (this.asked === 0 || this.inbox === '' || performance.now() - this.heardAt < SILENCE_MS) return;
    void this.reopen();
  }

  /** Makes sure of the consumer and starts over; old requests and their counts are forgotten. */
  private async reopen(): Promise<void> {
    if (this.isEnsuring || this.isStopped) return;
    this.isEnsuring = true;
    while (!this.isStopped && this.link.isUp()) {
      try {
        await this.options.ensure();
        break;
      } catch (error) {
        this.link.problem(`consumer ${this.options.consumer} not restored yet`, error);
        await sleep(RETRY_MS);
      }
    }
    this.isEnsuring = false;
    if (this.inbox === '') return;
    this.unsubscribe();
    this.subscribe();
    this.pull();
  }
}
