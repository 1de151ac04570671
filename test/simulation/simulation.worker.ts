/**
 * Runs the worlds of a span of seeds in a thread of its own. Jest's sandbox makes every access to a global slow, which costs
 * a simulation three fifths of its time; and threads use all cores.
 */
import { appendFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { InvariantError } from '@troupe/actors';
import { CrawlWorld } from './crawl-world.js';
import { ExtractWorld } from './extract-world.js';
import { CRAWL_MUTANTS, EXTRACT_MUTANTS } from './mutants.js';
import { TroubleWorld } from './trouble-world.js';

export type WorldKind = 'crawl' | 'extract' | 'trouble';

export interface SeedSpan {
  /** Name of a planted error, null for none. */
  mutant: string | null;
  first: number;
  last: number;
  /** The span ends early with so many failures. */
  maxFailures: number;
  /** File that gets every event, a line each; null: none does. */
  traceFile: string | null;
}

export interface SeedFailure {
  seed: number;
  message: string;
}

interface World {
  run(): Promise<void>;
}

type Trace = (line: string) => void;

/** Makes the world of a seed, with one error planted or none. */
type Maker = (seed: number, mutant: string | null, trace: Trace | null) => World;

function planted<M>(mutants: Record<string, M>, name: string | null): M | undefined {
  if (name !== null && mutants[name] === undefined) throw new Error(`no planted error is called ${name}`);
  return name === null ? undefined : mutants[name];
}

const MAKERS: Record<WorldKind, Maker> = {
  crawl: (seed, mutant, trace) => new CrawlWorld(seed, planted(CRAWL_MUTANTS, mutant), trace),
  trouble: (seed, _mutant, trace) => new TroubleWorld(seed, trace),
  extract: (seed, mutant, trace) => new ExtractWorld(seed, planted(EXTRACT_MUTANTS, mutant), trace),
};

const makeWorld = MAKERS[workerData as WorldKind];

async function failureOf(seed: number, mutant: string | null, trace: Trace | null): Promise<string | null> {
  const world = makeWorld(seed, mutant, trace);
  try {
    await world.run();
    return null;
  } catch (error) {
    if (error instanceof InvariantError) return error.message;
    throw error;
  }
}

async function runSpan({ mutant, first, last, maxFailures, traceFile }: SeedSpan): Promise<SeedFailure[]> {
  const failures: SeedFailure[] = [];
  const trace = traceFile === null ? null : (line: string) => appendFileSync(traceFile, `${line}\n`);
  for (let seed = first; seed <= last && failures.length < maxFailures; seed++) {
    const message = await failureOf(seed, mutant, trace);
    if (message !== null) failures.push({ seed, message });
  }
  return failures;
}

parentPort?.on('message', (span: SeedSpan) => {
  // An error that is no verdict ends the thread, which the spec is told.
  void runSpan(span).then((failures) => parentPort?.postMessage(failures));
});
