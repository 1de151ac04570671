import { beforeEach, describe, expect, it } from '@jest/globals';
import { partitionOf, type ActorKey, type Envelope } from '@troupe/contracts';
import type { Clock } from './clock.js';
import { message, NoteWorld, keysInTwoPartitions, type Order } from './note-actor.fixture.js';
import { PARTITION_DEFAULTS, type Partition } from './partition.js';
import { FencedError } from './ports.js';
import { NO_FAULTS } from './simulation/faults.js';

const [ALICE, BOB] = keysInTwoPartitions('crawl');
/** Restarts when it is over. */
const [HOST] = keysInTwoPartitions('domain');

let world: NoteWorld;

function raise(error: Error): never {
  throw error;
}

beforeEach(() => {
  world = new NoteWorld();
});

/** Whether there was mail that was not acknowledged, at each commit that is tried from now on. */
function watchMail(part: number): boolean[] {
  const seen: boolean[] = [];
  const commitTurn = world.store.commitTurn.bind(world.store);
  world.store.commitTurn = (head, decide) => {
    seen.push(world.bus.hasMail(part));
    return commitTurn(head, decide);
  };
  return seen;
}

async function tellBob(...texts: string[]): Promise<void> {
  for (const text of texts) await world.send(ALICE, { type: 'Tell', to: BOB, text });
}

describe('messages between two actors', () => {
  it('arrive once and in order though every first publish is lost', async () => {
    const seen = new Set<string>();
    world.bus.isLost = ({ from, to, n }) =>
      n !== null && !seen.has(`${from} ${to} ${n}`) && !!seen.add(`${from} ${to} ${n}`);
    const [alice, bob] = [await world.own(ALICE), await world.own(BOB)];
    await tellBob('1', '2', '3');
    await world.run(alice);
    await world.run(bob);
    expect(world.stateOf(BOB)).toBeNull();
    expect(world.pairsOf(ALICE)).toEqual([1, 2, 3]);
    world.clock.advance(30_000);
    await world.run(alice);
    await world.run(bob);
    expect(world.stateOf(BOB).notes).toEqual(['1', '2', '3']);
  });

  it('are read from the outbox by the next one that arrives', async () => {
    world.bus.isLost = ({ n }) => n !== null && n < 3;
    const [alice, bob] = [await world.own(ALICE), await world.own(BOB)];
    await tellBob('1', '2', '3');
    await world.run(alice);
    await world.run(bob);
    expect(world.stateOf(BOB).notes).toEqual(['1', '2', '3']);
  });

  it('go out although the answer to the commit of their turn was lost', async () => {
    const [alice, bob] = [await world.own(ALICE), await world.own(BOB)];
    await world.send(ALICE, { type: 'Tell', to: BOB, text: 'x' }, { from: 'crawl/z', n: 1 });
    world.store.faults = { ...NO_FAULTS, afterCommit: () => raise(new Error('connection lost')) };
    await expect(alice.step()).rejects.toThrow('connection lost');
    world.store.faults = NO_FAULTS;
    await world.run(alice);
    world.clock.advance(5_000);
    await world.run(alice);
    await world.run(bob);
    expect([world.pairsOf(ALICE), world.stateOf(BOB)?.notes]).toEqual([[1], ['x']]);
  });

  it('stay in the outbox until the receiver has committed them', async () => {
    const [alice, bob] = [await world.own(ALICE), await world.own(BOB)];
    await tellBob('1', '2');
    await world.run(alice);
    world.clock.advance(30_000);
    await world.run(alice);
    expect(world.pairsOf(ALICE)).toEqual([1, 2]);
    await world.run(bob);
    world.clock.advance(30_000);
    await world.run(alice);
    expect(world.pairsOf(ALICE)).toEqual([]);
    expect(world.stateOf(BOB).notes).toEqual(['1', '2']);
  });

  it('are ignored when they come again, also by the next owner', async () => {
    world.bus.troubles = { loss: 0, duplication: 1, reordering: 0, lateness: 0 };
    const alice = await world.own(ALICE);
    const bob = await world.own(BOB);
    await world.send(ALICE, { type: 'Tell', to: BOB, text: 'x' }, { from: 'crawl/z', n: 1 });
    await world.run(alice);
    await world.run(bob);
    expect(world.stateOf(BOB).notes).toEqual(['x']);
    for (const envelope of world.bus.sent.filter(({ to }) => to === BOB))
      await world.bus.publishActor({ ...envelope, id: 'again' });
    await world.run(await world.own(BOB));
    expect(world.stateOf(BOB).notes).toEqual(['x']);
  });

  it('are numbered on by the next owner of the sender', async () => {
    const bob = await world.own(BOB);
    await tellBob('1');
    await world.run(await world.own(ALICE));
    await tellBob('2');
    await world.run(await world.own(ALICE));
    await world.run(bob);
    expect(world.stateOf(BOB).notes).toEqual(['1', '2']);
  });
});

describe('a message that cannot be handled', () => {
  it('is tried three times alone, then becomes a dead letter and never returns', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Bad' });
    await world.run(partition);
    expect(world.tried).toHaveLength(3);
    expect(world.store.deadLetters).toMatchObject([
      { key: ALICE, type: 'Bad', envelope: { body: { type: 'Bad' } }, error: expect.stringContaining('bad order') },
    ]);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });

  it("leaves the actor's other messages in their order, and other actors alone", async () => {
    const other = neighbourOf(ALICE);
    const partition = await world.own(ALICE);
    for (const text of ['1', '2', '3', '4', '5']) {
      await world.send(ALICE, { type: 'Note', text });
      if (text === '2' || text === '4') await world.send(ALICE, { type: 'Bad' });
      await world.send(other, { type: 'Note', text });
    }
    await world.run(partition);
    expect(world.stateOf(ALICE).notes).toEqual(['1', '2', '3', '4', '5']);
    expect(world.stateOf(other).notes).toEqual(['1', '2', '3', '4', '5']);
    expect(world.store.deadLetters).toHaveLength(2);
    expect(world.stateOf(ALICE).failed).toBeNull();
  });

  it('fails its actor visibly when its type is vital', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Start', bad: true });
    await world.run(partition);
    expect(world.stateOf(ALICE)).toMatchObject({
      failed: expect.stringContaining('bad start'),
      lost: { type: 'Start', bad: true },
      over: true,
    });
    expect(world.store.deadLetters).toHaveLength(1);
  });

  it('of class pair does not hold up the ones behind it', async () => {
    const bob = await world.own(BOB);
    await world.send(BOB, { type: 'Note', text: '1' }, { from: ALICE, n: 1 });
    await world.send(BOB, { type: 'Bad' }, { from: ALICE, n: 2 });
    await world.run(bob);
    expect(world.store.deadLetters).toMatchObject([{ type: 'Bad' }]);
    await world.send(BOB, { type: 'Note', text: '3' }, { from: ALICE, n: 3 });
    await world.run(bob);
    expect(world.stateOf(BOB).notes).toEqual(['1', '3']);
  });
});

describe('a message of another version', () => {
  it.each([
    [1, ['x']],
    [2, ['x']],
  ])('%i is read as well', async (v, notes) => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'x' }, { v });
    await world.run(partition);
    expect(world.stateOf(ALICE).notes).toEqual(notes);
  });

  it.each([0, 3])('%i is given back, and handled by a release that knows it', async (v) => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'x' }, { v });
    await partition.step();
    expect([world.revOf(ALICE), world.bus.hasMail(partition.part)]).toEqual([0, true]);
    await world.run(await world.own(ALICE, v === 0 ? 1 : 3));
    expect(world.stateOf(ALICE).notes).toEqual(['x']);
  });
});

describe('an actor that is over', () => {
  it('drops messages and deletes the timers it left behind', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Remind', name: 'later', inMs: 1_000 });
    await world.send(ALICE, { type: 'End' });
    await world.run(partition);
    const rev = world.revOf(ALICE);
    expect(world.timersOf(ALICE)).toEqual(['later']);
    await world.send(ALICE, { type: 'Note', text: 'late' });
    world.clock.advance(1_000);
    await world.run(partition);
    expect(world.timersOf(ALICE)).toEqual([]);
    expect(world.stateOf(ALICE).notes).toEqual([]);
    expect([world.revOf(ALICE), world.bus.hasMail(partition.part)]).toEqual([rev, false]);
  });

  it('is reached by the types that wake it, its state as it was', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'before' });
    await world.send(ALICE, { type: 'End' });
    await world.run(partition);
    await world.send(ALICE, { type: 'Wake' });
    await world.run(partition);
    expect(world.stateOf(ALICE)).toEqual({ notes: ['before', 'awake'], failed: null, over: false });
    expect(world.timersOf(ALICE)).toEqual(['heartbeat']);
  });

  it('of whose state nothing is left fails visibly when it is woken, and does not live again', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'before' });
    await world.run(partition);
    await world.store.endActor(partition.part, partition.epoch, { key: ALICE, type: 'Note', error: 'INTERNAL_22021' });
    const next = await world.own(ALICE);
    for (const n of [1, 2]) {
      await world.send(ALICE, { type: 'Wake' }, { from: 'crawl/z', n });
      await world.run(next);
      expect([world.store.actors.get(ALICE)?.terminal, world.timersOf(ALICE)]).toEqual([true, []]);
    }
    expect(world.stateOf(ALICE)).toEqual({
      notes: [],
      failed: 'nothing is left of the state of its actor',
      lost: { type: 'Wake' },
      over: true,
    });
  });

  it('starts anew with the next message when its kind restarts', async () => {
    const partition = await world.own(HOST);
    await world.send(HOST, { type: 'Note', text: 'old' });
    await world.send(HOST, { type: 'End' });
    await world.run(partition);
    expect(world.stateOf(HOST)).toMatchObject({ over: true });
    await world.send(HOST, { type: 'Note', text: 'new' });
    await world.run(partition);
    expect(world.stateOf(HOST)).toEqual({ notes: ['new'], failed: null, over: false });
    expect(world.timersOf(HOST)).toEqual(['heartbeat']);
  });
});

describe('timers', () => {
  it('fire once when they are due, and survive their owner', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Remind', name: 'soon', inMs: 500 });
    await world.send(ALICE, { type: 'Remind', name: 'later', inMs: 100_000 });
    await world.run(partition);
    world.clock.advance(500);
    await world.run(partition);
    expect(world.stateOf(ALICE).notes).toEqual(['timer soon']);
    const next = await world.own(ALICE);
    world.clock.advance(100_000);
    await world.run(next);
    await world.run(next);
    expect(world.stateOf(ALICE).notes).toEqual(['timer soon', 'timer later']);
  });
});

describe('a drain', () => {
  const PACE_MS = PARTITION_DEFAULTS.paceMs;
  beforeEach(() => void (world.paceMs = PACE_MS));

  it('begins at once after a rest', async () => {
    const partition = await world.own(ALICE);
    await world.run(partition);
    world.clock.advance(PACE_MS);
    await world.send(ALICE, { type: 'Note', text: 'first' });
    const sentAt = world.clock.now();
    await partition.step();
    expect(world.stateOf(ALICE).notes).toEqual(['first']);
    expect(world.clock.now()).toBe(sentAt);
  });

  it('waits for its turn after another one, so that what comes meanwhile shares a transaction', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'first' });
    await partition.step();
    const startedAt = world.clock.now();
    await world.send(ALICE, { type: 'Note', text: 'second' });
    world.clock.advance(5);
    await partition.step();
    expect(world.clock.now()).toBe(startedAt + PACE_MS);
    expect(world.stateOf(ALICE).notes).toEqual(['first', 'second']);
  });
});

describe('a cancel', () => {
  it('goes before the other messages of its drain', async () => {
    const partition = await world.own(ALICE);
    for (const text of ['1', '2']) await world.send(ALICE, { type: 'Remind', name: text, inMs: 10 });
    await world.run(partition);
    world.clock.advance(10);
    await world.send(ALICE, { type: 'Cancel' });
    await partition.step();
    expect(world.stateOf(ALICE).notes).toEqual(['cancel', 'timer 1', 'timer 2']);
  });
});

describe('an owner that was deposed', () => {
  it('commits nothing more, and its successor does the work once', async () => {
    const old = await world.own(ALICE);
    await world.send(ALICE, { type: 'Remind', name: 'soon', inMs: 100 });
    await world.run(old);
    const successor = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'x' });
    await world.run(successor);
    world.clock.advance(100);
    await expect(old.step()).rejects.toThrow(FencedError);
    expect(world.stateOf(ALICE).notes).toEqual(['x']);
    await world.run(successor);
    expect(world.stateOf(ALICE).notes).toEqual(['x', 'timer soon']);
  });

  it('leaves unpublished work to its successor', async () => {
    const old = await world.own(ALICE);
    const publishWork = world.bus.publishWork.bind(world.bus);
    world.bus.publishWork = () => Promise.reject(new Error('no stream'));
    await world.send(ALICE, { type: 'Work', id: 'w' });
    await world.run(old);
    world.bus.publishWork = publishWork;
    expect(world.bus.work).toHaveLength(0);
    await world.own(ALICE);
    expect(world.bus.work).toHaveLength(1);
  });
});

describe('several messages in one piece of mail', () => {
  it('are handled one by one, and acknowledged together', async () => {
    const partition = await world.own(ALICE);
    const orders: Order[] = [{ type: 'Note', text: '1' }, { type: 'Bad' }, { type: 'Note', text: '2' }];
    const bundle = { type: 'Bundle', messages: orders.map(message) };
    await world.bus.publishActor({
      id: 'b',
      type: 'Bundle',
      v: 2,
      from: 'w/x',
      to: ALICE,
      n: null,
      body: bundle as never,
    });
    const unread = watchMail(partition.part);
    await world.run(partition);
    // Messages acknowledged before the last one is committed are lost with the process.
    expect(unread).toEqual(Array(unread.length).fill(true));
    expect(unread.length).toBeGreaterThan(3);
    expect(world.stateOf(ALICE).notes).toEqual(['1', '2']);
    expect(world.store.deadLetters).toMatchObject([{ type: 'Bad', envelope: { type: 'Bad', body: { type: 'Bad' } } }]);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });
});

describe('level messages of one drain', () => {
  const order = (order: Order, more: Partial<Envelope> = {}) =>
    ({ id: 'v', type: 'Note', v: 2, from: 'w/x', to: ALICE, n: null, body: message(order), ...more }) as Envelope;
  const bundleOf = (...letters: Envelope[]) =>
    ({ ...letters[0]!, type: 'Sack', body: { type: 'Sack', letters } }) as never;

  it('to several actors are handed to each, and acknowledged together', async () => {
    const neighbour = neighbourOf(ALICE);
    const partition = await world.own(ALICE);
    const letters = [
      order({ type: 'Note', text: '1' }),
      order({ type: 'Bad' }, { to: neighbour }),
      order({ type: 'Note', text: '2' }, { to: neighbour }),
      order({ type: 'Note', text: '3' }),
    ];
    await world.bus.publishActor(bundleOf(...letters));
    const unread = watchMail(partition.part);
    await world.run(partition);
    expect(unread).toEqual(Array(unread.length).fill(true));
    expect(unread.length).toBeGreaterThan(3);
    expect([world.stateOf(ALICE).notes, world.stateOf(neighbour).notes]).toEqual([['1', '3'], ['2']]);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });

  it('are dropped one by one where their actor does not live', async () => {
    const partition = await world.own(ALICE);
    await world.bus.publishActor(
      bundleOf(order({ type: 'Note', text: '1' }), order({ type: 'Note', text: '2' }, { to: BOB })),
    );
    await world.run(partition);
    expect([world.stateOf(ALICE).notes, world.revOf(BOB)]).toEqual([['1'], 0]);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });

  it('wait together when one is of an unknown version', async () => {
    const partition = await world.own(ALICE);
    await world.bus.publishActor(
      bundleOf(order({ type: 'Note', text: '1' }), order({ type: 'Note', text: '2' }, { v: 9 })),
    );
    await partition.step();
    expect(world.revOf(ALICE)).toBe(0);
    expect(world.bus.hasMail(partition.part)).toBe(true);
  });
});

describe('level messages of the own process', () => {
  const note = (text: string) => {
    const body = message({ type: 'Note', text });
    return { id: text, type: 'Note', v: 2, from: BOB, to: ALICE, n: null, body } as Envelope;
  };

  it('are handled as they were when they were sent', async () => {
    const partition = await world.own(ALICE);
    const letter = note('1');
    expect(partition.receive(letter)).toBe(true);
    (letter.body as unknown as { text: string }).text = 'changed by its sender';
    await world.send(ALICE, { type: 'Note', text: 'from afar' });
    await world.run(partition);
    expect(world.stateOf(ALICE).notes.sort()).toEqual(['1', 'from afar']);
    expect(world.bus.sent).toHaveLength(1);
  });

  it('go over the bus when they have not been read at the end', async () => {
    const [former, next] = [await world.own(ALICE), await world.own(ALICE)];
    expect(former.receive(note('1'))).toBe(true);
    await former.close();
    expect(former.receive(note('2'))).toBe(false);
    expect(world.bus.sent.map(({ id }) => id)).toEqual(['1']);
    await world.run(next);
    expect(world.stateOf(ALICE).notes).toEqual(['1']);
  });

  it('are taken only until there are very many, and drained in parts', async () => {
    const partition = await world.own(ALICE);
    const taken = Array.from({ length: 5_000 }, (_, i) => partition.receive(note(String(i)))).filter(Boolean).length;
    expect(taken).toBe(4_096);
    await partition.step();
    expect(world.stateOf(ALICE).notes).toHaveLength(256);
    for (let steps = 0; steps < 16; steps++) await partition.step();
    expect(world.stateOf(ALICE).notes).toHaveLength(4_096);
  });
});

describe("an actor's own time", () => {
  /** A machine whose clocks say something else. */
  const clockOf = (offsetMs: number): Clock => ({
    now: () => world.clock.now() + offsetMs,
    wall: () => world.clock.wall() + 2 * offsetMs,
    sleep: (ms) => world.clock.sleep(ms),
  });

  async function look(partition: Partition, afterMs: number): Promise<number> {
    world.clock.advance(afterMs);
    await world.send(ALICE, { type: 'Look' });
    await world.run(partition);
    return world.stateOf(ALICE).times!.at(-1)!;
  }

  it('goes on from owner to owner, whatever their clocks say', async () => {
    const times: number[] = [];
    for (const offsetMs of [0, 3_600_000, -7_200_000, 5]) {
      const partition = await world.own(ALICE, 2, clockOf(offsetMs));
      times.push(await look(partition, 1_000), await look(partition, 500));
    }
    const steps = times.slice(1).map((time, i) => time - times[i]!);
    // The store is asked when the actor is activated, which is when it is told something.
    expect(steps).toEqual([500, 1_000, 500, 1_000, 500, 1_000, 500]);
  });

  it('jumps by an hour at most, and never back, when the clock of the store is set', async () => {
    const first = await look(await world.own(ALICE), 1_000);
    const row = world.store.actors.get(ALICE)!;
    row.updatedAt = world.clock.now() + 86_400_000;
    const second = await look(await world.own(ALICE), 0);
    row.updatedAt = world.clock.now() - 86_400_000;
    const third = await look(await world.own(ALICE), 0);
    expect([second - first, third - second]).toEqual([0, 3_600_000]);
  });
});

describe('a message of a version that no owner knows', () => {
  const MINUTE_MS = 60_000;
  const strange = { v: 9 };

  async function waitFor(partition: Partition, minutes: number): Promise<void> {
    world.clock.advance(minutes * MINUTE_MS);
    await partition.step();
  }

  it('waits for an owner that knows it, and becomes a dead letter after 15 minutes', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'from the future' }, strange);
    await waitFor(partition, 0);
    await waitFor(partition, 14);
    expect([world.store.deadLetters, world.bus.hasMail(partition.part)]).toEqual([[], true]);
    await waitFor(partition, 1);
    expect(world.store.deadLetters).toMatchObject([
      { key: ALICE, type: 'Note', envelope: { v: 9 }, error: expect.stringContaining('version 9 of Note') },
    ]);
    expect([world.tried, world.bus.hasMail(partition.part)]).toEqual([[], false]);
    await world.send(ALICE, { type: 'Note', text: 'later' });
    await world.run(partition);
    expect([world.stateOf(ALICE).notes, world.store.deadLetters.length]).toEqual([['later'], 1]);
  });

  it('is handled by the owner that knows it, however late', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: 'early' }, strange);
    await waitFor(partition, 14);
    const next = await world.own(ALICE, 9);
    await waitFor(next, 20);
    await world.run(next);
    expect([world.stateOf(ALICE).notes, world.store.deadLetters]).toEqual([['early'], []]);
  });

  it('gives way to what it came with, when its time is over', async () => {
    const partition = await world.own(ALICE);
    const letter = (text: string, more: object = {}) => {
      const body = message({ type: 'Note', text });
      return { id: text, type: 'Note', v: 2, from: 'w/x', to: ALICE, n: null, body, ...more } as Envelope;
    };
    const letters = [letter('1'), letter('2', strange), letter('3')];
    await world.bus.publishActor({ ...letters[0]!, type: 'Sack', body: { type: 'Sack', letters } } as never);
    await waitFor(partition, 0);
    await waitFor(partition, 15);
    expect(world.stateOf(ALICE).notes).toEqual(['1', '3']);
    expect(world.store.deadLetters).toHaveLength(1);
    expect(world.bus.hasMail(partition.part)).toBe(false);
  });

  it('keeps its place between two actors: what follows it is handled, what came before it is not lost', async () => {
    const partition = await world.own(ALICE);
    await world.send(ALICE, { type: 'Note', text: '2' }, { ...strange, from: BOB, n: 2 });
    await waitFor(partition, 0);
    await waitFor(partition, 15);
    expect([world.store.deadLetters, world.bus.hasMail(partition.part)]).toEqual([[], false]);
    await world.send(ALICE, { type: 'Note', text: '1' }, { from: BOB, n: 1 });
    await world.run(partition);
    await world.send(ALICE, { type: 'Note', text: '2' }, { ...strange, from: BOB, n: 2 });
    await waitFor(partition, 0);
    await waitFor(partition, 15);
    await world.send(ALICE, { type: 'Note', text: '3' }, { from: BOB, n: 3 });
    await world.run(partition);
    expect([world.stateOf(ALICE).notes, world.store.deadLetters.length]).toEqual([['1', '3'], 1]);
  });
});

describe('a message in the wrong mailbox', () => {
  it('is dropped', async () => {
    const partition = await world.own(ALICE);
    const mailbox = world.bus as unknown as { stream(part: number): object[] };
    const envelope = { id: 'x', type: 'Note', v: 2, from: 'gw/x', to: BOB, n: null, body: {} };
    mailbox.stream(partition.part).push({ envelope, sentAt: 0, arrivesAt: 0, acked: false });
    await world.run(partition);
    expect([world.revOf(BOB), world.bus.hasMail(partition.part)]).toEqual([0, false]);
  });
});

/** Another actor that lives in the partition of this one. */
function neighbourOf(key: ActorKey): ActorKey {
  for (let i = 0; ; i++) {
    const neighbour: ActorKey = `crawl/peer${i}`;
    if (partitionOf(neighbour) === partitionOf(key)) return neighbour;
  }
}
