import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EXTRACT_MUTANTS } from './mutants.js';
import { SimulationThreads } from './simulation-threads.js';

/** A world of theirs holds the crawls of several jobs: a tenth of the seeds of crawls, and enough for every planted error. */
const SEEDS = Math.max(100, Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 1_000) / 10));

let threads: SimulationThreads;
beforeAll(() => void (threads = new SimulationThreads('extract')));
afterAll(() => threads.stop());

describe('extract jobs and their children under loss, repetition, crashes of schedulers, fetchers and extractors', () => {
  it(`keep every invariant over ${SEEDS} seeds`, async () => {
    const failures = await threads.failures(null, SEEDS, 5);
    expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`)).toEqual([]);
  }, 600_000);
});

describe('planted errors are caught', () => {
  it.each(Object.keys(EXTRACT_MUTANTS))(
    '%s',
    async (mutant) => expect(await threads.failures(mutant, SEEDS, 1)).toHaveLength(1),
    600_000,
  );
});
