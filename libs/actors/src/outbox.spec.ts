import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Envelope } from '@troupe/contracts';
import { message, SILENT } from './note-actor.fixture.js';
import { Outbox } from './outbox.js';
import type { ActorStore, Bus, OutboxRow } from './ports.js';

const PART = 7;
let now: number;
/** Rows old enough to be sent again, and those that are not yet. */
let stored: OutboxRow[];
let young: OutboxRow[];
let deleted: number[][];
let sweeps: number;
/** Ids in the order of publishing. */
let published: string[];
let isDown: boolean;
let isStoreAway: boolean;
let outbox: Outbox;

function work(id: number): OutboxRow {
  const msg = {
    type: 'Kick',
    task: 'robots',
    actor: 'domain/h',
    host: 'h',
    url: 'http://h/robots.txt',
    agent: 'x',
  } as const;
  return {
    id,
    from: 'domain/h',
    to: null,
    n: null,
    payload: { kind: 'work', cls: 'kick', prio: 'hi', id: `w${id}`, msg },
  };
}

function pair(id: number): OutboxRow {
  const envelope: Envelope = {
    id: '',
    type: 'Note',
    v: 1,
    from: 'crawl/a',
    to: 'crawl/b',
    n: id,
    body: message({ type: 'Note', text: 'x' }),
  };
  return { id, from: 'crawl/a', to: 'crawl/b', n: id, payload: { kind: 'actor', envelope } };
}

/** The publishing promises settle. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

beforeEach(async () => {
  now = 1_000;
  isStoreAway = false;
  [stored, young, deleted, sweeps, published, isDown] = [[], [], [], 0, [], false];
  const publish = async (id: string): Promise<void> => {
    published.push(id);
    if (isDown) throw new Error('no stream');
  };
  const store = {
    loadOutbox: async (_part: number, minAgeMs: number, limit: number) =>
      (minAgeMs === 0 ? [...stored, ...young] : stored).slice(0, limit),
    loadOpenPairs: async (_part: number, minAgeMs: number, after: number, limit: number) =>
      (minAgeMs === 0 ? [...stored, ...young] : stored)
        .filter(({ id, to }) => to !== null && id > after)
        .slice(0, limit),
    deleteOutbox: async (_part: number, ids: number[]) => {
      if (isStoreAway) throw new Error('no store');
      deleted.push(ids);
    },
    sweepPairs: async () => void sweeps++,
  } as unknown as ActorStore;
  const bus = {
    publishActor: (envelope: Envelope) => publish(envelope.id),
    publishWork: (_cls: string, _prio: string, id: string) => publish(id),
  } as unknown as Bus;
  outbox = new Outbox(PART, { store, bus, log: SILENT, clock: { now: () => now, wall: () => now } });
  await outbox.recover();
});

describe('work in the outbox', () => {
  it('is deleted in batches once the stream has it', async () => {
    outbox.publish(Array.from({ length: 63 }, (_, i) => work(i + 1)));
    await settle();
    await outbox.tend();
    expect(deleted).toEqual([]);
    outbox.publish([work(64)]);
    await settle();
    await outbox.tend();
    expect(deleted).toEqual([Array.from({ length: 64 }, (_, i) => i + 1)]);
    await outbox.tend(true);
    expect(deleted).toHaveLength(1);
  });

  it('is deleted at once when the partition has time, or closes', async () => {
    outbox.publish([work(1)]);
    await settle();
    await outbox.tend(true);
    expect(deleted).toEqual([[1]]);
  });

  it('is published again under the same id, a second later, until the stream has it; only then is it deleted', async () => {
    isDown = true;
    outbox.publish([work(1)]);
    await settle();
    await outbox.tend(true);
    expect(published).toEqual(['o.7.1']);
    for (let tries = 0; tries < 3; tries++) {
      now += 1_000;
      isDown = tries < 2;
      await outbox.tend(true);
      await settle();
    }
    expect(published).toEqual(['o.7.1', 'o.7.1', 'o.7.1', 'o.7.1']);
    expect(deleted).toEqual([]);
    await outbox.tend(true);
    expect(deleted).toEqual([[1]]);
    now += 60_000;
    await outbox.tend(true);
    expect(published).toHaveLength(4);
  });

  it('is deleted later when the store could not', async () => {
    outbox.publish([work(1), work(2)]);
    await settle();
    isStoreAway = true;
    await expect(outbox.tend(true)).rejects.toThrow('no store');
    isStoreAway = false;
    await outbox.tend(true);
    expect(deleted).toEqual([[1, 2]]);
  });

  it('of an earlier owner is published when the partition is opened', async () => {
    stored = [work(1), pair(2), work(3)];
    await outbox.recover();
    await settle();
    expect(published).toEqual(['o.7.1', 'o.7.2.1', 'o.7.3']);
    await outbox.tend(true);
    expect(deleted).toEqual([[1, 3]]);
  });

  it('of an earlier owner is published however much it is', async () => {
    stored = Array.from({ length: 600 }, (_, i) => work(i + 1));
    await outbox.recover();
    for (let round = 0; round < 5; round++) {
      await settle();
      await outbox.tend(true);
      const gone = new Set(deleted.flat());
      stored = stored.filter(({ id }) => !gone.has(id));
      now += 30_000;
    }
    expect(published).toHaveLength(600);
  });
});

describe('pair messages in the outbox', () => {
  it('stay when the stream has them, and are sent again under another id while the receiver has not passed them', async () => {
    outbox.publish([pair(1), pair(2)]);
    await settle();
    await outbox.tend(true);
    expect(deleted).toEqual([]);
    stored = [pair(1), pair(2)];
    now += 30_000;
    await outbox.tend();
    await settle();
    expect(sweeps).toBe(1);
    expect(published.slice(0, 2)).toEqual(['o.7.1.0', 'o.7.2.0']);
    expect(published).toHaveLength(4);
    expect(new Set(published).size).toBe(4);
    expect(deleted).toEqual([]);
  });

  it('are sent again however many they are, and whatever work lies between them', async () => {
    stored = Array.from({ length: 1_300 }, (_, i) => (i % 2 === 0 ? work(i + 1) : pair(i + 1)));
    await outbox.recover();
    published = [];
    now += 30_000;
    await outbox.tend();
    await settle();
    expect(new Set(published).size).toBe(650);
    expect(published.every((id) => Number(id.split('.')[2]) % 2 === 0)).toBe(true);
  });

  it('are asked about every thirty seconds while some are open, and no longer', async () => {
    outbox.publish([pair(1)]);
    await settle();
    await outbox.tend();
    stored = [pair(1)];
    for (let i = 0; i < 4; i++) {
      now += 15_000;
      await outbox.tend();
    }
    expect(sweeps).toBe(2);
    stored = [];
    for (let i = 0; i < 10; i++) {
      now += 30_000;
      await outbox.tend();
    }
    expect(sweeps).toBe(3);
  });

  it('are asked about again when all were too young to be sent again the first time', async () => {
    now += 20_000;
    outbox.publish([pair(1)]);
    now += 10_000;
    young = [pair(1)];
    await outbox.tend();
    [stored, young] = [young, []];
    now += 30_000;
    await outbox.tend();
    expect(published).toHaveLength(2);
  });

  it('need no retry of their own when the stream is away', async () => {
    isDown = true;
    outbox.publish([pair(1)]);
    await settle();
    now += 5_000;
    await outbox.tend();
    expect(published).toHaveLength(1);
  });
});
