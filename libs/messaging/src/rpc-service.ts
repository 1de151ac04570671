/** The serving side of request/reply. */
import { headers, type Msg, type Subscription } from '@nats-io/nats-core';
import { errorToWire, inSpan, type TraceParent } from '@troupe/contracts';
import { traceIn } from './envelope.js';
import type { NatsLink } from './nats-link.js';
import type { RpcAborts } from './rpc-aborts.js';
import {
  BEAT_HEADER,
  BEAT_MS,
  BUSY_HEADER,
  ERROR_HEADER,
  FIRST_BEAT_MS,
  packFrame,
  unpackFrame,
  type PackedFrame,
} from './rpc-wire.js';

export interface RpcServeOptions {
  /** Name of the queue group: each request goes to one of its members. */
  queue: string;
  /** Requests handled at the same time. */
  capacity: number;
}

/** `signal` aborts when the client gives up; `trace` is for what belongs to the work, when it is recorded. */
export type RpcHandler = (
  head: unknown,
  body: Uint8Array,
  signal: AbortSignal,
  trace: TraceParent | undefined,
) => Promise<{ head: unknown; body?: Uint8Array }>;

export interface RpcServer {
  /** Takes no more requests and resolves when those in work are answered. */
  stop(): Promise<void>;
}

export interface RpcServiceOptions extends RpcServeOptions {
  subject: string;
  handler: RpcHandler;
  aborts: RpcAborts;
  /** Where this process is present, see `announcePresence`. */
  presence: string;
}

export class RpcService implements RpcServer {
  /** Requests in work, by the id in their head. */
  private readonly working = new Map<string, Promise<PackedFrame>>();
  private subscription: Subscription | null = null;
  private running = 0;
  private isStopped = false;
  private onIdle: (() => void) | null = null;

  constructor(
    private readonly link: NatsLink,
    private readonly options: RpcServiceOptions,
  ) {}

  /** Resolves when the server has the subscription. */
  async start(): Promise<void> {
    this.options.aborts.listen();
    this.join();
    await this.link.nc.flush();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.leave();
    if (this.running > 0) await new Promise<void>((resolve) => (this.onIdle = resolve));
    if (this.link.isUp()) await this.link.nc.flush();
  }

  private join(): void {
    if (this.subscription !== null || this.isStopped || this.link.nc.isClosed()) return;
    this.subscription = this.link.nc.subscribe(this.options.subject, {
      queue: this.options.queue,
      callback: (error, msg) => {
        if (error === null) this.receive(msg);
        else this.link.problem(`requests on ${this.options.subject}`, error);
      },
    });
  }

  /** Requests that are on their way are still received, and told that this server is full. */
  private leave(): void {
    const subscription = this.subscription;
    this.subscription = null;
    if (subscription === null || this.link.nc.isClosed()) return;
    subscription.drain().catch((error: unknown) => this.link.problem(`${this.options.subject} not left`, error));
  }

  private receive(msg: Msg): void {
    if (this.isStopped || this.running >= this.options.capacity) {
      msg.respond(undefined, { headers: flag(BUSY_HEADER, '1') });
      return;
    }
    this.running++;
    if (this.running >= this.options.capacity) this.leave();
    void this.answer(msg).finally(() => {
      this.running--;
      if (this.running === 0) this.onIdle?.();
      this.join();
    });
  }

  private async answer(msg: Msg): Promise<void> {
    const { presence } = this.options;
    const beat = () => {
      this.respond(msg, () => msg.respond(undefined, { headers: flag(BEAT_HEADER, presence) }));
      next = setTimeout(beat, BEAT_MS);
    };
    let next = setTimeout(beat, FIRST_BEAT_MS);
    try {
      await this.handle(msg);
    } catch (error) {
      this.respond(msg, () =>
        msg.respond(undefined, { headers: flag(ERROR_HEADER, JSON.stringify(errorToWire(error))) }),
      );
    } finally {
      clearTimeout(next);
    }
  }

  private async handle(msg: Msg): Promise<void> {
    const { head, body } = await unpackFrame<{ id?: unknown } | null>(msg.data, msg.headers);
    const id = typeof head?.id === 'string' ? head.id : null;
    const work = (id === null ? undefined : this.working.get(id)) ?? this.work(id, head, body, traceIn(msg.headers));
    const frame = await work;
    this.respond(msg, () => msg.respond(frame.data, { headers: frame.headers }));
  }

  /** A client that has not heard of its request for a while asks again, and gets the answer of the same work. */
  private async work(
    id: string | null,
    head: unknown,
    body: Uint8Array,
    cause: TraceParent | undefined,
  ): Promise<PackedFrame> {
    const controller = new AbortController();
    const { subject, handler } = this.options;
    const work = inSpan(this.link.tracer, [`answer ${subject}`, cause, { kind: 'server' }], ({ context }) =>
      handler(head, body, controller.signal, context),
    ).then((reply) => packFrame(reply.head, reply.body ?? null, this.link.nc.info?.max_payload ?? 0));
    if (id === null) return work;
    this.working.set(id, work);
    this.options.aborts.add(id, controller);
    try {
      return await work;
    } finally {
      this.working.delete(id);
      this.options.aborts.remove(id, controller);
    }
  }

  /** A client whose answer cannot be sent hears nothing, and asks another replica. */
  private respond(msg: Msg, respond: () => boolean): void {
    try {
      respond();
    } catch (error) {
      this.link.problem(`answer on ${msg.subject} not sent`, error);
    }
  }
}

function flag(name: string, value: string) {
  const hdrs = headers();
  hdrs.set(name, value);
  return hdrs;
}
