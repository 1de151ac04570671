import { beforeEach, describe, expect, it } from '@jest/globals';
import { partitionOf, type ActorKey } from '@troupe/contracts';
import { message, NoteWorld, keysInTwoPartitions } from './note-actor.fixture.js';
import type { Partition } from './partition.js';
import { ContentError, TurnConflictError, TurnTimeoutError, type TurnWrites } from './ports.js';

const [ALICE] = keysInTwoPartitions('crawl');
const POISON = 'poison';
/** Numeric value out of range, as Postgres says it. */
const outOfRange = () => new ContentError('out of range', '22003');

let world: NoteWorld;
let partition: Partition;

beforeEach(async () => {
  world = new NoteWorld();
  partition = await world.own(ALICE);
});

/** Actors of the partition of `ALICE`, which is the first. */
function neighbours(count: number): ActorKey[] {
  const keys: ActorKey[] = [ALICE];
  for (let i = 0; keys.length < count; i++) {
    const key: ActorKey = `crawl/n${i}`;
    if (partitionOf(key) === partitionOf(ALICE)) keys.push(key);
  }
  return keys;
}

/** Refuses states that hold the poison. */
function refuseState(error: () => Error): void {
  world.store.refuses = ({ actors }: TurnWrites) =>
    actors.some(({ state }) => state.includes(`"${POISON}"`)) ? error() : null;
}

/** In one piece of mail, and so in one drain. */
async function together(notes: readonly (readonly [ActorKey, string])[]): Promise<void> {
  const letters = notes.map(([to, text], i) => {
    const body = message({ type: 'Note', text });
    return { id: String(i), type: 'Note', v: 2, from: 'w/x', to, n: null, body };
  });
  await world.bus.publishActor({ ...letters[0]!, type: 'Sack', body: { type: 'Sack', letters } } as never);
}

async function note(key: ActorKey, ...texts: string[]): Promise<void> {
  for (const text of texts) await world.send(key, { type: 'Note', text });
}

describe('a turn that the store refuses', () => {
  it('is halved until the guilty message is alone: all others commit, in at most 19 transactions', async () => {
    refuseState(outOfRange);
    const keys = neighbours(16);
    const text = (key: ActorKey, i: number) => (key === keys[3] && i === 6 ? POISON : String(i));
    await together(keys.flatMap((key) => Array.from({ length: 16 }, (_, i) => [key, text(key, i)] as const)));
    await partition.step();
    expect(world.store.transactions).toBeLessThanOrEqual(19);
    for (const key of keys) {
      const expected = Array.from({ length: 16 }, (_, i) => String(i)).filter((i) => key !== keys[3] || i !== '6');
      expect(world.stateOf(key).notes).toEqual(expected);
    }
    expect(world.store.deadLetters).toMatchObject([
      {
        key: keys[3],
        type: 'Note',
        envelope: { body: { text: POISON } },
        error: expect.stringContaining('out of range'),
      },
    ]);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });

  it('finds several guilty messages, of one actor and of another', async () => {
    refuseState(outOfRange);
    const [first, second, third] = neighbours(3) as [ActorKey, ActorKey, ActorKey];
    await together([
      ...['1', POISON, '2', POISON, '3'].map((text): [ActorKey, string] => [first, text]),
      [second, '1'],
      [third, POISON],
      [third, '1'],
    ]);
    await partition.step();
    expect([first, second, third].map((key) => world.stateOf(key).notes)).toEqual([['1', '2', '3'], ['1'], ['1']]);
    expect(world.store.deadLetters).toHaveLength(3);
  });

  it('is repeated as it is when the store is away: no item is to blame', async () => {
    refuseState(() => new Error('connection lost'));
    await note(ALICE, '1', POISON);
    await expect(partition.step()).rejects.toThrow('connection lost');
    expect([world.store.transactions, world.store.deadLetters]).toEqual([1, []]);
    world.store.refuses = () => null;
    await partition.step();
    expect(world.stateOf(ALICE).notes).toEqual(['1', POISON]);
  });

  it('is tried again as a whole after a conflict', async () => {
    let conflicts = 3;
    world.store.refuses = () => (conflicts-- > 0 ? new TurnConflictError('deadlock') : null);
    await note(ALICE, '1');
    await partition.step();
    expect([world.stateOf(ALICE).notes, world.store.transactions]).toEqual([['1'], 4]);
  });
});

describe('a turn that takes too long', () => {
  it('is halved when it holds too much, and loses nothing', async () => {
    const keys = neighbours(8);
    world.store.refuses = ({ actors }) => (actors.length > 2 ? new TurnTimeoutError('too slow') : null);
    await together(keys.map((key) => [key, '1']));
    await partition.step();
    expect(keys.map((key) => world.stateOf(key).notes)).toEqual(keys.map(() => ['1']));
    expect(world.store.deadLetters).toEqual([]);
  });

  it('of one actor alone, three times, while the store answers, is split by its messages', async () => {
    refuseState(() => new TurnTimeoutError('too slow'));
    await together([
      [ALICE, '1'],
      [ALICE, POISON],
      [ALICE, '2'],
    ]);
    await partition.step();
    expect(world.stateOf(ALICE).notes).toEqual(['1', '2']);
    expect(world.store.deadLetters).toHaveLength(1);
  });

  it('blames no item while the store does not answer', async () => {
    refuseState(() => new TurnTimeoutError('too slow'));
    world.store.isAway = true;
    await note(ALICE, POISON);
    await expect(partition.step()).rejects.toThrow('away');
    expect(world.store.deadLetters).toEqual([]);
  });
});

describe('an actor whose message cannot even become a dead letter', () => {
  beforeEach(() => {
    refuseState(outOfRange);
    const refuses = world.store.refuses;
    world.store.refuses = (writes) => (writes.deadLetters.length > 0 ? outOfRange() : refuses(writes));
  });

  it('ends, and the partition goes on', async () => {
    const [, other] = neighbours(2) as [ActorKey, ActorKey];
    await note(ALICE, POISON);
    await note(other, '1');
    await partition.step();
    expect(world.store.endedActors).toEqual([{ key: ALICE, type: 'Note', error: 'INTERNAL_22003' }]);
    expect(world.store.actors.get(ALICE)).toMatchObject({ terminal: true, state: null });
    await note(ALICE, 'late');
    await note(other, '2');
    await partition.step();
    expect(world.stateOf(other).notes).toEqual(['1', '2']);
    expect([world.timersOf(ALICE), world.bus.hasMail(partition.part)]).toEqual([[], false]);
  });

  it('is left alone for ten minutes when it cannot be ended either', async () => {
    world.store.refusesGrave = outOfRange();
    await note(ALICE, POISON);
    await partition.step();
    world.store.refuses = () => null;
    await note(ALICE, 'dropped');
    await partition.step();
    expect(world.store.actors.get(ALICE)?.state).toBeNull();
    world.clock.advance(600_000);
    await note(ALICE, 'heard');
    await partition.step();
    expect(world.stateOf(ALICE).notes).toEqual(['heard']);
  });
});

describe('a message that ends the process', () => {
  /** Handles the mail until the killer is met; then the process is gone, with what it held. */
  async function die(owner: Partition): Promise<void> {
    world.store.refuses = (writes) =>
      writes.actors.some(({ state }) => state.includes(POISON)) ? new Error('the process has ended') : null;
    const { mark } = world.store;
    // A dead process does not take its mark back.
    world.store.mark = (part, key, n) =>
      n === null && key === ALICE ? Promise.reject(new Error('dead')) : mark.call(world.store, part, key, n);
    await expect(owner.step()).rejects.toThrow();
    world.store.mark = mark;
  }

  it('costs six owners at most, and nothing but itself is lost', async () => {
    const [, other] = neighbours(2) as [ActorKey, ActorKey];
    await note(ALICE, '1');
    await note(ALICE, POISON);
    await note(other, '1');
    let deaths = 0;
    for (let owner = partition; world.store.deadLetters.length === 0 && deaths < 10; owner = await world.own(ALICE)) {
      if (world.store.actors.get(ALICE) === undefined || world.bus.hasMail(owner.part)) {
        try {
          await die(owner);
          deaths++;
        } catch {
          // It lived: the message became a dead letter unread.
        }
      }
    }
    expect(deaths).toBeLessThanOrEqual(6);
    expect(world.store.deadLetters).toMatchObject([{ key: ALICE, error: expect.stringContaining('processes ended') }]);
    const last = await world.own(ALICE);
    await note(other, '2');
    await world.run(last);
    expect(world.stateOf(other).notes).toEqual(['1', '2']);
    expect(world.stateOf(ALICE).notes).toEqual(['1']);
  });

  it('is not looked for after owners that released the partition', async () => {
    await partition.close();
    for (let i = 0; i < 3; i++) await (await world.own(ALICE)).close();
    expect(await world.store.lostOwners(partition.part)).toBe(0);
  });
});
