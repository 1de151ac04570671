/**
 * Nest's way to the bus: `@MessagePattern` and `@EventPattern` handlers on work queues and request/reply subjects.
 *
 * | pattern | bound to | payload | context |
 * |---|---|---|---|
 * | `work.<cls>.<prio>` | `WorkQueue.consume` | the `WorkMessage` | `NatsContext.redelivered` |
 * | `rpc.…` | `Rpc.serve` | `RpcRequest` | `NatsContext.signal` |
 * | anything else, `@EventPattern` only | core subscription | JSON of the message | `NatsContext.subject` |
 *
 * `extras` of the decorator: `maxInFlight`, `capacity`, `queue`.
 */
import { BaseRpcContext, Server, type CustomTransportStrategy, type MessageHandler } from '@nestjs/microservices';
import type { Subscription } from '@nats-io/nats-core';
import { WORK_CLASSES, type TraceParent, type WorkClass, type WorkPriority } from '@troupe/contracts';
import { lastValueFrom } from 'rxjs';
import type { NatsLink } from './nats-link.js';
import { Rpc } from './rpc.js';
import type { RpcServer } from './rpc-service.js';
import { WorkQueue, type WorkDelivery, type WorkFeed } from './work-queue.js';

export interface NatsStrategyOptions {
  link: NatsLink;
  /** Used when a handler names none. @default 16 */
  maxInFlight?: number;
  /** Used when a handler names none. @default 64 */
  capacity?: number;
  /** Queue group of the handlers that name none. @default the subject */
  queue?: string;
  /** Patterns that must have a handler, else `listen` fails. */
  expects?: readonly string[];
  /** Handlers, and what they call, find the trace of their message in `Tracer.active`. @default false: in their context */
  activatesTraces?: boolean;
}

/** Payload of a handler of an `rpc.…` pattern; it returns `{ head, body? }`. */
export interface RpcRequest<H = unknown> {
  head: H;
  body: Uint8Array;
}

export class NatsContext extends BaseRpcContext<
  [{ subject: string; redelivered: boolean; signal: AbortSignal | null; trace?: TraceParent }]
> {
  get subject(): string {
    return this.getArgByIndex(0).subject;
  }
  get redelivered(): boolean {
    return this.getArgByIndex(0).redelivered;
  }
  get signal(): AbortSignal | null {
    return this.getArgByIndex(0).signal;
  }
  /** Trace for everything that belongs to the work, when it is recorded. */
  get trace(): TraceParent | undefined {
    return this.getArgByIndex(0).trace;
  }
}

/** Trace of a handler's work, when it is recorded. Decorators of events know no type of their context. */
export function traceOf(context: unknown): TraceParent | undefined {
  return context instanceof NatsContext ? context.trace : undefined;
}

/** Thrown at start when a pattern has two handlers, none although it must, or one of the wrong kind. */
export class HandlerPatternError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'HandlerPatternError';
  }
}

interface HandlerExtras {
  maxInFlight?: number;
  capacity?: number;
  queue?: string;
}

/** A message and how it came. */
interface Delivery extends WorkDelivery {
  signal?: AbortSignal | null;
}

const WORK_PATTERN = /^work\.([a-z]+)\.(hi|lo)$/;

export class NatsStrategy extends Server implements CustomTransportStrategy {
  private readonly feeds: (WorkFeed | RpcServer)[] = [];
  private readonly subscriptions: Subscription[] = [];
  private readonly queue: WorkQueue;
  private readonly rpc: Rpc;

  constructor(private readonly options: NatsStrategyOptions) {
    super();
    this.queue = new WorkQueue(options.link);
    this.rpc = new Rpc(options.link);
  }

  /** @throws HandlerPatternError when the pattern has a handler already. */
  override addHandler(
    pattern: unknown,
    callback: MessageHandler,
    isEventHandler = false,
    extras: Record<string, unknown> = {},
  ): void {
    const subject = this.normalizePattern(pattern as string);
    if (this.messageHandlers.has(subject)) throw new HandlerPatternError(`${subject} has two handlers`);
    const isBound = WORK_PATTERN.test(subject) || subject.startsWith('rpc.');
    if (!isBound && !isEventHandler)
      throw new HandlerPatternError(`${subject} is no work.<class>.<priority> or rpc.… pattern`);
    super.addHandler(pattern, callback, isEventHandler, extras);
  }

  listen(callback: (error?: unknown) => void): void {
    this.bindAll().then(
      () => callback(),
      (error: unknown) => callback(error),
    );
  }

  /** Takes nothing more and waits for what is in work. */
  async close(): Promise<void> {
    const subscriptions = this.options.link.isUp()
      ? this.subscriptions.map((subscription) => subscription.drain())
      : [];
    await Promise.all([...this.feeds.map((feed) => feed.stop()), ...subscriptions]);
    this.feeds.length = 0;
    this.subscriptions.length = 0;
  }

  on(): void {
    throw new Error('NatsStrategy has no events: see NatsLink');
  }

  unwrap<T>(): T {
    return this.options.link.nc as T;
  }

  private async bindAll(): Promise<void> {
    const missing = (this.options.expects ?? []).filter((subject) => !this.messageHandlers.has(subject));
    if (missing.length > 0) throw new HandlerPatternError(`no handler for ${missing.join(', ')}`);
    for (const [subject, handler] of this.messageHandlers) await this.bind(subject, handler);
  }

  private async bind(subject: string, handler: MessageHandler): Promise<void> {
    const extras = (handler.extras ?? {}) as HandlerExtras;
    const work = WORK_PATTERN.exec(subject);
    if (work !== null) this.feeds.push(await this.bindWork(subject, handler, work, extras));
    else if (subject.startsWith('rpc.')) this.feeds.push(await this.bindRpc(subject, handler, extras));
    else this.bindEvent(subject, handler, extras);
  }

  private bindWork(
    subject: string,
    handler: MessageHandler,
    [, cls, prio]: RegExpExecArray,
    extras: HandlerExtras,
  ): Promise<WorkFeed> {
    if (!WORK_CLASSES.includes(cls as WorkClass))
      throw new HandlerPatternError(`${subject}: there is no work class ${cls}`);
    const maxInFlight = extras.maxInFlight ?? this.options.maxInFlight ?? 16;
    return this.queue.consume(cls as WorkClass, prio as WorkPriority, { maxInFlight }, this.handling(handler, subject));
  }

  private bindRpc(subject: string, handler: MessageHandler, extras: HandlerExtras): Promise<RpcServer> {
    const capacity = extras.capacity ?? this.options.capacity ?? 64;
    const queue = extras.queue ?? this.options.queue ?? subject;
    const handle = this.handling<{ head: unknown; body?: Uint8Array }>(handler, subject);
    return this.rpc.serve(subject, { queue, capacity }, (head, body, signal, trace) =>
      handle({ head, body }, { redelivered: false, signal, trace }),
    );
  }

  private bindEvent(pattern: string, handler: MessageHandler, extras: HandlerExtras): void {
    const subscription = this.options.link.nc.subscribe(pattern, {
      queue: extras.queue,
      callback: (error, msg) => {
        if (error !== null) return this.logger.error(error);
        void this.onEvent(this.handling(handler, msg.subject), msg.data);
      },
    });
    this.subscriptions.push(subscription);
  }

  private async onEvent(
    handle: (body: unknown, delivery: Delivery) => Promise<unknown>,
    data: Uint8Array,
  ): Promise<void> {
    try {
      const body: unknown = data.length === 0 ? null : JSON.parse(Buffer.from(data).toString());
      await handle(body, { redelivered: false, trace: undefined });
    } catch (error) {
      this.logger.error(error);
    }
  }

  /** The handler as the bus calls it: all that it emits becomes one value. */
  private handling<R>(handler: MessageHandler, subject: string): (payload: unknown, delivery: Delivery) => Promise<R> {
    const { activatesTraces = false, link } = this.options;
    const handle = async (payload: unknown, { redelivered, trace, signal = null }: Delivery): Promise<R> => {
      const result: unknown = await handler(payload, new NatsContext([{ subject, redelivered, signal, trace }]));
      return lastValueFrom(this.transformToObservable(result as Promise<R>), { defaultValue: undefined as R });
    };
    if (!activatesTraces) return handle;
    return (payload, delivery) => link.tracer.within(delivery.trace, () => handle(payload, delivery));
  }
}
