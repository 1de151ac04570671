/**
 * Request/reply with backpressure (docs/design/messages.md, "Request and reply"). A server at capacity leaves its queue group, so a request
 * that no server can take fails within a millisecond and is tried again; nothing ever waits in an unbounded queue.
 */
import type { Subscription } from '@nats-io/nats-core';
import { createInbox, type Msg } from '@nats-io/nats-core';
import { abortSubject, errorFromWire, inSpan, TroupeError, type ErrorWire, type TraceParent } from '@troupe/contracts';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from './nats-link.js';
import { ABSENCES, ASK_EVERY_MS, announcePresence, isAbsent } from './presence.js';
import type { RpcFrame } from './rpc-frame.js';
import { RpcAborts } from './rpc-aborts.js';
import { RpcService, type RpcHandler, type RpcServeOptions, type RpcServer } from './rpc-service.js';
import {
  BEAT_HEADER,
  BEAT_MS,
  BUSY_HEADER,
  ERROR_HEADER,
  packFrame,
  unpackFrame,
  withTrace,
  type PackedFrame,
} from './rpc-wire.js';

export interface RpcCallOptions {
  /** Budget of the whole call. */
  timeoutMs: number;
  /** Ends the call and, when the head has an `id`, the work at the server. */
  signal?: AbortSignal;
  /** Asked while no server takes the request; false ends the wait for a free place. @default always true */
  isServed?: () => boolean;
  /** For work that must not be done twice: the error of a call whose server is gone. @default another server is asked */
  whenLost?: () => TroupeError;
  /** Trace of what the call is made for, when it is recorded. @default that of the running code */
  trace?: TraceParent;
}

/** Outcome of a request: an answer, no free server, no beat for too long, no time left. */
type Heard = { answer: Msg } | 'unserved' | 'silent' | 'timeout';

const NO_RESPONDERS = 503;
const RETRY_MIN_MS = 25;
const RETRY_MAX_MS = 100;
/** A server that stops beating for this long is taken for dead. */
const SILENCE_MS = 5_000;
/** One that misses a beat is asked for. */
const DOUBT_MS = 1.5 * BEAT_MS;

export class Rpc {
  private readonly pending = new Map<string, PendingCall>();
  private readonly aborts: RpcAborts;
  private inbox = '';
  private replies: Subscription | null = null;
  private presence: string | null = null;
  private calls = 0;

  constructor(private readonly link: NatsLink) {
    this.aborts = new RpcAborts(link);
  }

  /**
   * Rejects with what the server threw; with CONCURRENCY_QUEUE_TIMEOUT when no server had a free place for two thirds
   * of the time, or no process serves the subject any more; with SCRAPE_TIMEOUT when the time is up; with the signal's reason
   * when it aborts. When a server falls silent, or is gone from NATS, another is asked, once; the silent one may still
   * answer first.
   */
  async call<H>(subject: string, head: object, body: Uint8Array | null, options: RpcCallOptions): Promise<RpcFrame<H>> {
    const { signal, trace = this.link.tracer.active() } = options;
    signal?.throwIfAborted();
    return inSpan(this.link.tracer, [`request ${subject}`, trace, { kind: 'client' }], async ({ context }) => {
      const frame = await packFrame(head, body, this.link.nc.info?.max_payload ?? 0);
      return this.callPacked<H>(subject, head, withTrace(frame, context), options);
    });
  }

  private async callPacked<H>(
    subject: string,
    head: object,
    frame: PackedFrame,
    options: RpcCallOptions,
  ): Promise<RpcFrame<H>> {
    const { signal, timeoutMs, whenLost } = options;
    const roomUntil = performance.now() + (timeoutMs * 2) / 3;
    const call = new PendingCall(timeoutMs, signal, (server) => isAbsent(this.link, server));
    let silences = 0;
    let isAnswered = false;
    try {
      for (;;) {
        if (!call.hasHeard()) this.ask(subject, frame, call);
        const heard = await call.next();
        isAnswered = typeof heard === 'object';
        if (typeof heard === 'object') return await this.read<H>(heard.answer);
        if (heard === 'timeout') throw timedOut(subject, timeoutMs);
        if (heard === 'silent' && whenLost !== undefined) throw whenLost();
        if (heard === 'silent' && ++silences > 1) throw serverLost(subject);
        if (heard === 'unserved') await this.waitForRoom(subject, roomUntil, options);
      }
    } finally {
      for (const token of call.close()) this.pending.delete(token);
      if (!isAnswered || silences > 0) this.abort(head);
    }
  }

  /** Handles at most `capacity` requests at a time and takes part in the queue group only below that. */
  async serve(subject: string, options: RpcServeOptions, handler: RpcHandler): Promise<RpcServer> {
    if (this.presence === null) announcePresence(this.link, (this.presence = randomUUID()));
    const presence = this.presence;
    const service = new RpcService(this.link, { subject, ...options, handler, aborts: this.aborts, presence });
    await service.start();
    return service;
  }

  private ask(subject: string, frame: PackedFrame, call: PendingCall): void {
    const reply = `${this.replyInbox()}.`;
    const token = (++this.calls).toString(36);
    this.pending.set(token, call);
    call.asked(token);
    if (this.link.isUp()) this.link.nc.publish(subject, frame.data, { reply: reply + token, headers: frame.headers });
    else call.hear('unserved');
  }

  private async read<H>(answer: Msg): Promise<RpcFrame<H>> {
    const error = answer.headers?.get(ERROR_HEADER) ?? '';
    if (error !== '') throw errorFromWire(JSON.parse(error) as ErrorWire);
    return unpackFrame<H>(answer.data, answer.headers);
  }

  private async waitForRoom(
    subject: string,
    roomUntil: number,
    { signal, isServed = () => true }: RpcCallOptions,
  ): Promise<void> {
    if (performance.now() >= roomUntil || !isServed()) {
      throw new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', `No worker had a free place for ${subject} in time`, {
        retryable: true,
      });
    }
    await sleep(RETRY_MIN_MS + Math.random() * (RETRY_MAX_MS - RETRY_MIN_MS), undefined, { signal }).catch(() =>
      signal?.throwIfAborted(),
    );
  }

  private abort(head: object): void {
    const id = 'id' in head && typeof head.id === 'string' ? head.id : null;
    if (id !== null && this.link.isUp()) this.link.nc.publish(abortSubject(id));
  }

  /** One subscription for all calls of this process. */
  private replyInbox(): string {
    if (this.replies === null) {
      this.inbox = createInbox();
      this.replies = this.link.nc.subscribe(`${this.inbox}.*`, {
        callback: (error, msg) => {
          if (error === null) this.onReply(msg);
        },
      });
    }
    return this.inbox;
  }

  private onReply(msg: Msg): void {
    const pending = this.pending.get(msg.subject.slice(this.inbox.length + 1));
    if (pending === undefined) return;
    if (msg.headers?.has(BEAT_HEADER)) return pending.beat(msg.headers.get(BEAT_HEADER));
    const isUnserved =
      (msg.headers?.code === NO_RESPONDERS && msg.data.length === 0) || msg.headers?.has(BUSY_HEADER) === true;
    pending.hear(isUnserved ? 'unserved' : { answer: msg });
  }
}

/** A request under way, whatever number of servers it was sent to. */
class PendingCall {
  private readonly tokens: string[] = [];
  private readonly heard: Heard[] = [];
  private readonly timeout: NodeJS.Timeout;
  private silence: NodeJS.Timeout | undefined;
  private doubt: NodeJS.Timeout | undefined;
  private isClosed = false;
  private wake: (() => void) | null = null;
  private readonly onAbort = () => this.wake?.();

  constructor(
    timeoutMs: number,
    private readonly signal: AbortSignal | undefined,
    private readonly isAbsent: (server: string) => Promise<boolean>,
  ) {
    this.timeout = setTimeout(() => this.hear('timeout'), timeoutMs);
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  /** The request went out once more; its replies carry `token`. */
  asked(token: string): void {
    this.tokens.push(token);
    this.beat();
  }

  /** @param server where the server that works on it is present; null: not known yet */
  beat(server: string | null = null): void {
    clearTimeout(this.silence);
    clearTimeout(this.doubt);
    this.silence = setTimeout(() => this.hear('silent'), SILENCE_MS);
    if (server !== null) this.doubt = setTimeout(() => void this.askFor(server, ABSENCES), DOUBT_MS);
  }

  /** @param left absences that are still missing before it counts as gone */
  private async askFor(server: string, left: number): Promise<void> {
    const doubt = this.doubt;
    const isAbsent = await this.isAbsent(server);
    if (doubt !== this.doubt || this.isClosed) return;
    if (isAbsent && left === 1) {
      clearTimeout(this.silence);
      return this.hear('silent');
    }
    this.doubt = setTimeout(() => void this.askFor(server, isAbsent ? left - 1 : ABSENCES), ASK_EVERY_MS);
  }

  hear(heard: Heard): void {
    this.heard.push(heard);
    this.wake?.();
  }

  hasHeard(): boolean {
    return this.heard.length > 0;
  }

  /** Rejects with the signal's reason. An answer that has come is the only thing that counts. */
  async next(): Promise<Heard> {
    if (!this.hasHeard() && !this.signal?.aborted) await new Promise<void>((resolve) => (this.wake = resolve));
    this.signal?.throwIfAborted();
    const answer = this.heard.find((heard) => typeof heard === 'object');
    return answer ?? this.heard.shift()!;
  }

  /** Ends the call. Returns the tokens that it was known by. */
  close(): readonly string[] {
    this.isClosed = true;
    clearTimeout(this.timeout);
    clearTimeout(this.silence);
    clearTimeout(this.doubt);
    this.signal?.removeEventListener('abort', this.onAbort);
    return this.tokens;
  }
}

function timedOut(subject: string, timeoutMs: number): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', `${subject} did not answer within ${timeoutMs} ms`, { retryable: true });
}

function serverLost(subject: string): TroupeError {
  return new TroupeError('UNKNOWN_ERROR', `Two workers died one after another while serving ${subject}`, {
    retryable: true,
  });
}
