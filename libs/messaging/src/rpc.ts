/**
 * Request/reply with backpressure (design/messages.md §4). A server at capacity leaves its queue group, so a request
 * that nobody can take fails within a millisecond and is tried again; nothing ever waits in an unbounded queue.
 */
import type { Subscription } from '@nats-io/nats-core';
import { createInbox, type Msg } from '@nats-io/nats-core';
import { abortSubject, errorFromWire, TroupeError, type ErrorWire } from '@troupe/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NatsLink } from './nats-link.js';
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
  type PackedFrame,
} from './rpc-wire.js';

export interface RpcCallOptions {
  /** Budget of the whole call. */
  timeoutMs: number;
  /** Ends the call and, when the head has an `id`, the work at the server. */
  signal?: AbortSignal;
  /** Asked while nobody takes the request; false ends the wait for a free place. @default always true */
  isServed?: () => boolean;
}

type Attempt = { answer: Msg } | 'nobody' | 'silent' | 'timeout';

interface Pending {
  settle(attempt: Attempt): void;
  beat(): void;
}

const NO_RESPONDERS = 503;
const RETRY_MIN_MS = 25;
const RETRY_MAX_MS = 100;
/** A server that stops beating for this long is taken for dead. */
const SILENCE_MS = 2.5 * BEAT_MS;

export class Rpc {
  readonly #pending = new Map<string, Pending>();
  readonly #aborts: RpcAborts;
  #inbox = '';
  #replies: Subscription | null = null;
  #calls = 0;

  constructor(private readonly link: NatsLink) {
    this.#aborts = new RpcAborts(link);
  }

  /**
   * Rejects with what the server threw; with CONCURRENCY_QUEUE_TIMEOUT when no server had a free place for two thirds
   * of the time, or nobody serves the subject any more; with SCRAPE_TIMEOUT when the time is up; with the signal's reason when it aborts. A server that dies
   * is replaced by another once.
   */
  async call<H>(subject: string, head: object, body: Uint8Array | null, options: RpcCallOptions): Promise<RpcFrame<H>> {
    options.signal?.throwIfAborted();
    const frame = await packFrame(head, body, this.link.nc.info?.max_payload ?? 0);
    const deadline = performance.now() + options.timeoutMs;
    const patience = deadline - options.timeoutMs / 3;
    let deaths = 0;
    for (;;) {
      const attempt = await this.#attempt(subject, frame, { deadline, head, signal: options.signal });
      if (attempt === 'timeout') throw timedOut(subject, options.timeoutMs);
      if (attempt === 'silent' && ++deaths > 1) throw serverLost(subject);
      if (attempt === 'nobody') await this.#waitForRoom(subject, patience, options);
      if (typeof attempt === 'object') return this.#read<H>(attempt.answer);
    }
  }

  /** Handles at most `capacity` requests at a time and takes part in the queue group only below that. */
  async serve(subject: string, options: RpcServeOptions, handler: RpcHandler): Promise<RpcServer> {
    const service = new RpcService(this.link, { subject, ...options, handler, aborts: this.#aborts });
    await service.start();
    return service;
  }

  async #attempt(
    subject: string,
    frame: PackedFrame,
    call: { deadline: number; head: object; signal?: AbortSignal },
  ): Promise<Attempt> {
    const { deadline, head, signal } = call;
    const token = (++this.#calls).toString(36);
    const reply = `${this.#replyInbox()}.${token}`;
    let silence: NodeJS.Timeout | undefined;
    let timeout: NodeJS.Timeout | undefined;
    let onAbort: (() => void) | undefined;
    try {
      return await new Promise<Attempt>((resolve, reject) => {
        const watchSilence = () => {
          clearTimeout(silence);
          silence = setTimeout(() => resolve('silent'), SILENCE_MS);
        };
        this.#pending.set(token, { settle: resolve, beat: watchSilence });
        onAbort = () => {
          this.#abort(head);
          reject(signal!.reason instanceof Error ? signal!.reason : new Error('aborted'));
        };
        signal?.throwIfAborted();
        signal?.addEventListener('abort', onAbort, { once: true });
        timeout = setTimeout(
          () => {
            this.#abort(head);
            resolve('timeout');
          },
          Math.max(0, deadline - performance.now()),
        );
        watchSilence();
        if (this.link.isUp()) this.link.nc.publish(subject, frame.data, { reply, headers: frame.headers });
        else resolve('nobody');
      });
    } finally {
      clearTimeout(silence);
      clearTimeout(timeout);
      if (onAbort !== undefined) signal?.removeEventListener('abort', onAbort);
      this.#pending.delete(token);
    }
  }

  async #read<H>(answer: Msg): Promise<RpcFrame<H>> {
    const error = answer.headers?.get(ERROR_HEADER) ?? '';
    if (error !== '') throw errorFromWire(JSON.parse(error) as ErrorWire);
    return unpackFrame<H>(answer.data, answer.headers);
  }

  async #waitForRoom(
    subject: string,
    patience: number,
    { signal, isServed = () => true }: RpcCallOptions,
  ): Promise<void> {
    if (performance.now() >= patience || !isServed()) {
      throw new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', `No worker had a free place for ${subject} in time`, {
        retryable: true,
      });
    }
    await sleep(RETRY_MIN_MS + Math.random() * (RETRY_MAX_MS - RETRY_MIN_MS), undefined, { signal }).catch(() =>
      signal?.throwIfAborted(),
    );
  }

  #abort(head: object): void {
    const id = 'id' in head && typeof head.id === 'string' ? head.id : null;
    if (id !== null && this.link.isUp()) this.link.nc.publish(abortSubject(id));
  }

  /** One subscription for all calls of this process. */
  #replyInbox(): string {
    if (this.#replies === null) {
      this.#inbox = createInbox();
      this.#replies = this.link.nc.subscribe(`${this.#inbox}.*`, {
        callback: (error, msg) => {
          if (error === null) this.#onReply(msg);
        },
      });
    }
    return this.#inbox;
  }

  #onReply(msg: Msg): void {
    const pending = this.#pending.get(msg.subject.slice(this.#inbox.length + 1));
    if (pending === undefined) return;
    if (msg.headers?.has(BEAT_HEADER)) return pending.beat();
    const isUnserved =
      (msg.headers?.code === NO_RESPONDERS && msg.data.length === 0) || msg.headers?.has(BUSY_HEADER) === true;
    pending.settle(isUnserved ? 'nobody' : { answer: msg });
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
