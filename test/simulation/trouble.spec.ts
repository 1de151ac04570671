import { describe, expect, it } from '@jest/globals';
import { describeSimulation } from './describe-simulation.js';
import { shareOfSeeds } from './seeds.js';
import { TroubleWorld } from './trouble-world.js';

const SEEDS = shareOfSeeds(0.05);

describeSimulation('trouble', {
  title: 'crawls of hosts that are out of order, under loss, repetition, crashes and double owners',
  seeds: SEEDS,
  mutants: [],
  seedsWithError: 0,
});

describe('crawls of hosts that are out of order', () => {
  it('see their hosts down, slowed and open again, and given up', async () => {
    const states = new Set<string>();
    let left = 0;
    for (let seed = 1; seed <= 24; seed++) {
      const world = new TroubleWorld(seed);
      await world.run();
      world.states.forEach((state) => states.add(state));
      left += world.leftUrls;
    }
    expect([...states]).toEqual(expect.arrayContaining(['down', 'open', 'slowed']));
    expect(left).toBeGreaterThan(0);
  }, 60_000);
});
