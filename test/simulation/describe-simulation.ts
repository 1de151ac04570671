/** What is asked of a kind of world. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedSeeds, freshSeeds, ONE_SEED } from './seeds.js';
import { SimulationThreads, tell } from './simulation-threads.js';
import type { WorldKind } from './simulation.worker.js';

const TIMEOUT_MS = 600_000;
const MAX_FAILURES = 5;

export interface SimulationPlan {
  title: string;
  /** Fixed ones, and as many fresh ones. */
  seeds: number;
  /** Names of planted errors. */
  mutants: string[];
  seedsWithError: number;
  /** Seeds that have failed once. @default none */
  failedOnce?: number[];
}

export function describeSimulation(world: WorldKind, plan: SimulationPlan): void {
  let threads: SimulationThreads;
  beforeAll(() => void (threads = new SimulationThreads(world)));
  afterAll(() => threads.stop());

  if (ONE_SEED !== null) {
    it(
      `${world}: seed ${ONE_SEED} keeps every invariant`,
      async () => {
        const failures = await threads.trace(ONE_SEED!, (text) => process.stderr.write(text));
        expect(tell(failures)).toEqual([]);
      },
      TIMEOUT_MS,
    );
    return;
  }

  describe(plan.title, () => {
    it.each([
      ['fixed', fixedSeeds(plan.seeds)],
      ['fresh', freshSeeds(plan.seeds)],
    ])(
      `keep every invariant over ${plan.seeds} %s seeds`,
      async (_name, seeds) => expect(tell(await threads.failures(null, seeds, MAX_FAILURES))).toEqual([]),
      TIMEOUT_MS,
    );

    for (const seed of plan.failedOnce ?? []) {
      it(
        `keep every invariant with seed ${seed}, which has failed once`,
        async () => expect(tell(await threads.failures(null, { first: seed, last: seed }, 1))).toEqual([]),
        TIMEOUT_MS,
      );
    }
  });

  if (plan.mutants.length === 0) return;
  describe('planted errors are caught by the invariant that is there for them', () => {
    it.each(plan.mutants)(
      '%s',
      async (mutant) => expect(await threads.failures(mutant, fixedSeeds(plan.seedsWithError), 1)).toHaveLength(1),
      TIMEOUT_MS,
    );
  });
}
