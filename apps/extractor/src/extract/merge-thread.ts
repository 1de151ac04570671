/** Merges of many facts, in a thread of their own: one at a time. Few facts are merged where they are. */
import { Worker } from 'node:worker_threads';
import type { JsonSchema } from '@troupe/contracts';
import { mergeValues, type MergedValue, type SourcedValue } from '@troupe/extraction';
import type { MergeReply, MergeTask } from './merge.worker.js';

/** Facts that are merged within a few milliseconds. */
const FEW_FACTS = 500;
/** The thread is ended when it does not keep to its time. */
const KILL_MS = 60_000;
const MAX_HEAP_MB = 1024;

export interface Merger {
  merge(schema: JsonSchema | null, values: SourcedValue[]): Promise<MergedValue>;
}

export class MergeThread implements Merger {
  #worker: Worker | null = null;
  #settle: ((reply: MergeReply) => void) | null = null;
  #tail: Promise<unknown> = Promise.resolve();

  /** @throws when the thread gives up on it */
  async merge(schema: JsonSchema | null, values: SourcedValue[]): Promise<MergedValue> {
    if (isSmall(values)) return mergeValues(schema, values);
    const turn = this.#tail.then(() => this.#run({ schema, values }));
    this.#tail = turn.catch(() => undefined);
    const reply = await turn;
    if ('error' in reply) throw new Error(`the facts could not be merged: ${reply.error}`);
    return reply.merged;
  }

  async stop(): Promise<void> {
    await this.#worker?.terminate();
  }

  async #run(task: MergeTask): Promise<MergeReply> {
    const worker = (this.#worker ??= this.#start());
    const timer = setTimeout(() => void worker.terminate(), KILL_MS);
    worker.ref();
    try {
      return await new Promise<MergeReply>((settle) => {
        this.#settle = settle;
        worker.postMessage(task);
      });
    } finally {
      clearTimeout(timer);
      worker.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./merge.worker.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.on('message', (reply: MergeReply) => this.#settle?.(reply));
    // The end follows, whatever it died of.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.#worker = null;
      this.#settle?.({ error: 'the thread ended' });
    });
    return worker;
  }
}

function isSmall(values: readonly SourcedValue[]): boolean {
  let left = FEW_FACTS;
  const count = (value: unknown): void => {
    if (--left < 0 || typeof value !== 'object' || value === null) return;
    for (const inner of Object.values(value)) count(inner);
  };
  for (const { value } of values) count(value);
  return left >= 0;
}
