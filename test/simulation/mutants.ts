/** Errors planted into actors, stores and pools: each must be caught by the invariant that is there for it. */
import type { ActorDef, Incoming, OutboxRow, TurnContext } from '@troupe/actors';
import type { RowOp } from '@troupe/contracts';
import type { AgentState } from '../../apps/scheduler/src/model-job/agent/agent.state.js';
import type { DeliveryState } from '../../apps/scheduler/src/delivery/delivery.state.js';
import type { HostActorState } from '../../apps/scheduler/src/host/host.actor.js';
import type { ExtractState } from '../../apps/scheduler/src/model-job/extract/extract.state.js';
import { JOB_RULES } from '../../apps/scheduler/src/crawl/rules.js';
import { storedText } from './site.js';
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
  'grant without the remembered gen': { caughtBy: 'I6', job: { claims: { mayTake: () => true } } },
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
    caughtBy: 'I10',
    job: { isDone: (state) => JOB_RULES.isDone({ ...state, inflight: 0 }) },
  },
  // One for each further kind of fault.
  'a place more than a host has': { caughtBy: 'I5', extraConn: 1 },
  'a place more than a team has': { caughtBy: 'I6', extraPlaces: 1 },
  'one team always comes first': { caughtBy: 'I14', actor: before<HostActorState>('domain', favour) },
  'actors that go by the wall clock': {
    caughtBy: 'I18',
    actor: (def) => ({ ...def, finish: (a, batch, answers, ctx) => def.finish(a, batch, answers, wallTime(ctx)) }),
  },
  'a turn refused for what is in it, repeated as if the store were away': { caughtBy: 'I15', blamesStore: true },
  'mail of a newer version, read by everybody': { caughtBy: 'I16', readsAll: true },
  'a host that is never told that it is asked too much': {
    caughtBy: 'I19',
    word: (_to, body) => (body.type === 'HostFeedback' && body.troubles.length > 0 ? null : body),
  },
  'a robots.txt that cannot be read, taken for one that forbids': {
    caughtBy: 'I20',
    actor: changed('crawl', (def) => ({
      finish: (activation, batch, answers, ctx) =>
        def.finish(activation, batch, answers, batch.some(({ body }) => isUnreadable(body)) ? aged(ctx) : ctx),
    })),
  },
  'verdicts of a new owner that do not count on from the last': {
    caughtBy: 'I13',
    verdict: (verdict) => ({ ...verdict, v: 1 }),
  },
  'what robots.txt forbids, recorded as failed': {
    caughtBy: 'I20',
    store: keepRow((row) =>
      row.op === 'outcome.insert' && row.outcome === 'robots' ? { ...row, outcome: 'failed' } : row,
    ),
  },
  'no error rows': { caughtBy: 'I20', store: keepRow((row) => (row.op === 'error.insert' ? null : row)) },
  'links left out that nobody is told of': {
    caughtBy: 'I20',
    store: keepRow((row) => (row.op === 'excluded.insert' ? null : row)),
  },
  'a page under the address that led to it': {
    caughtBy: 'I20',
    store: keepRow((row) => (row.op === 'page.insert' ? { ...row, finalUrl: row.url } : row)),
  },
  'a page with the text of another': {
    caughtBy: 'I20',
    store: keepRow((row) =>
      row.op === 'page.insert' && row.ord === 3 ? { ...row, inline: storedText('other') } : row,
    ),
  },
  'an end that is told before the pages': {
    caughtBy: 'I17',
    actor: before<DeliveryState>('delivery', (state) => {
      if (state.ends.length > 0 && state.next > 0) state.next = Math.max(state.next, state.known + 1);
    }),
  },
  'a post that failed, forgotten': {
    caughtBy: 'I17',
    actor: before<DeliveryState>('delivery', (state) => {
      state.retries = {};
    }),
  },
};

/** One team has paid for everything in advance. */
function favour({ pool }: HostActorState): void {
  const [team] = Object.keys(pool.teams).sort();
  const accounts = [...Object.values(pool.claimants).filter((claimant) => claimant.team === team), pool.teams[team!]];
  for (const account of accounts) if (account !== undefined) account.creditMs = 1_000_000;
}

function wallTime(ctx: TurnContext): TurnContext {
  return { now: ctx.wallMs, wallMs: ctx.wallMs, nextGen: () => ctx.nextGen() };
}

function isUnreadable(body: Incoming['body']): boolean {
  return body.type === 'LaneEnd' && body.robotsUnreadable === true;
}

/** A day later. */
function aged(ctx: TurnContext): TurnContext {
  return { now: ctx.now, wallMs: ctx.wallMs + 25 * 3_600_000, nextGen: () => ctx.nextGen() };
}

function keepRow(keep: (row: RowOp) => RowOp | null): Mutation['store'] {
  return () => ({ keepRow: keep });
}

const FRESH_STEP = { attempt: 1, unheard: 0, inWork: false, failures: 0, waiting: false, counted: 0 };

export const MODEL_MUTANTS: Record<string, Mutant> = {
  'a step counts as often as it is told of': {
    caughtBy: 'I7',
    actor: changed('extract', (def) => ({
      finish: (activation, batch, answers, ctx) => {
        const { steps } = activation.state as ExtractState;
        for (const { body } of batch) if (body.type === 'ModelDone') steps[body.step] ??= { ...FRESH_STEP };
        return def.finish(activation, batch, answers, ctx);
      },
    })),
  },
  'news of children that come before the plan are lost': {
    caughtBy: 'I3',
    actor: changed('extract', (def) => ({
      finish: (activation, batch, answers, ctx) => {
        const { stage } = activation.state as ExtractState;
        const heard = batch.filter(({ body }) => body.type !== 'JobEvent' || stage !== 'plan');
        return def.finish(activation, heard, answers, ctx);
      },
    })),
  },
  'pages are handed out again after a change of owner': {
    caughtBy: 'I12',
    actor: before<ExtractState>('extract', (state) => {
      for (const child of Object.values(state.children)) child.next = Math.max(1, child.next - 1);
    }),
  },
  'the end of a child is taken for the end of its pages': {
    caughtBy: 'I13',
    actor: before<ExtractState>('extract', (state) => {
      for (const child of Object.values(state.children)) if (child.end !== null) child.next = child.upto + 1;
    }),
  },
  'a timer not saved': { caughtBy: 'I3', store: (random) => ({ keepTimer: () => !random.chance(0.05) }) },
  'a task dropped unpublished': {
    caughtBy: 'I9',
    store: () => ({ keepOutbox: (row) => row.payload.kind !== 'work' || row.payload.msg.type !== 'ModelTask' }),
  },
  'what a commit without an answer has left, not looked for': { caughtBy: 'I3', hasNoDoubt: true },
  'an agent that forgets its last move': {
    caughtBy: 'I12',
    actor: before<AgentState>('agent', (state, types) => {
      if (types.includes('ModelBusy') && state.done > 1) state.done -= 1;
    }),
  },
};

export const RUNTIME_MUTANTS: Record<string, Mutant> = {
  'a lease that is lost, kept': { caughtBy: 'I21', keepsLeases: true },
  'leases of the dead that never lapse': { caughtBy: 'I21', keepsDead: true },
  'mail inside of a process that goes nowhere': { caughtBy: 'I3', losesOwnMail: true },
};
