import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SimulationThreads } from './simulation-threads.js';

const SEEDS = Math.max(100, Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 1_000) / 5));

let threads: SimulationThreads;
beforeAll(() => void (threads = new SimulationThreads('trouble')));
afterAll(() => threads.stop());

describe('crawls of a host that is out of order, under loss, repetition, crashes and double owners', () => {
  it(`keep every invariant and end, over ${SEEDS} seeds`, async () => {
    const failures = await threads.failures(null, SEEDS, 5);
    expect(failures.map(({ seed, message }) => `seed ${seed}: ${message}`)).toEqual([]);
  }, 600_000);
});
