import type { ConvertRequest, ConvertResult, Converter } from '@troupe/contracts';
import { availableParallelism } from 'node:os';
import { ConversionThreads } from './conversion-threads.js';
import { kindOfFile } from './file-kind.js';

export interface LocalConverterOptions {
  /** Worker threads for pages; 0 = cores - 1, at least 1. @default 0 */
  threads?: number;
  /** Worker threads for files, which may take long; 0 = half of those for pages, at least 1. @default 0 */
  documentThreads?: number;
  /** Longest time one page may keep a thread; a file may take what its request says. @default 10000 */
  timeoutMs?: number;
  /** Pages that may wait for a thread; as many files may. @default 1000 */
  maxQueue?: number;
  /** Heap of one thread; a page that needs more fails alone. @default 1024 */
  maxHeapMb?: number;
  /** Program that recognises text in pictures; null: there is none. @default null */
  ocrCommand?: string | null;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_QUEUE = 1000;
const DEFAULT_MAX_HEAP_MB = 1024;
/** A file's reader ends by itself and says why; its thread is ended only when it does not. */
const GRACE_MS = 1000;

/**
 * Converts in worker threads of this process: files in threads of their own, so that no page waits behind one.
 *
 * The buffer of `request.body` is handed to the thread: the caller must not use it afterwards.
 */
export class LocalConverter implements Converter {
  private readonly pages: ConversionThreads;
  private readonly files: ConversionThreads;

  constructor(options: LocalConverterOptions = {}) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxQueue = DEFAULT_MAX_QUEUE, maxHeapMb = DEFAULT_MAX_HEAP_MB } = options;
    const threads = options.threads || Math.max(1, availableParallelism() - 1);
    const common = { maxQueue, maxHeapMb, settings: { ocrCommand: options.ocrCommand ?? null } };
    this.pages = new ConversionThreads({ ...common, threads, timeoutMs: () => timeoutMs, isQuick: true });
    this.files = new ConversionThreads({
      ...common,
      threads: options.documentThreads || Math.max(1, Math.floor(threads / 2)),
      timeoutMs: (request) => request.timeoutMs + GRACE_MS,
      isQuick: false,
    });
  }

  /** Starts a thread for pages before the first one comes. */
  start(): void {
    this.pages.start();
  }

  convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    const threads = kindOfFile(request) === null ? this.pages : this.files;
    return threads.convert(request, signal);
  }

  /** Ends all threads; pages that have not been converted are rejected. */
  async stop(): Promise<void> {
    await Promise.all([this.pages.stop(), this.files.stop()]);
  }
}
