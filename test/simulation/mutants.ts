/** Errors planted into actors, stores and pools: each must be caught by the invariants of the simulation. */
import { JOB_RULES } from '../../apps/scheduler/src/job/job.machine.js';
import type { Mutation } from './crawl-world.js';
import type { ExtractMutation } from './extract-world.js';

export const CRAWL_MUTANTS: Record<string, Mutation> = {
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
  'completion ignoring histories': {
    job: { isDone: (state) => JOB_RULES.isDone({ ...state, history: { after: null, isOver: true } }) },
  },
  'completion ignoring items in flight': { job: { isDone: (state) => JOB_RULES.isDone({ ...state, inflight: 0 }) } },
};

const FRESH_STEP = { attempt: 1, unheard: 0, inWork: false, failures: 0, waiting: false, counted: 0 };

export const EXTRACT_MUTANTS: Record<string, ExtractMutation> = {
  'a step counts as often as it is told of': {
    extract: (state, messages) => {
      for (const message of messages) {
        const { step } = message as { step?: string };
        if (message.type === 'ModelDone' && step !== undefined) state.steps[step] ??= { ...FRESH_STEP };
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
