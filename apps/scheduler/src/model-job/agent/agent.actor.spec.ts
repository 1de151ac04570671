import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Effect, Incoming } from '@troupe/actors';
import {
  actorKey,
  actStep,
  plainScrape,
  type ActorMessage,
  type AgentSpec,
  type ErrorWire,
  type JobEvent,
  type ModelDone,
  type ModelTask,
  type ModelWork,
  type RowOp,
} from '@troupe/contracts';
import { agentActor, MAX_MOVES } from './agent.actor.js';
import type { AgentState } from './agent.state.js';

const JOB = '6f0c0000-0000-4000-8000-000000000002';
const KEY = actorKey('agent', JOB);
const MAX_CREDITS = 500;
const REFUSED: ErrorWire = { code: 'SCRAPE_JSON_FAILED', message: 'no such model', retryable: false, httpStatus: 500 };

const SPEC: AgentSpec = {
  prompt: 'founders',
  urls: [],
  schema: null,
  strictUrls: false,
  maxCredits: null,
  effort: 'low',
  scrape: plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 30_000, onlyMainContent: true }),
  timeoutMs: 600_000,
  webhook: { url: 'https://h.example/', headers: {}, metadata: '{}', events: ['action'] },
  model: null,
};

/** The actor in virtual time; its state goes through JSON after every turn, as after a restart. */
class World {
  readonly def = agentActor({ maxCredits: MAX_CREDITS });
  now = 1_000_000;
  state: AgentState = this.def.init(KEY);
  readonly tasks: ModelTask[] = [];
  readonly rows: RowOp[] = [];
  readonly told: JobEvent[] = [];

  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): void {
    const batch = bodies.map((body) => ({ from: 'w/x', body }) as Incoming);
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => 1 };
    const activation = { key: KEY, state: this.state, memory: { progressAt: 0 } };
    const effects = this.def.finish(activation, batch, { admitted: new Set(), seeds: [], found: null }, ctx);
    this.state = JSON.parse(JSON.stringify(activation.state)) as AgentState;
    effects.forEach((effect) => this.apply(effect));
  }

  start(spec: Partial<AgentSpec> = {}): void {
    const ids = { job: JOB, jobNo: '7', team: 't', keyId: null, createdMs: this.now };
    this.turn({ type: 'Start', kind: 'agent', ...ids, spec: { ...SPEC, ...spec } });
  }

  /** The move that is asked for. */
  get move(): ModelWork & { what: 'act' } {
    return this.tasks.at(-1)!.work as ModelWork & { what: 'act' };
  }

  acted(used: Partial<Pick<ModelDone, 'tokens' | 'credits'>> = {}, end: 'answered' | null = null): void {
    const { step, attempt } = this.tasks.at(-1)!;
    const outcome = { what: 'acted' as const, end, warning: null };
    this.turn({ type: 'ModelDone', step, attempt, tokens: 150, credits: 1, error: null, outcome, ...used });
  }

  failed(error: ErrorWire): void {
    const { step, attempt } = this.tasks.at(-1)!;
    this.turn({ type: 'ModelDone', step, attempt, tokens: 30, credits: 0, error, outcome: null });
  }

  get shown() {
    return this.rows.flatMap((row) => (row.op === 'job.update' ? [row] : [])).at(-1)!;
  }

  get billed(): number {
    return this.rows.flatMap((row) => (row.op === 'ledger.upsert' ? [row.credits] : [])).at(-1)!;
  }

  private apply(effect: Effect): void {
    if (effect.t === 'work') this.tasks.push(effect.msg as ModelTask);
    if (effect.t === 'row') this.rows.push(effect.row);
    if (effect.t === 'send' && effect.msg.type === 'JobEvent') this.told.push(effect.msg);
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

describe('the actor of an agent', () => {
  it('asks for one move after another, and ends with the answer', () => {
    world.start();
    world.acted();
    world.acted();
    expect(world.tasks.map(({ step }) => step)).toEqual([1, 2, 3].map(actStep));
    expect(world.tasks.map(({ work }) => (work as ModelWork & { what: 'act' }).n)).toEqual([1, 2, 3]);
    world.acted({ credits: 0 }, 'answered');
    expect(world.tasks).toHaveLength(3);
    expect(world.shown).toMatchObject({ status: 'completed', finished: true, credits: 3 * 10 + 2, tokens: 450 });
    expect(world.billed).toBe(32);
  });

  it('tells receivers of every move but the answer', () => {
    world.start();
    world.acted();
    world.acted();
    world.acted({}, 'answered');
    expect(world.told.map((event) => ('uptoOrd' in event ? [event.event, event.uptoOrd] : event.event))).toEqual([
      'started',
      ['pages', 1],
      ['pages', 2],
      ['terminal', 2],
    ]);
  });

  it('says how many credits are left, those of the installation where the run names none', () => {
    world.start();
    expect(world.move.creditsLeft).toBe(MAX_CREDITS);
    world.acted({ tokens: 16, credits: 3 });
    expect(world.move.creditsLeft).toBe(MAX_CREDITS - 2 - 3);
    world = new World();
    world.start({ maxCredits: 20 });
    expect(world.move.creditsLeft).toBe(20);
  });

  it('asks for the answer when the credits are used up', () => {
    world.start({ maxCredits: 20 });
    world.acted({ tokens: 600, credits: 0 });
    expect(world.move).toMatchObject({ n: 2, creditsLeft: 0 });
    world.acted({}, 'answered');
    expect(world.shown).toMatchObject({ status: 'completed', warning: expect.stringContaining('credits') });
  });

  it.each(['low', 'medium', 'high'] as const)('asks for the answer with the last move of effort %s', (effort) => {
    world.start({ effort, maxCredits: 1_000_000 });
    for (let n = 1; n < MAX_MOVES[effort]; n++) {
      expect(world.move.creditsLeft).toBeGreaterThan(0);
      world.acted();
    }
    expect(world.move).toMatchObject({ n: MAX_MOVES[effort], creditsLeft: 0 });
    world.acted();
    expect(world.shown).toMatchObject({ status: 'failed', error: 'The agent did not come to an answer' });
  });

  it('does not warn of a limit that did not change the answer', () => {
    world.start({ maxCredits: 20 });
    world.acted({ tokens: 600 }, 'answered');
    expect(world.shown).toMatchObject({ status: 'completed', warning: null });
  });

  it('fails with the reason of a move that cannot be made, and bills what it used', () => {
    world.start();
    world.acted();
    world.failed(REFUSED);
    expect(world.shown).toMatchObject({ status: 'failed', error: 'no such model', tokens: 180 });
    expect(world.told.at(-1)).toMatchObject({ event: 'terminal', status: 'failed', uptoOrd: 1 });
  });

  it('makes a move that came twice once', () => {
    world.start();
    world.acted();
    const first = { step: actStep(1), attempt: 1, tokens: 150, credits: 1, error: null };
    const outcome = { what: 'acted' as const, end: null, warning: null };
    world.turn({ type: 'ModelDone', ...first, outcome });
    expect(world.tasks).toHaveLength(2);
    expect(world.state).toMatchObject({ done: 1, tokens: 150, pageCredits: 1 });
  });

  it('is cancelled at once, and nothing that comes later counts', () => {
    world.start();
    world.turn({ type: 'Cancel', job: JOB });
    world.acted({}, 'answered');
    expect(world.shown).toMatchObject({ status: 'cancelled', finished: true, credits: 0 });
    expect(world.tasks).toHaveLength(1);
    expect(world.def.isTerminal(world.state)).toBe(true);
  });

  it('fails when its time is up', () => {
    world.start();
    world.now += SPEC.timeoutMs;
    world.turn({ type: 'Timer', name: 'limit' });
    expect(world.shown).toMatchObject({ status: 'failed', error: expect.stringContaining('timeout') });
  });
});
