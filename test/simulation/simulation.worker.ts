/**
 * Runs crawls of a span of seeds in a thread of its own. Jest's sandbox makes every access to a global slow, which costs
 * a simulation three fifths of its time; and threads use all cores.
 */
import { parentPort } from 'node:worker_threads';
import { InvariantError } from '@troupe/actors';
import { CrawlWorld, type Mutation } from './crawl-world.js';
import { MUTANTS } from './mutants.js';

export interface SeedSpan {
  /** Name of a planted error, null for none. */
  mutant: string | null;
  first: number;
  last: number;
  /** The span ends early with so many failures. */
  maxFailures: number;
}

export interface SeedFailure {
  seed: number;
  message: string;
}

async function failureOf(seed: number, mutation: Mutation): Promise<string | null> {
  try {
    await new CrawlWorld(seed, mutation).run();
    return null;
  } catch (error) {
    if (error instanceof InvariantError) return error.message;
    throw error;
  }
}

async function runSpan({ mutant, first, last, maxFailures }: SeedSpan): Promise<SeedFailure[]> {
  const mutation = mutant === null ? {} : MUTANTS[mutant];
  if (mutation === undefined) throw new Error(`no planted error is called ${mutant}`);
  const failures: SeedFailure[] = [];
  for (let seed = first; seed <= last && failures.length < maxFailures; seed++) {
    const message = await failureOf(seed, mutation);
    if (message !== null) failures.push({ seed, message });
  }
  return failures;
}

parentPort?.on('message', (span: SeedSpan) => {
  // An error that is no verdict ends the thread, which the spec is told.
  void runSpan(span).then((failures) => parentPort?.postMessage(failures));
});
