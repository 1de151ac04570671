/** Errors planted into actors, stores and pools: each must be caught by the invariant that is there for it. */
import type { ActorDef, OutboxRow } from '@troupe/actors';
import type { AgentState } from '../../apps/scheduler/src/agent/agent.state.js';
import type { DeliveryState } from '../../apps/scheduler/src/delivery/delivery.state.js';
import type { ExtractState } from '../../apps/scheduler/src/extract/extract.state.js';
import { JOB_RULES } from '../../apps/scheduler/src/job/job.machine.js';
import type { Mutation } from './stage.js';

export interface Mutant extends Mutation {
  /** Numbers of the invariants of which one must be what fails. */
  caughtBy: string;
}

type Def = ActorDef<unknown, unknown>;

/** The actors of a kind, with another `finish`. */
function changed(kind: Def['kind'], change: (def: Def) => Partial<Def>): (def: Def) => Def {
  return (def) => (def.kind === kind ? { ...def, ...change(def) } : def);
}

/** Sees the state before each turn of a kind of actor. */
function before<S>(kind: Def['kind'], change: (state: S, types: string[]) => void): (def: Def) => Def {
  return changed(kind, (def) => ({
    finish: (activation, batch, answers, ctx) => {
      change(
        activation.state as S,
        batch.map(({ body }) => body.type),
      );
      return def.finish(activation, batch, answers, ctx);
    },
  }));
}

function isWork({ payload }: OutboxRow): boolean {
  return payload.kind === 'work';
}

export const CRAWL_MUTANTS: Record<string, Mutant> = {
  'no in-flight check': { caughtBy: 'I10', job: { isInFlight: () => true } },
  'no fence': { caughtBy: 'I4', store: () => ({ fence: false }) },
  'ack before commit': { caughtBy: 'I2', ackBeforeCommit: true },
  'grant without seenV': {
    caughtBy: 'I5',
    pool: { isReleased: (token, demand) => !demand.held.some(({ i, gen }) => i === token.i && gen === token.gen) },
  },
  'grant without the remembered gen': { caughtBy: 'I5', job: { claims: { mayTake: () => true } } },
  'slot compare-and-set ignoring the lane': { caughtBy: 'I5', slotOrder: (a, b) => a.gen - b.gen },
  'a timer not saved': { caughtBy: 'I3', store: (random) => ({ keepTimer: () => !random.chance(0.05) }) },
  "a worker's outbox row dropped unpublished": { caughtBy: 'I9', store: () => ({ keepOutbox: (row) => !isWork(row) }) },
  'completion ignoring open sitemaps': {
    caughtBy: 'I1',
    job: {
      isDone: (state) =>
        state.phase === 'running' && state.inflight === 0 && (state.counted >= state.limit || state.ready === 0),
    },
  },
  'completion ignoring histories': {
    caughtBy: 'I1',
    job: { isDone: (state) => JOB_RULES.isDone({ ...state, history: { after: null, isOver: true } }) },
  },
  'completion ignoring items in flight': {
    caughtBy: 'I1',
    job: { isDone: (state) => JOB_RULES.isDone({ ...state, inflight: 0 }) },
  },
};

export const RUNTIME_MUTANTS: Record<string, Mutant> = {};
const FRESH_STEP = { attempt: 1, unheard: 0, inWork: false, failures: 0, waiting: false, counted: 0 };

export const MODEL_MUTANTS: Record<string, Mutant> = {};
