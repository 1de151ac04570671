/** As many threads as there are cores, which share the seeds among them. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { FAULT_KINDS, type FaultKind } from './faults.js';
import type { SeedRange } from './seeds.js';
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

  /** Failures of these seeds, lowest seed first; no further spans are begun after `maxFailures`. */
  async failures(mutant: string | null, seeds: SeedRange, maxFailures: number): Promise<SeedFailure[]> {
    const found: SeedFailure[] = [];
    let next = seeds.first;
    const drain = async (thread: Worker): Promise<void> => {
      while (next <= seeds.last && found.length < maxFailures) {
        const first = next;
        next += SPAN;
        const last = Math.min(seeds.last, first + SPAN - 1);
        found.push(...(await runSpan(thread, { mutant, first, last, maxFailures, dropped: [], traceFile: null })));
      }
    };
    await Promise.all(this.threads.map(drain));
    return found.sort((a, b) => a.seed - b.seed).slice(0, maxFailures);
  }

  /**
   * Runs one seed and hands its events to `print`, also those before an error that is no verdict; of one that fails, with no
   * more kinds of faults than it takes.
   */
  async trace(seed: number, print: (text: string) => void, mutant: string | null = null): Promise<SeedFailure[]> {
    const dropped = await this.shrink(seed, print, mutant);
    const folder = mkdtempSync(path.join(os.tmpdir(), 'troupe-trace-'));
    const traceFile = path.join(folder, 'events');
    writeFileSync(traceFile, '');
    try {
      return await this.runSeed(seed, dropped, { mutant, traceFile });
    } finally {
      print(readFileSync(traceFile, 'utf8'));
      rmSync(folder, { recursive: true });
    }
  }

  /** Kinds of faults that are not needed: without them the same invariant fails. */
  private async shrink(seed: number, print: (text: string) => void, mutant: string | null): Promise<FaultKind[]> {
    const [whole] = await this.runSeed(seed, [], { mutant });
    if (whole === undefined) return [];
    const unseen = FAULT_KINDS.filter((kind) => !whole.faults.includes(kind));
    const dropped: FaultKind[] = [];
    for (const kinds of [unseen, ...whole.faults.map((kind) => [kind])]) {
      const [still] = await this.runSeed(seed, [...dropped, ...kinds], { mutant });
      if (still?.invariant === whole.invariant) dropped.push(...kinds);
    }
    const needed = FAULT_KINDS.filter((kind) => !dropped.includes(kind));
    print(`seed ${seed} fails with no more than: ${needed.join(', ') || 'no faults at all'}\n`);
    return dropped;
  }

  private runSeed(
    seed: number,
    dropped: FaultKind[],
    rest: Pick<SeedSpan, 'mutant'> & Partial<Pick<SeedSpan, 'traceFile'>>,
  ): Promise<SeedFailure[]> {
    return runSpan(this.threads[0]!, { first: seed, last: seed, maxFailures: 1, dropped, traceFile: null, ...rest });
  }

  async stop(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.terminate()));
  }
}

async function runSpan(thread: Worker, span: SeedSpan): Promise<SeedFailure[]> {
  thread.postMessage(span);
  // Rejects when the thread fails.
  const [failures] = (await once(thread, 'message')) as [SeedFailure[]];
  return failures;
}

/** As specs print them. */
export function tell(failures: readonly SeedFailure[]): string[] {
  return failures.map(({ seed, message }) => `seed ${seed}: ${message}`);
}
