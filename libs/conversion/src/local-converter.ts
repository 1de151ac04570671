import { TroupeError, errorFromWire, type ConvertRequest, type ConvertResult, type Converter } from '@troupe/contracts';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ownBytes, type WorkerReply } from './worker-protocol.js';

export interface LocalConverterOptions {
  /** Worker threads; 0 = cores - 1, at least 1. @default 0 */
  threads?: number;
  /** Longest time one page may keep a thread. @default 10000 */
  timeoutMs?: number;
  /** Pages that may wait for a thread. @default 1000 */
  maxQueue?: number;
  /** Heap of one thread; a page that needs more fails alone. @default 1024 */
  maxHeapMb?: number;
}

interface Job {
  request: ConvertRequest;
  resolve(result: ConvertResult): void;
  reject(error: unknown): void;
  release(): void;
}

interface Thread {
  worker: Worker;
  isReady: boolean;
  job: Job | null;
  timer: NodeJS.Timeout | null;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_QUEUE = 1000;
const DEFAULT_MAX_HEAP_MB = 1024;

/**
 * Converts in worker threads of this process. Threads start when pages come and stay; a page that keeps its thread
 * beyond the time limit, or kills it, fails alone and the thread is replaced.
 *
 * The buffer of `request.body` is handed to the thread: the caller must not use it afterwards.
 */
export class LocalConverter implements Converter {
  private readonly threads = new Set<Thread>();
  private readonly queue: Job[] = [];
  private readonly maxThreads: number;
  private readonly timeoutMs: number;
  private readonly maxQueue: number;
  private readonly maxHeapMb: number;
  private nextId = 1;
  private isStopped = false;

  constructor(options: LocalConverterOptions = {}) {
    this.maxThreads = options.threads || Math.max(1, availableParallelism() - 1);
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.maxQueue = options.maxQueue ?? DEFAULT_MAX_QUEUE;
    this.maxHeapMb = options.maxHeapMb ?? DEFAULT_MAX_HEAP_MB;
  }

  convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    if (this.isStopped)
      return Promise.reject(new TroupeError('UNKNOWN_ERROR', 'The converter is stopped', { retryable: true }));
    if (this.queue.length >= this.maxQueue) {
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
    for (const job of this.queue.splice(0)) this.settle(job, () => job.reject(error));
    await Promise.all([...this.threads].map((thread) => this.discard(thread, error)));
  }

  private createJob(
    request: ConvertRequest,
    promise: Pick<Job, 'resolve' | 'reject'>,
    signal: AbortSignal | undefined,
  ): Job {
    const onAbort = (): void => this.abandon(job, abortReason(signal));
    const job: Job = { request, ...promise, release: () => signal?.removeEventListener('abort', onAbort) };
    signal?.addEventListener('abort', onAbort, { once: true });
    return job;
  }

  /** A waiting page leaves the queue; a running one is finished by its thread, and nobody looks at the result. */
  private abandon(job: Job, reason: unknown): void {
    const at = this.queue.indexOf(job);
    if (at >= 0) this.queue.splice(at, 1);
    this.settle(job, () => job.reject(reason));
  }

  private settle(job: Job, end: () => void): void {
    job.release();
    end();
  }

  private dispatch(): void {
    for (const thread of this.threads) {
      if (this.queue.length === 0) return;
      if (thread.isReady && thread.job === null) this.run(thread, this.queue.shift()!);
    }
    const starting = [...this.threads].filter((thread) => !thread.isReady).length;
    if (this.queue.length > starting && this.threads.size < this.maxThreads) this.startThread();
  }

  private startThread(): void {
    const worker = new Worker(new URL('./convert.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.maxHeapMb },
    });
    const thread: Thread = { worker, isReady: false, job: null, timer: null };
    this.threads.add(thread);
    worker.on('message', (message: WorkerReply) => this.onReply(thread, message));
    worker.on('error', (error) => this.onDeath(thread, error));
    worker.on('exit', () => this.onDeath(thread, new Error('a conversion thread ended')));
  }

  private run(thread: Thread, job: Job): void {
    const body = ownBytes(job.request.body);
    thread.job = job;
    thread.timer = setTimeout(() => void this.discard(thread, this.timeout(job)), this.timeoutMs);
    thread.worker.ref();
    thread.worker.postMessage({ id: this.nextId++, request: { ...job.request, body } }, [body.buffer]);
  }

  private timeout(job: Job): TroupeError {
    const message = `Converting the page took longer than ${this.timeoutMs} ms`;
    return new TroupeError('SCRAPE_TIMEOUT', message, { details: { url: job.request.url } });
  }

  private onReply(thread: Thread, message: WorkerReply): void {
    if (message.type === 'ready') thread.isReady = true;
    else
      this.finish(thread, (job) =>
        message.type === 'done' ? job.resolve(message.result) : job.reject(errorFromWire(message.error)),
      );
    this.dispatch();
    if (thread.job === null) thread.worker.unref();
  }

  private finish(thread: Thread, end: (job: Job) => void): void {
    const { job } = thread;
    if (thread.timer !== null) clearTimeout(thread.timer);
    thread.timer = null;
    thread.job = null;
    if (job !== null) this.settle(job, () => end(job));
  }

  /** Ends the thread and its page; the next page starts a new thread. */
  private async discard(thread: Thread, error: TroupeError): Promise<void> {
    if (!this.threads.delete(thread)) return;
    this.finish(thread, (job) => job.reject(error));
    this.dispatch();
    await thread.worker.terminate();
  }

  private onDeath(thread: Thread, cause: Error): void {
    if (!this.threads.delete(thread)) return;
    const error = new TroupeError('UNKNOWN_ERROR', `The page could not be converted: ${cause.message}`, { cause });
    this.finish(thread, (job) => job.reject(error));
    if (!thread.isReady && this.threads.size === 0) {
      for (const job of this.queue.splice(0)) this.settle(job, () => job.reject(error));
    }
    this.dispatch();
  }
}

function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error
    ? signal.reason
    : new DOMException('The conversion was cancelled', 'AbortError');
}
