import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedSeeds } from './seeds.js';
import { SimulationThreads, tell } from './simulation-threads.js';
import { TroubleWorld } from './trouble-world.js';

const SEEDS = Math.max(100, Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 1_000) / 10));

let threads: SimulationThreads;
beforeAll(() => void (threads = new SimulationThreads('trouble')));
afterAll(() => threads.stop());

describe('crawls of a host that is out of order, under loss, repetition, crashes and double owners', () => {
  it(`keep every invariant and end, over ${SEEDS} seeds`, async () => {
    expect(tell(await threads.failures(null, fixedSeeds(SEEDS), 5))).toEqual([]);
  }, 600_000);

  it('see their host down, slowed and open again, and given up', async () => {
    const states = new Set<string>();
    let left = 0;
    for (let seed = 1; seed <= 12; seed++) {
      const world = new TroubleWorld(seed);
      await world.run();
      world.states.forEach((state) => states.add(state));
      left += world.leftUrls;
    }
    expect([...states].sort()).toEqual(['down', 'open', 'slowed']);
    expect(left).toBeGreaterThan(0);
  }, 60_000);

  it('fail when verdicts of a new owner do not count on from the last', async () => {
    const world = new TroubleWorld(4, { mutation: { verdict: (verdict) => ({ ...verdict, v: 1 }) } });
    await expect(world.run()).rejects.toThrow('I13');
  });
});
