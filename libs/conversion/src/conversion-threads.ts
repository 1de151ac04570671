import { TroupeError, errorFromWire, type ConvertRequest, type ConvertResult, type Converter } from '@troupe/contracts';
import { Worker } from 'node:worker_threads';
import { ownBytes, resultFromWire, type Task, type WorkerReply, type WorkerSettings } from './worker-protocol.js';

export interface ConversionThreadsOptions {
  threads: number;
  /** Longest time that one page may keep a thread. */
  timeoutMs(request: ConvertRequest): number;
  /** Pages that may wait for a thread. */
  maxQueue: number;
  /** Heap of one thread; a page that needs more fails alone. */
  maxHeapMb: number;
  /**
   * Pages are quick: a busy thread is given some ahead, and finishes pages that are not wanted any more. Files are not: none
   * waits behind another, and a thread ends with the interest in its file.
   */
  isQuick: boolean;
  settings: WorkerSettings;
}

interface Job {
  request: ConvertRequest;
  /** Size of its body, which the request may lose to a thread. */
  bytes: number;
  resolve(result: ConvertResult): void;
  reject(error: unknown): void;
  release(): void;
  isSettled: boolean;
}

interface Thread {
  worker: Worker;
  isReady: boolean;
  /** The first one runs; the others lie ready in the thread. */
  jobs: Job[];
  /** Size of the bodies of `jobs`. */
  bytes: number;
  /** Deadline of the page that runs. */
  timer: NodeJS.Timeout | null;
}

/**
 * Number of pages that a busy thread is given ahead. The event loop of a busy process comes round too late to feed it page by page: a
 * third of the time it would have nothing to do. Few bytes, so that no page waits behind a large one.
 */
const MAX_AHEAD_PAGES = 12;
const MAX_AHEAD_BYTES = 512 * 1024;

/**
 * Worker threads of this process. They start when pages come, the first one when it is asked for, and stay; a page that
 * keeps its thread beyond the time limit, or kills it, fails alone and the thread is replaced.
 */
export class ConversionThreads implements Converter {
  private readonly threads = new Set<Thread>();
  private readonly queue: Job[] = [];
  private nextId = 1;
  private isStopped = false;

  constructor(private readonly options: ConversionThreadsOptions) {}

  /** Starts a first thread, so that no page waits until one has loaded its code. */
  start(): void {
    if (!this.isStopped && this.threads.size === 0) this.startThread();
  }

  convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.isStopped)
      return Promise.reject(new TroupeError('UNKNOWN_ERROR', 'The converter is stopped', { retryable: true }));
    if (this.queue.length >= this.options.maxQueue) {
      return Promise.reject(
        new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'Too many pages wait for conversion', { retryable: true }),
      );
    }
    return new Promise((resolve, reject) => {
      this.queue.push(this.createJob(request, { resolve, reject }, signal));
      this.dispatch();
    });
  }

  /** Ends all threads; pages that have not been converted are rejected. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const error = new TroupeError('UNKNOWN_ERROR', 'The converter is stopped', { retryable: true });
    const ended = [...this.threads].map((thread) => this.discard(thread, error));
    for (const job of this.queue.splice(0)) this.settle(job, () => job.reject(error));
    await Promise.all(ended);
  }

  private createJob(
    request: ConvertRequest,
    promise: Pick<Job, 'resolve' | 'reject'>,
    signal: AbortSignal | undefined,
  ): Job {
    const onAbort = (): void => this.abandon(job, abortReason(signal));
    const release = (): void => signal?.removeEventListener('abort', onAbort);
    const job: Job = { request, bytes: request.body.byteLength, ...promise, release, isSettled: false };
    signal?.addEventListener('abort', onAbort, { once: true });
    return job;
  }

  /** A waiting page leaves the queue. A quick one that a thread has is finished, and its result is dropped. */
  private abandon(job: Job, reason: unknown): void {
    const at = this.queue.indexOf(job);
    if (at >= 0) this.queue.splice(at, 1);
    const thread = this.options.isQuick ? undefined : [...this.threads].find(({ jobs }) => jobs[0] === job);
    if (thread !== undefined) return void this.discard(thread, reason);
    this.settle(job, () => job.reject(reason));
  }

  private settle(job: Job, end: () => void): void {
    job.release();
    job.isSettled = true;
    end();
  }

  private dispatch(): void {
    if (this.isStopped) return;
    for (let job = this.queue[0]; job !== undefined; job = this.queue[0]) {
      const thread = this.threadFor(job);
      if (thread === null) break;
      this.queue.shift();
      this.run(thread, job);
    }
    const starting = [...this.threads].filter((thread) => !thread.isReady).length;
    if (this.queue.length > starting && this.threads.size < this.options.threads) this.startThread();
  }

  /** The thread with the fewest pages, null when all have enough. */
  private threadFor(job: Job): Thread | null {
    let best: Thread | null = null;
    for (const thread of this.threads) {
      if (thread.isReady && (best === null || thread.jobs.length < best.jobs.length)) best = thread;
    }
    return best !== null && (best.jobs.length === 0 || this.hasRoom(best, job)) ? best : null;
  }

  private hasRoom(thread: Thread, job: Job): boolean {
    if (!this.options.isQuick || this.threads.size < this.options.threads) return false;
    if (thread.jobs.length > MAX_AHEAD_PAGES) return false;
    return thread.bytes + job.bytes <= MAX_AHEAD_BYTES;
  }

  private startThread(): void {
    const worker = new Worker(new URL('./convert.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.options.maxHeapMb },
      workerData: this.options.settings,
    });
    const thread: Thread = { worker, isReady: false, jobs: [], bytes: 0, timer: null };
    this.threads.add(thread);
    worker.on('message', (message: WorkerReply) => this.onReply(thread, message));
    worker.on('error', (error) => this.onDeath(thread, error));
    worker.on('exit', () => this.onDeath(thread, new Error('a conversion thread ended')));
  }

  private run(thread: Thread, job: Job): void {
    const isAhead = thread.jobs.length > 0;
    thread.jobs.push(job);
    thread.bytes += job.bytes;
    // A page that waits in the thread is copied: another thread gets it when this one ends before.
    const body = isAhead ? new Uint8Array(job.request.body) : ownBytes(job.request.body);
    const task: Task = { id: this.nextId++, request: { ...job.request, body } };
    thread.worker.postMessage(task, [body.buffer]);
    if (isAhead) return;
    thread.worker.ref();
    this.startClock(thread, job);
  }

  private startClock(thread: Thread, job: Job): void {
    const limitMs = this.options.timeoutMs(job.request);
    thread.timer = setTimeout(() => void this.discard(thread, tookTooLong(job.request, limitMs)), limitMs);
  }

  private onReply(thread: Thread, message: WorkerReply): void {
    if (message.type === 'ready') thread.isReady = true;
    else
      this.finish(thread, (job) =>
        message.type === 'done'
          ? job.resolve(resultFromWire(message.result))
          : job.reject(errorFromWire(message.error)),
      );
    const [next] = thread.jobs;
    if (next !== undefined) this.startClock(thread, next);
    this.dispatch();
    if (thread.jobs.length === 0) thread.worker.unref();
  }

  /** Ends the page that runs. */
  private finish(thread: Thread, end: (job: Job) => void): void {
    if (thread.timer !== null) clearTimeout(thread.timer);
    thread.timer = null;
    const job = thread.jobs.shift();
    if (job === undefined) return;
    thread.bytes -= job.bytes;
    this.settle(job, () => end(job));
  }

  /** Ends the thread and its page; other pages get another thread. */
  private async discard(thread: Thread, error: unknown): Promise<void> {
    if (!this.threads.delete(thread)) return;
    this.giveUp(thread, error);
    await thread.worker.terminate();
  }

  private onDeath(thread: Thread, cause: Error): void {
    if (!this.threads.delete(thread)) return;
    const error = deathOf(cause);
    if (!thread.isReady && this.threads.size === 0) {
      for (const job of this.queue.splice(0)) this.settle(job, () => job.reject(error));
    }
    this.giveUp(thread, error);
  }

  /** Fails the page that ran; those behind it stand first in the queue again. */
  private giveUp(thread: Thread, error: unknown): void {
    this.finish(thread, (job) => job.reject(error));
    this.queue.unshift(...thread.jobs.filter((job) => !job.isSettled));
    this.dispatch();
  }
}

function tookTooLong({ url }: ConvertRequest, limitMs: number): TroupeError {
  const message = `Converting the page took longer than ${limitMs} ms`;
  return new TroupeError('SCRAPE_TIMEOUT', message, { details: { url } });
}

function deathOf(cause: Error): TroupeError {
  if ((cause as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
    const message = 'The page or file needs more memory than one conversion may have';
    return new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', message, { cause });
  }
  return new TroupeError('UNKNOWN_ERROR', `The page could not be converted: ${cause.message}`, { cause });
}

function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error
    ? signal.reason
    : new DOMException('The conversion was cancelled', 'AbortError');
}
