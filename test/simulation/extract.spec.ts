import { describe, expect, it } from '@jest/globals';
import { InvariantError } from '@troupe/actors';
import { ExtractWorld, type ExtractMutation } from './extract-world.js';

/** A world of theirs holds the crawls of several jobs: a tenth of the seeds of crawls, and enough for every planted error. */
const SEEDS = Math.max(100, Math.ceil(Number(process.env.SIMULATION_SEEDS ?? 1_000) / 10));

async function failureOf(seed: number, mutation: ExtractMutation = {}): Promise<string | null> {
  try {
    await new ExtractWorld(seed, mutation).run();
    return null;
  } catch (error) {
    if (error instanceof InvariantError) return error.message;
    throw error;
  }
}

/** First seed that shows the planted error, null when none does. */
async function caughtAt(mutation: ExtractMutation): Promise<number | null> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    if ((await failureOf(seed, mutation)) !== null) return seed;
  }
  return null;
}

describe('extract jobs and their children under loss, repetition, crashes of schedulers, fetchers and extractors', () => {
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
  const fresh = { attempt: 1, unheard: 0, inWork: false, failures: 0, waiting: false, counted: 0 };
  const mutants: Record<string, ExtractMutation> = {
    'a step counts as often as it is told of': {
      extract: (state, messages) => {
        for (const message of messages) {
          const { step } = message as { step?: string };
          if (message.type === 'ModelDone' && step !== undefined) state.steps[step] ??= { ...fresh };
        }
      },
    },
    'news of children that come before the plan are lost': {
      hides: ({ stage }, { type }) => type === 'JobEvent' && stage === 'plan',
    },
    'pages are handed out again after a change of owner': {
      extract: (state) => {
        for (const child of Object.values(state.children)) child.next = Math.max(1, child.next - 1);
      },
    },
    'the end of a child is taken for the end of its pages': {
      extract: (state) => {
        for (const child of Object.values(state.children)) if (child.end !== null) child.next = child.upto + 1;
      },
    },
    'a timer not saved': { store: (random) => ({ keepTimer: () => !random.chance(0.05) }) },
    'a task dropped unpublished': {
      store: () => ({ keepOutbox: (row) => row.payload.kind !== 'work' || row.payload.msg.type !== 'ModelTask' }),
    },
  };
  for (const [name, mutation] of Object.entries(mutants)) {
    it(name, async () => expect(await caughtAt(mutation)).not.toBeNull(), 600_000);
  }
});
