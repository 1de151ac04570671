/**
 * Runs the worlds of a span of seeds in a thread of its own. Jest's sandbox makes every access to a global slow, which costs
 * a simulation three fifths of its time; and threads use all cores.
 */
import { appendFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { InvariantError } from '@troupe/actors';
import { CrawlWorld } from './crawl-world.js';
import type { FaultKind } from './faults.js';
import { ModelWorld } from './model-world.js';
import { CRAWL_MUTANTS, MODEL_MUTANTS, RUNTIME_MUTANTS, type Mutant } from './mutants.js';
import type { WorldOptions } from './stage.js';
import { TroubleWorld } from './trouble-world.js';

export type WorldKind = 'crawl' | 'model' | 'trouble' | 'runtime';

export interface SeedSpan {
  /** Name of a planted error, null for none. */
  mutant: string | null;
  first: number;
  last: number;
  /** The span ends early with so many failures. */
  maxFailures: number;
  /** Faults that do not happen. */
  dropped: readonly FaultKind[];
  /** File that gets every event, a line each; null: none does. */
  traceFile: string | null;
}

export interface SeedFailure {
  seed: number;
  /** Its number. */
  invariant: string;
  message: string;
  /** Kinds of faults that have shown themselves until then. */
  faults: readonly FaultKind[];
}

interface World {
  run(): Promise<void>;
  readonly faults: readonly FaultKind[];
}

interface Theatre {
  mutants: Record<string, Mutant>;
  make(seed: number, options: WorldOptions): World;
}

const THEATRES: Record<WorldKind, Theatre> = {
  crawl: { mutants: CRAWL_MUTANTS, make: (seed, options) => new CrawlWorld(seed, options) },
  trouble: { mutants: {}, make: (seed, options) => new TroubleWorld(seed, options) },
  model: { mutants: MODEL_MUTANTS, make: (seed, options) => new ModelWorld(seed, options) },
  runtime: {
    mutants: RUNTIME_MUTANTS,
    make: (seed, options) => new CrawlWorld(seed, { ...options, hasRuntime: true }),
  },
};

const theatre = THEATRES[workerData as WorldKind];

function mutantOf(name: string | null): Mutant | undefined {
  if (name !== null && theatre.mutants[name] === undefined) throw new Error(`no planted error is called ${name}`);
  return name === null ? undefined : theatre.mutants[name];
}

async function failureOf(seed: number, options: WorldOptions): Promise<SeedFailure | null> {
  const world = theatre.make(seed, options);
  try {
    await world.run();
    return null;
  } catch (error) {
    if (!(error instanceof InvariantError)) throw new Error(`seed ${seed}`, { cause: error });
    return { seed, invariant: error.invariant, message: error.message, faults: world.faults };
  }
}

async function runSpan({ mutant, first, last, maxFailures, dropped, traceFile }: SeedSpan): Promise<SeedFailure[]> {
  const failures: SeedFailure[] = [];
  const trace = traceFile === null ? null : (line: string) => appendFileSync(traceFile, `${line}\n`);
  const mutation = mutantOf(mutant);
  for (let seed = first; seed <= last && failures.length < maxFailures; seed++) {
    const failure = await failureOf(seed, { mutation, dropped, trace });
    if (failure !== null && (mutation === undefined || mutation.caughtBy === failure.invariant)) failures.push(failure);
  }
  return failures;
}

parentPort?.on('message', (span: SeedSpan) => {
  // An error that is no verdict ends the thread, which the spec is told.
  void runSpan(span).then((failures) => parentPort?.postMessage(failures));
});
