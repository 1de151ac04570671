import { describe, expect, it } from '@jest/globals';
import { InvariantError } from '@troupe/actors';
import { JOB_RULES } from '../../apps/scheduler/src/job/job.machine.js';
import { CrawlWorld, type Mutation } from './crawl-world.js';

const SEEDS = Number(process.env.SIMULATION_SEEDS ?? 1_000);

async function failureOf(seed: number, mutation: Mutation = {}): Promise<string | null> {
  try {
    await new CrawlWorld(seed, mutation).run();
    return null;
  } catch (error) {
    if (error instanceof InvariantError) return error.message;
    throw error;
  }
}

/** First seed that shows the planted error, null when none does. */
async function caughtAt(mutation: Mutation): Promise<number | null> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    if ((await failureOf(seed, mutation)) !== null) return seed;
  }
  return null;
}

describe('crawls under loss, repetition, reordering, crashes and double owners', () => {
  it(`keep every invariant over ${SEEDS} seeds`, async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= SEEDS && failures.length < 5; seed++) {
      const failure = await failureOf(seed);
      if (failure !== null) failures.push(`seed ${seed}: ${failure}`);
    }
    expect(failures).toEqual([]);
  }, 600_000);
});

describe('planted errors are caught', () => {
  const mutants: Record<string, Mutation> = {
    'no in-flight check': { job: { isInFlight: () => true } },
    'no fence': { store: () => ({ fence: false }) },
    'ack before commit': { ackBeforeCommit: true },
    'grant without seenV': {
      pool: { isReleased: (token, demand) => !demand.held.some(({ i, gen }) => i === token.i && gen === token.gen) },
    },
    'grant without the remembered gen': { job: { claims: { mayTake: () => true } } },
    'slot compare-and-set ignoring the lane': { slotOrder: (a, b) => a.gen - b.gen },
    'a timer not saved': { store: (random) => ({ keepTimer: () => !random.chance(0.05) }) },
    "a worker's outbox row dropped unpublished": {
      store: () => ({ keepOutbox: (row) => row.payload.kind !== 'work' }),
    },
    'completion ignoring open sitemaps': {
      job: {
        isDone: (state) =>
          state.phase === 'running' && state.inflight === 0 && (state.counted >= state.limit || state.ready === 0),
      },
    },
    'completion ignoring items in flight': { job: { isDone: (state) => JOB_RULES.isDone({ ...state, inflight: 0 }) } },
  };
  for (const [name, mutation] of Object.entries(mutants)) {
    it(name, async () => expect(await caughtAt(mutation)).not.toBeNull(), 600_000);
  }
});
