/** As many threads as there are cores, which share the seeds among them. */
import { once } from 'node:events';
import os from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SeedFailure, SeedSpan, WorldKind } from './simulation.worker.js';

const MAX_THREADS = 4;
/** Seeds that a thread takes at a time: less than a second of work. */
const SPAN = 10;

export class SimulationThreads {
  private readonly threads: Worker[];

  constructor(world: WorldKind) {
    const program = new URL('./simulation.worker.js', import.meta.url);
    const count = Math.min(MAX_THREADS, os.availableParallelism());
    this.threads = Array.from({ length: count }, () => new Worker(program, { workerData: world }));
  }

  /** Failures of the seeds from 1 to `seeds`, lowest seed first; no further spans are begun after `maxFailures`. */
  async failures(mutant: string | null, seeds: number, maxFailures: number): Promise<SeedFailure[]> {
    const found: SeedFailure[] = [];
    let next = 1;
    const drain = async (thread: Worker): Promise<void> => {
      while (next <= seeds && found.length < maxFailures) {
        const first = next;
        next += SPAN;
        const span: SeedSpan = { mutant, first, last: Math.min(seeds, first + SPAN - 1), maxFailures };
        thread.postMessage(span);
        // Rejects when the thread fails.
        const [failures] = (await once(thread, 'message')) as [SeedFailure[]];
        found.push(...failures);
      }
    };
    await Promise.all(this.threads.map(drain));
    return found.sort((a, b) => a.seed - b.seed).slice(0, maxFailures);
  }

  async stop(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }
}
