import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CRAWL_MUTANTS } from './mutants.js';
import { SimulationThreads } from './simulation-threads.js';

const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 1_000);
/** The rarest error shows itself once in some 300 seeds; the search ends with the first. */
const SEEDS_WITH_ERROR = 5 * SEEDS;

let threads: SimulationThreads;
beforeAll(() => void (threads = new SimulationThreads('crawl')));
afterAll(() => threads.stop());

describe('crawls under loss, repetition, reordering, crashes and double owners', () => {
  it(`keep every invariant over ${SEEDS} seeds`, async () => {
    const failures = await threads.failures(null, SEEDS, 5);
    expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`)).toEqual([]);
  }, 600_000);
});

describe('planted errors are caught', () => {
  it.each(Object.keys(CRAWL_MUTANTS))(
    '%s',
    async (mutant) => expect(await threads.failures(mutant, SEEDS_WITH_ERROR, 1)).toHaveLength(1),
    600_000,
  );
});
