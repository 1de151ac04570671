/**
 * One semantics of the actors' store: the same operations on the simulated store and on Postgres, side by side, everything
 * observable compared after each. What the simulation proves holds only where the two agree.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  FencedError,
  Random,
  SimClock,
  SimStore,
  type ActorStore,
  type OutboxRow,
  type TurnAnswers,
  type TurnWrites,
} from '@troupe/actors';
import { dayOf, jobNoOf, type ActorKey, type Envelope, type JobNo, type RowOp } from '@troupe/contracts';
import { PgActorStore } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';
import { candidate, step } from './turns.js';

const SEEDS = 30;
const STEPS = 60;
const HOUR_MS = 3_600_000;
const READY = 5;
const RUN = randomUUID();

let db: TestDatabase;
/** Methods of the store that some operation has called. */
const called = new Set<string>();

beforeAll(async () => void (db = await testDatabase()));
afterAll(() => db.drop());

/** Both stores, and what a test knows of them. */
class Pair {
  readonly sim = new SimStore(new SimClock());
  readonly pg = watched(new PgActorStore(db.pool, { resultTtlHours: 24 }));
  readonly jobNo: JobNo;
  readonly keys: ActorKey[];
  readonly epochs: number[] = [];
  readonly revs = new Map<ActorKey, number>();
  /** Items of the frontier: depth, and the lane they are in. */
  readonly items = new Map<number, { depth: number; lane: number | null; attempt: number }>();
  /** Lanes, their items as they were dispatched. */
  readonly lanes = new Map<number, number[]>();
  nextItem = 100;
  nextLane = 1;
  nextId = 1;
  pages = 0;
  seeds = 0;

  constructor(
    readonly part: number,
    private readonly random: Random,
  ) {
    this.jobNo = jobNoOf(dayOf(Date.now()), BigInt(5_000_000 + part));
    this.keys = [0, 1, 2].map((n): ActorKey => `crawl/${part}-${n}-${RUN}`);
  }

  /** The same call on both; equal answers, or the same refusal. */
  async both<T>(
    name: string,
    call: (store: ActorStore) => Promise<T>,
    view: (value: T) => unknown = (v) => v,
  ): Promise<T | null> {
    const ends = await Promise.all([this.sim, this.pg].map((store) => call(store).then(...settled<T>())));
    const [sim, pg] = ends.map((end) => ('error' in end ? { refused: nameOf(end.error) } : { value: view(end.value) }));
    expect({ [name]: pg }).toEqual({ [name]: sim });
    const last = ends[1]!;
    return 'value' in last ? last.value : null;
  }

  /** Everything that can be seen. */
  async compare(): Promise<void> {
    const { part, jobNo, keys } = this;
    const [after, since] = [this.random.int(0, this.nextId), this.random.int(0, 3)];
    const counted = this.random.pick([undefined, 3, 1000]);
    await this.both('memory', (store) => store.loadJobMemory(jobNo, READY, undefined, counted), sorted);
    await this.both(
      'timers',
      (store) => store.loadTimers(part, 60_000),
      (rows) => rows.map(({ key, name }) => `${key} ${name}`).sort(),
    );
    await this.both('outbox', (store) => store.loadOutbox(part, 0, 1000));
    await this.both('open pairs', (store) => store.loadOpenPairs(part, 0, after, 3));
    await this.both('pairs', (store) => store.loadPairs(keys[1]!, keys[0]!, since));
    await this.both(
      'cursors',
      (store) => store.loadCursors(keys),
      (rows) => rows.sort((a, b) => (`${a.to}${a.from}` < `${b.to}${b.from}` ? -1 : 1)),
    );
    await this.both(
      'marks',
      (store) => store.loadMarks(part),
      (marks) => [...marks].sort(),
    );
    await this.both('probe', (store) => store.probe());
  }

  get epoch(): number {
    return this.epochs.at(-1)!;
  }

  async mint(): Promise<void> {
    const epoch = await this.both('epoch', (store) => store.mintEpoch(this.part, 'me'));
    this.epochs.push(epoch!);
    await this.both('lost owners', (store) => store.lostOwners(this.part, this.epoch));
    await this.activate(this.epoch);
  }

  async activate(epoch: number): Promise<void> {
    const withoutAge = (rows: { ageMs: number }[]) => rows.map(({ ageMs: _, ...row }) => row);
    const rows = await this.both(
      'activation',
      (store) => store.activate(this.part, epoch, [...this.keys].sort()),
      withoutAge,
    );
    for (const { key, rev } of rows ?? []) this.revs.set(key, rev);
  }

  /** One turn; `fault` breaks it. */
  async turn(
    fault: 'rev' | 'epoch' | 'throw' | null,
    rows: RowOp[],
    more: Partial<TurnWrites> = {},
    asks: { urls?: number; seeds?: number } = {},
  ): Promise<void> {
    const key = this.random.pick(this.keys);
    const rev = this.revs.get(key) ?? 0;
    const urls = Array.from({ length: asks.urls ?? 0 }, () => {
      const n = this.random.int(0, 30);
      return candidate(this.jobNo, this.nextItem++, `http://h${n % 3}/${n}`, 1 + (n % 2));
    });
    const head = {
      part: this.part,
      epoch: fault === 'epoch' ? (this.epochs.at(-2) ?? this.epoch - 1) : this.epoch,
      fences: [{ key, rev: fault === 'rev' ? rev + 1 : rev }],
      candidates: urls,
      seeds:
        asks.seeds === undefined ? [] : [{ jobNo: this.jobNo, fromOrd: this.seeds, toOrd: this.seeds + asks.seeds }],
    };
    const heard: TurnAnswers[] = [];
    const commit = (store: ActorStore) =>
      store.commitTurn(head, (answers) => {
        heard.push(answers);
        if (fault === 'throw') throw new Error('handler bug');
        const actors = [step(key, rev, { n: rev })];
        const timers = [...(more.timers ?? []), { key, name: 'heartbeat', inMs: 100_000 }];
        return { actors, outbox: [], cursors: [], rows, deadLetters: [], ...more, timers };
      });
    await this.both('turn', commit);
    if (fault !== null) return;
    this.revs.set(key, rev + 1);
    expect(heard.map(plain)[1]).toEqual(heard.map(plain)[0]);
    for (const item of heard[0]!.admitted.get(this.jobNo) ?? [])
      this.items.set(item, { depth: urls.find((url) => url.item === item)!.depth, lane: null, attempt: 0 });
    for (const { ord } of heard[0]!.seeds.get(this.jobNo) ?? [])
      this.items.set(ord, { depth: 0, lane: null, attempt: 0 });
    this.seeds += asks.seeds ?? 0;
  }

  ready(): number[] {
    return [...this.items].filter(([, { lane }]) => lane === null).map(([item]) => item);
  }

  inLanes(): number[] {
    return [...this.items].filter(([, { lane }]) => lane !== null).map(([item]) => item);
  }

  mark(item: number, st: 0 | 1, attempt: number): RowOp {
    const { depth } = this.items.get(item)!;
    return {
      op: 'frontier.mark',
      jobNo: this.jobNo,
      depth,
      item,
      st,
      attempt,
      browser: attempt > 1,
      tries: 2 * attempt,
    };
  }
}

type Step = (pair: Pair, random: Random) => Promise<void>;

const OPERATIONS: Record<string, Step> = {
  admit: (pair, random) => pair.turn(null, [], {}, { urls: random.int(1, 6) }),
  'take seeds': (pair, random) => pair.turn(null, [], {}, { seeds: random.int(0, 3) }),
  'a stale revision': (pair) => pair.turn('rev', [], {}, { urls: 2 }),
  'a former epoch': (pair) => pair.turn('epoch', [], {}, { urls: 2 }),
  'a turn that throws': (pair) => pair.turn('throw', [], {}, { urls: 2 }),
  dispatch: async (pair, random) => {
    const items = pair.ready().slice(0, random.int(1, 4));
    if (items.length === 0) return;
    const lane = pair.nextLane++;
    const places = items.map((item) => ({ item, depth: pair.items.get(item)!.depth }));
    const row: RowOp = {
      op: 'lane.insert',
      jobNo: pair.jobNo,
      lane,
      host: 'h0',
      slot: { i: 1, gen: lane },
      token: { i: 2, gen: lane },
      items: places,
      run: null,
    };
    await pair.turn(null, [row, ...items.map((item) => pair.mark(item, 1, pair.items.get(item)!.attempt))]);
    for (const item of items) pair.items.get(item)!.lane = lane;
    pair.lanes.set(lane, items);
  },
  'start a lane': async (pair, random) => {
    const lane = random.pick([...pair.lanes.keys(), 0]);
    if (lane !== 0) await pair.turn(null, [{ op: 'lane.started', jobNo: pair.jobNo, lane, run: RUN }]);
  },
  // Its lane lives on: the item is ready and named by a lane at the same time.
  'put back': async (pair, random) => {
    const item = random.pick([...pair.inLanes(), 0]);
    if (item === 0) return;
    const known = pair.items.get(item)!;
    await pair.turn(null, [pair.mark(item, 0, known.attempt + 1)]);
    Object.assign(known, { lane: null, attempt: known.attempt + 1 });
  },
  settle: async (pair, random) => {
    const item = random.pick([...pair.inLanes(), 0]);
    if (item === 0) return;
    const { depth } = pair.items.get(item)!;
    await pair.turn(null, [{ op: 'frontier.delete', jobNo: pair.jobNo, depth, item }, pageOf(pair, item)]);
    pair.items.delete(item);
  },
  'end a lane': async (pair, random) => {
    const lane = random.pick([...pair.lanes.keys(), 0]);
    if (lane === 0) return;
    const left = [...pair.items].filter(([, known]) => known.lane === lane).map(([item]) => item);
    await pair.turn(null, [
      { op: 'lane.delete', jobNo: pair.jobNo, lane },
      ...left.map((item) => pair.mark(item, 0, pair.items.get(item)!.attempt)),
    ]);
    for (const item of left) pair.items.get(item)!.lane = null;
    pair.lanes.delete(lane);
  },
  // No turn does so. Items of no lane would be lost if they were not ready.
  'lose a lane': async (pair, random) => {
    const lane = random.pick([...pair.lanes.keys(), 0]);
    if (lane === 0 || !random.chance(0.3)) return;
    await pair.turn(null, [{ op: 'lane.delete', jobNo: pair.jobNo, lane }]);
    for (const known of pair.items.values()) if (known.lane === lane) known.lane = null;
    pair.lanes.delete(lane);
  },
  'send mail': (pair, random) => pair.turn(null, [], { outbox: [mailOf(pair, random), workOf(pair)] }),
  'read mail': (pair, random) =>
    pair.turn(null, [], { cursors: [{ to: pair.keys[1]!, from: pair.keys[0]!, n: random.int(1, 4) }] }),
  'set timers': (pair, random) => {
    const timer = (name: string) => ({
      key: random.pick(pair.keys),
      name,
      inMs: random.pick([null, -5, 10_000, HOUR_MS]),
    });
    return pair.turn(null, [], { timers: [timer('a'), timer('b'), timer('a')] });
  },
  publish: async (pair, random) => {
    const rows = await pair.pg.loadOutbox(pair.part, 0, random.int(1, 3));
    await pair.both('delete', (store) =>
      store.deleteOutbox(
        pair.part,
        rows.map(({ id }) => id),
      ),
    );
  },
  sweep: (pair) => pair.both('sweep', (store) => store.sweepPairs(pair.part)).then(() => undefined),
  'another owner': (pair) => pair.mint(),
  'a former owner comes back': (pair, random) => pair.activate(random.pick(pair.epochs)),
  'mark a turn': async (pair, random) => {
    const n = random.int(1, 4);
    await pair.both('mark', (store) => store.mark(pair.part, pair.keys[0]!, n));
  },
  'end a marked turn': (pair) =>
    pair.both('mark', (store) => store.mark(pair.part, pair.keys[0]!, null)).then(() => undefined),
  'release the partition': (pair, random) => {
    const epoch = random.pick(pair.epochs);
    return pair.both('release', (store) => store.releasePartition(pair.part, epoch)).then(() => undefined);
  },
  endActor: async (pair, random) => {
    const [key, epoch] = [random.pick(pair.keys), random.pick(pair.epochs)];
    await pair.both('ended', (store) => store.endActor(pair.part, epoch, { key, type: 'x', error: 'INTERNAL_22003' }));
    await pair.activate(pair.epoch);
  },
};

describe('the simulated store and Postgres', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    'agree on everything that can be seen, seed %i',
    async (seed) => {
      const random = new Random(seed);
      const pair = new Pair(20 + seed, random);
      await seedBoth(pair);
      await pair.mint();
      const trail: string[] = [];
      for (let i = 0; i < STEPS; i++) {
        const name = random.pick(Object.keys(OPERATIONS));
        trail.push(name);
        try {
          await OPERATIONS[name]!(pair, random);
          await pair.compare();
        } catch (error) {
          throw new Error(`seed ${seed} after ${trail.slice(-8).join(', ')}: ${String(error)}`, { cause: error });
        }
      }
    },
  );

  it('are compared by every method of the store', () => {
    const methods = Object.getOwnPropertyNames(SimStore.prototype).filter((name) => Object.hasOwn(pgMethods(), name));
    expect([...called].sort()).toEqual(methods.sort());
  });
});

/** Methods that both have: those of the port. */
function pgMethods(): Record<string, true> {
  const names = Object.getOwnPropertyNames(PgActorStore.prototype).filter((name) => name !== 'constructor');
  return Object.fromEntries(names.map((name) => [name, true]));
}

function watched(store: PgActorStore): PgActorStore {
  return new Proxy(store, {
    get: (target, name, receiver) => {
      const value = Reflect.get(target, name, receiver) as unknown;
      if (typeof value !== 'function') return value;
      called.add(String(name));
      return (value as (...args: unknown[]) => unknown).bind(target);
    },
  });
}

async function seedBoth(pair: Pair): Promise<void> {
  const urls = Array.from({ length: 20 }, (_, i) => `http://seed${i % 2}/${i}`);
  pair.sim.job(pair.jobNo).seeds.push(...urls);
  await db.pool.query(
    `INSERT INTO job_seed (job_no, ord, url, host) SELECT $1, ord - 1, url, split_part(url, '/', 3)
      FROM unnest($2::text[]) WITH ORDINALITY AS x(url, ord)`,
    [pair.jobNo, urls],
  );
}

function pageOf(pair: Pair, item: number): RowOp {
  return {
    op: 'page.insert',
    jobNo: pair.jobNo,
    ord: ++pair.pages,
    item,
    url: 'u',
    finalUrl: 'u',
    statusCode: 200,
    depth: 0,
    bytes: 1,
    blob: 'b',
    inline: null,
    credits: 1,
  };
}

function mailOf(pair: Pair, random: Random): OutboxRow {
  const [from, to] = [pair.keys[0]!, pair.keys[1]!];
  const n = random.int(1, 5);
  const envelope = { id: '', type: 'Cancel', v: 1, from, to, n, body: { type: 'Cancel', job: 'x' } } as Envelope;
  return { id: pair.nextId++, from, to, n, payload: { kind: 'actor', envelope } };
}

function workOf(pair: Pair): OutboxRow {
  const msg = {
    type: 'Kick',
    task: 'robots',
    actor: pair.keys[0]!,
    host: 'h',
    url: 'http://h/robots.txt',
    agent: 'x',
  } as const;
  return {
    id: pair.nextId++,
    from: pair.keys[0]!,
    to: null,
    n: null,
    payload: { kind: 'work', cls: 'kick', prio: 'hi', id: 'w', msg },
  };
}

/** Of rows without an order of their own. */
function sorted(memory: Awaited<ReturnType<ActorStore['loadJobMemory']>>) {
  const byItem = (a: { item: number }, b: { item: number }) => a.item - b.item;
  return {
    lanes: memory.lanes.toSorted((a, b) => a.lane - b.lane),
    running: memory.running.toSorted(byItem),
    ready: memory.ready.map((row) => ({ ...row })),
    open: memory.open,
  };
}

function plain({ admitted, seeds }: TurnAnswers) {
  return { admitted: [...admitted].map(([job, items]) => [job, [...items].sort()]), seeds: [...seeds] };
}

function settled<T>(): [(value: T) => { value: T }, (error: unknown) => { error: unknown }] {
  return [(value) => ({ value }), (error) => ({ error })];
}

function nameOf(error: unknown): string {
  return error instanceof FencedError
    ? 'fenced'
    : error instanceof Error && error.message === 'handler bug'
      ? 'threw'
      : String(error);
}
