import { describe, expect, it } from '@jest/globals';
import { NO_SPAN, type ActorKey } from '@troupe/contracts';
import { Activations, type LiveActor } from './activations.js';
import type { ActorDef, Effect } from './actor.js';
import type { TurnWrites } from './ports.js';
import { message, noteActor, type Notes } from './note-actor.fixture.js';
import { HandlerError, HEARTBEAT, HEARTBEAT_MS, Turn, type ActorBatch, type StoredState } from './turn.js';

const NO_ANSWERS = { admitted: new Map(), seeds: new Map() };
const note = (text: string) => message({ type: 'Note', text });

interface Setting {
  now?: number;
  effects?: Effect[];
  firedTimers?: string[];
  state?: Partial<Notes>;
}

function liveActor(key: ActorKey = 'crawl/a'): LiveActor {
  return new Activations(10).add(
    { key, rev: 4, state: null, terminal: false, ageMs: 0 },
    { notes: [], failed: null, over: false },
    0,
    0,
  );
}

/** One turn of an actor that answers with these effects. */
function turnOf(actor: LiveActor, setting: Setting): { turn: Turn; writes: TurnWrites } {
  Object.assign(actor.state as Notes, setting.state);
  const def = { ...noteActor('crawl', false), finish: () => setting.effects ?? [] } as unknown as ActorDef<
    unknown,
    unknown
  >;
  const entry: ActorBatch = {
    liveActor: actor,
    def,
    batch: [],
    accepted: new Map([['crawl/z', 9]]),
    firedTimers: setting.firedTimers ?? [],
    failure: null,
    deadLetters: [],
    span: NO_SPAN,
  };
  let id = 100;
  const ctx = { now: setting.now ?? 1_000, wallMs: 0, nextGen: () => 0 };
  const turn = new Turn([entry], { part: 3, epoch: 2, ctx, nextOutboxId: () => ++id, nextLevelId: () => `v.${++id}` });
  return { turn, writes: turn.decide(NO_ANSWERS) };
}

function timersOf(writes: TurnWrites): Record<string, number | null> {
  return Object.fromEntries(writes.timers.map(({ name, inMs }) => [name, inMs]));
}

describe('the heartbeat of an actor', () => {
  it('is set with the first turn after activation, and renewed long before it is due', () => {
    const actor = liveActor();
    expect(timersOf(turnOf(actor, { now: 1_000 }).writes)).toEqual({ [HEARTBEAT]: HEARTBEAT_MS });
    expect(timersOf(turnOf(actor, { now: 100_000 }).writes)).toEqual({});
    expect(timersOf(turnOf(actor, { now: 181_000 }).writes)).toEqual({ [HEARTBEAT]: HEARTBEAT_MS });
  });

  it('is set anew in the turn in which it fires', () => {
    const actor = liveActor();
    turnOf(actor, { now: 1_000 });
    expect(timersOf(turnOf(actor, { now: 2_000, firedTimers: [HEARTBEAT] }).writes)).toEqual({
      [HEARTBEAT]: HEARTBEAT_MS,
    });
  });

  it('ends with the actor', () => {
    const actor = liveActor();
    turnOf(actor, { now: 1_000 });
    const { writes } = turnOf(actor, { now: 2_000, state: { over: true } });
    expect(timersOf(writes)).toEqual({ [HEARTBEAT]: null });
    expect(writes.actors).toMatchObject([{ key: 'crawl/a', rev: 4, terminal: true }]);
  });
});

describe('timers of a turn', () => {
  it('that fired are deleted, unless the handler sets them again', () => {
    const actor = liveActor();
    turnOf(actor, {});
    const effects: Effect[] = [{ t: 'timer', name: 'again', inMs: 50 }];
    expect(timersOf(turnOf(actor, { firedTimers: ['once', 'again'], effects }).writes)).toEqual({
      once: null,
      again: 50,
    });
  });

  it('are written once, as last said', () => {
    const actor = liveActor();
    turnOf(actor, {});
    const effects: Effect[] = [5, 10, null, 20].map((inMs) => ({ t: 'timer', name: 'tick', inMs }));
    expect(turnOf(actor, { effects }).writes.timers).toEqual([{ key: 'crawl/a', name: 'tick', inMs: 20 }]);
  });
});

describe('messages of a turn', () => {
  it('of class pair are numbered by receiver, across turns, and their numbers are stored with the state', () => {
    const actor = liveActor();
    const tell = (to: ActorKey): Effect => ({ t: 'send', to, cls: 'pair', msg: note('x') });
    const first = turnOf(actor, { effects: [tell('crawl/b'), tell('crawl/c'), tell('crawl/b')] });
    const second = turnOf(actor, { effects: [tell('crawl/b')] });
    const numbers = [...first.writes.outbox, ...second.writes.outbox].map(({ to, n, payload }) => [
      to,
      n,
      payload.kind === 'actor' && payload.envelope.n,
    ]);
    expect(numbers).toEqual([
      ['crawl/b', 1, 1],
      ['crawl/c', 1, 1],
      ['crawl/b', 2, 2],
      ['crawl/b', 3, 3],
    ]);
    expect((JSON.parse(second.writes.actors[0]!.state) as StoredState).sent).toEqual({ 'crawl/b': 3, 'crawl/c': 1 });
    expect(first.turn.afterCommit.outbox).toEqual(first.writes.outbox);
  });

  it('of class level are not stored, notes and verdicts neither; work is', () => {
    const verdict = { v: 1, state: 'down', restMs: 2_000, gapMs: 0, share: 0 } as const;
    const msg = {
      type: 'Kick',
      task: 'robots',
      actor: 'domain/h',
      host: 'h',
      url: 'http://h/robots.txt',
      agent: 'x',
    } as const;
    const { turn, writes } = turnOf(liveActor(), {
      effects: [
        { t: 'send', to: 'crawl/b', cls: 'level', msg: note('x') },
        { t: 'notify', subject: 's', msg: 1 },
        { t: 'tell', host: 'h', verdict },
        { t: 'work', cls: 'kick', prio: 'hi', id: 'w', msg },
      ],
    });
    expect(turn.afterCommit.level).toMatchObject([{ from: 'crawl/a', to: 'crawl/b', n: null, v: 2 }]);
    expect(turn.afterCommit.notes).toEqual([{ subject: 's', msg: 1 }]);
    expect(turn.afterCommit.verdicts).toEqual([{ host: 'h', verdict }]);
    expect(writes.outbox).toMatchObject([{ from: 'crawl/a', to: null, n: null, payload: { kind: 'work', id: 'w' } }]);
  });

  it('that were accepted move their cursors in the same transaction', () => {
    expect(turnOf(liveActor(), {}).writes.cursors).toEqual([{ to: 'crawl/a', from: 'crawl/z', n: 9 }]);
  });
});

describe('a turn', () => {
  it('is fenced by the revision and epoch it was prepared on', () => {
    expect(turnOf(liveActor(), {}).turn.head()).toMatchObject({
      part: 3,
      epoch: 2,
      fences: [{ key: 'crawl/a', rev: 4 }],
    });
  });

  it('fails by its actor when the state grows above 256 KiB', () => {
    const fits = { notes: ['x'.repeat(250_000)] };
    expect(() => turnOf(liveActor(), { state: fits })).not.toThrow();
    expect(() => turnOf(liveActor(), { state: { notes: ['x'.repeat(270_000)] } })).toThrow(HandlerError);
  });

  it('names the actor whose handler threw', () => {
    const def = {
      ...noteActor('crawl', false),
      plan: () => {
        throw new Error('boom');
      },
    } as unknown as ActorDef<unknown, unknown>;
    const entry: ActorBatch = {
      liveActor: liveActor('crawl/q'),
      def,
      batch: [],
      accepted: new Map(),
      firedTimers: [],
      failure: null,
      deadLetters: [],
      span: NO_SPAN,
    };
    const deps = {
      part: 0,
      epoch: 1,
      ctx: { now: 0, wallMs: 0, nextGen: () => 0 },
      nextOutboxId: () => 0,
      nextLevelId: () => '',
    };
    expect(() => new Turn([entry], deps)).toThrow(
      expect.objectContaining({ name: 'HandlerError', key: 'crawl/q', message: expect.stringContaining('boom') }),
    );
  });
});
