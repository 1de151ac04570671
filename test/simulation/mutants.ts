/** Errors planted into actors, stores and pools: each must be caught by the invariants of the simulation. */
import { JOB_RULES } from '../../apps/scheduler/src/job/job.machine.js';
import type { Mutation } from './crawl-world.js';

export const MUTANTS: Record<string, Mutation> = {
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
