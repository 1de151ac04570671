import { beforeEach, describe, expect, it } from '@jest/globals';
import { Random, type Effect, type Incoming } from '@troupe/actors';
import {
  eventAt,
  numbersOf,
  spansOf,
  type ActorMessage,
  type JobEnd,
  type JobKind,
  type Post,
  type PostResult,
  type RowOp,
  type WebhookEvent,
  type WebhookSpec,
} from '@troupe/contracts';
import fc from 'fast-check';
import { deliveryActor, MAX_RUNS } from './delivery.actor.js';
import type { DeliveryState } from './delivery.state.js';

const RETRY_MS = [60_000, 300_000, 900_000];
const ALL: WebhookEvent[] = ['started', 'page', 'completed', 'failed', 'cancelled'];

/** The actor in virtual time; its state goes through JSON after every turn, as after a restart. */
class World {
  readonly def = deliveryActor({ retryMs: RETRY_MS });
  readonly posts: Post[] = [];
  readonly rows: RowOp[] = [];
  readonly timers = new Map<string, number>();
  now = 1_000_000;
  state: DeliveryState = this.def.init('delivery/j');

  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): void {
    const batch = bodies.map((body) => ({ from: 'w/x', body }) as Incoming);
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => 1 };
    const activation = { key: 'delivery/j' as const, state: this.state, memory: null };
    const effects = this.def.finish(activation, batch, { admitted: new Set(), seeds: [], found: null }, ctx);
    this.state = JSON.parse(JSON.stringify(activation.state)) as DeliveryState;
    for (const effect of effects) this.apply(effect);
  }

  start(events: WebhookEvent[] = ALL, kind: JobKind = 'crawl'): void {
    const webhook: WebhookSpec = { url: 'https://h.example/', headers: { a: 'b' }, metadata: '{"z":1}', events };
    this.turn({ type: 'JobEvent', event: 'started', job: 'j', jobNo: '7', team: 't', kind, webhook });
  }

  pages(uptoOrd: number): void {
    this.turn({ type: 'JobEvent', event: 'pages', uptoOrd });
  }

  end(uptoOrd: number, status: JobEnd['status'] = 'completed', error: string | null = null): void {
    this.turn({ type: 'JobEvent', event: 'terminal', uptoOrd, status, error });
  }

  /** Answers of a run, `status` for all its events or by event. */
  done(post: Post, status: number | null | ((eventNo: number) => number | null) = 200, events = eventsOf(post)): void {
    const results: PostResult[] = events.map((eventNo) => ({
      eventNo,
      status: typeof status === 'function' ? status(eventNo) : status,
      error: null,
      ms: 5,
      atMs: this.now,
    }));
    this.turn({ type: 'PostDone', run: post.run, attempt: post.attempt, results });
  }

  /** Takes what was handed over since the last call. */
  take(): Post[] {
    return this.posts.splice(0);
  }

  /** Everything handed over is delivered, until nothing is left. */
  deliverAll(status: number | null | ((eventNo: number) => number | null) = 200): Post[] {
    const delivered: Post[] = [];
    for (let posts = this.take(); posts.length > 0; posts = this.take()) {
      for (const post of posts) this.done(post, status);
      delivered.push(...posts);
    }
    return delivered;
  }

  wait(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const next = [...this.timers].sort(([, a], [, b]) => a - b)[0];
      if (next === undefined || next[1] > until) break;
      this.now = Math.max(this.now, next[1]);
      this.timers.delete(next[0]);
      this.turn({ type: 'Timer', name: next[0] });
    }
    this.now = until;
  }

  attempts(): { eventNo: number; attempt: number; final: boolean }[] {
    return this.rows.flatMap((row) => (row.op === 'delivery.attempt' ? [row] : []));
  }

  private apply(effect: Effect): void {
    if (effect.t === 'work') this.posts.push(JSON.parse(JSON.stringify(effect.msg)) as Post);
    if (effect.t === 'row') this.rows.push(effect.row);
    if (effect.t !== 'timer') return;
    if (effect.inMs === null) this.timers.delete(effect.name);
    else this.timers.set(effect.name, this.now + effect.inMs);
  }
}

const eventsOf = (post: Post): number[] => [...numbersOf(post.events)];
const order = (posts: Post[]): number[][] => posts.map(eventsOf);

let world: World;
beforeEach(() => {
  world = new World();
});

describe('the order of first attempts', () => {
  it('is start, pages, end: pages wait for the result of the start, the end for the results of all pages', () => {
    world.start();
    world.pages(3);
    world.end(5);
    const [start, ...early] = world.take();
    expect([order([start!]), early]).toEqual([[[0]], []]);
    world.done(start!);
    const pages = world.take();
    expect(order(pages)).toEqual([[1, 2, 3, 4, 5]]);
    world.done(pages[0]!, 200, [1, 2, 3, 4]);
    expect(world.take()).toEqual([]);
    world.done(pages[0]!, 200, [5]);
    const [end] = world.take();
    expect(end).toMatchObject({ events: [[6, 6]], ends: [5], end: { status: 'completed', error: null } });
    expect(world.state.phase).toBe('open');
    world.done(end!);
    expect(world.state.phase).toBe('over');
    expect(world.timers.size).toBe(0);
  });

  it('holds when attempts fail: a failed start lets pages go, failed pages let the end go', () => {
    world.start();
    world.end(2);
    expect(order(world.deliverAll(500))).toEqual([[0], [1, 2], [3]]);
    expect(world.state.phase).toBe('open');
  });

  it('never has more than four runs of a hundred events out', () => {
    world.start();
    world.deliverAll();
    world.pages(1_000);
    const posts = world.take();
    expect(posts.map(({ events }) => events[0]![1] - events[0]![0] + 1)).toEqual([100, 100, 100, 100]);
    expect(posts).toHaveLength(MAX_RUNS);
    world.done(posts[1]!);
    expect(order(world.take())[0]!.slice(0, 1)).toEqual([401]);
  });

  it('brings each page once, whatever comes in bursts', () => {
    world.start();
    world.deliverAll();
    for (const upto of [1, 5, 5, 250, 900]) world.pages(upto);
    world.end(901);
    const delivered = world.deliverAll().flatMap(eventsOf);
    expect(delivered).toEqual(Array.from({ length: 902 }, (_, i) => i + 1));
  });
});

describe('the filter', () => {
  it.each<[WebhookEvent[], JobEnd['status'], number[]]>([
    [['started'], 'completed', [0]],
    [['page'], 'completed', [1, 2]],
    [['completed'], 'completed', [3]],
    [['completed'], 'failed', []],
    [['started', 'page', 'completed', 'failed'], 'cancelled', [0, 1, 2]],
    [['cancelled'], 'cancelled', [3]],
    [['failed'], 'failed', [3]],
  ])('%j lets of a job that ended %s the events %j pass', (events, status, expected) => {
    world.start(events);
    world.pages(1);
    world.end(2, status);
    expect(world.deliverAll().flatMap(eventsOf)).toEqual(expected);
    expect(world.state.phase).toBe('over');
  });
});

describe('the middle events of an agent', () => {
  it('are its actions, whether pages are wanted or not', () => {
    world.start(['action'], 'agent');
    world.end(2);
    expect(world.deliverAll().flatMap(eventsOf)).toEqual([1, 2]);
    world = new World();
    world.start(['page'], 'agent');
    world.end(2);
    expect(world.deliverAll()).toEqual([]);
  });
});

describe('retries', () => {
  it('come after each pause in turn, under the same number, and then the event is dead', () => {
    world.start(['completed']);
    world.end(0);
    world.deliverAll(503);
    for (const [i, pauseMs] of RETRY_MS.entries()) {
      world.wait(pauseMs - 1);
      expect(world.take()).toEqual([]);
      world.wait(pauseMs / 20 + 1);
      const posts = world.take();
      expect(posts).toMatchObject([{ attempt: i + 2, events: [[1, 1]], ends: [0] }]);
      world.done(posts[0]!, null);
    }
    expect(world.attempts().map(({ attempt, final }) => [attempt, final])).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, true],
    ]);
    expect(world.state.phase).toBe('over');
  });

  it('are made together for failures of about the same time, and leave the delivered alone', () => {
    world.start(['page', 'completed']);
    world.end(10);
    world.deliverAll((eventNo) => (eventNo % 3 === 0 ? 500 : 204));
    world.wait(63_100);
    expect(order(world.take())).toEqual([[3, 6, 9]]);
  });

  it('do not wait behind an endless row of new pages, nor hold them up', () => {
    world.start();
    world.deliverAll((eventNo) => (eventNo === 0 ? 500 : 200));
    world.pages(400);
    world.wait(55_000);
    for (const post of world.take().slice(-4)) world.done(post);
    world.pages(2_000);
    const [first] = world.take();
    world.wait(8_100);
    world.done(first!);
    expect(world.take()).toMatchObject([{ attempt: 2, events: [[0, 0]] }]);
  });

  it('hold new pages back when too many scattered events have failed, and go on when they are over', () => {
    world.start(['page', 'completed']);
    world.end(20_000);
    const first = world.deliverAll((eventNo) => (eventNo % 2 === 0 ? 500 : 200)).flatMap(eventsOf);
    expect(first.length).toBeGreaterThan(4_000);
    expect(first.length).toBeLessThan(5_000);
    expect(JSON.stringify(world.state).length).toBeLessThan(64 * 1024);
    world.wait(63_100);
    world.deliverAll();
    while (world.state.phase === 'open') {
      world.deliverAll();
      world.wait(60_000);
    }
    expect(new Set(world.attempts().map(({ eventNo }) => eventNo)).size).toBe(20_001);
  });
});

describe('repeated, late and lost messages', () => {
  it('results that come twice count once', () => {
    world.start();
    const [start] = world.take();
    world.done(start!);
    world.done(start!, 500);
    world.end(0);
    world.deliverAll();
    expect(world.attempts().map(({ eventNo, attempt }) => [eventNo, attempt])).toEqual([
      [0, 1],
      [1, 1],
    ]);
  });

  it('a run that no dispatcher takes up is handed over again, later and later, with what is left of it', () => {
    world.start(['page']);
    world.pages(3);
    const [run] = world.take();
    world.wait(19_999);
    expect(world.take()).toEqual([]);
    world.wait(1);
    const [again] = world.take();
    expect(again).toMatchObject({ attempt: 1, events: [[1, 3]] });
    expect(again!.run).not.toBe(run!.run);
    world.wait(39_999);
    expect(world.take()).toEqual([]);
    world.wait(1);
    expect(order(world.take())).toEqual([[1, 2, 3]]);
  });

  it('a run whose dispatcher falls silent is handed over again soon, without what was attempted', () => {
    world.start(['page']);
    world.pages(5);
    const [run] = world.take();
    world.done(run!, 200, [1, 2]);
    for (let i = 0; i < 6; i++) {
      world.wait(14_000);
      world.done(run!, 200, []);
    }
    expect(world.take()).toEqual([]);
    world.wait(15_000);
    expect(order(world.take())).toEqual([[3, 4, 5]]);
  });

  it('a late result of an earlier run counts, and the later one does not count again', () => {
    world.start(['page']);
    world.pages(2);
    const [first] = world.take();
    world.wait(20_000);
    const [second] = world.take();
    world.done(first!);
    world.done(second!, 500);
    expect(world.attempts().map(({ eventNo }) => eventNo)).toEqual([1, 2]);
    expect(world.state.runs).toEqual({});
  });

  it('a result of an attempt that is over changes nothing', () => {
    world.start(['completed']);
    world.end(0);
    const [first] = world.take();
    world.done(first!, 500);
    world.wait(63_100);
    const [second] = world.take();
    world.done(first!, 200);
    expect(world.state.phase).toBe('open');
    world.done(second!, 200);
    expect(world.state.phase).toBe('over');
    world.done(second!, 500);
    expect(world.state.phase).toBe('over');
  });

  it('nothing is done before the job is known', () => {
    world.turn({ type: 'Replay', id: 'r', groups: [{ attempt: 2, events: [[0, 0]] }] });
    expect([world.take(), world.rows]).toEqual([[], []]);
  });
});

describe('a replay', () => {
  beforeEach(() => {
    world.start();
    world.end(3);
    world.deliverAll(500);
    for (const pauseMs of RETRY_MS) {
      world.wait(pauseMs * 1.06);
      world.deliverAll(500);
    }
    expect(world.state.phase).toBe('over');
  });
  const replay = (id: string, events: number[], attempt = 5): void =>
    world.turn({ type: 'Replay', id, groups: [{ attempt, events: spansOf(events) }] });

  it('makes one more attempt at dead events of a finished job and rests again', () => {
    replay('r1', [0, 4]);
    expect(world.rows.filter(({ op }) => op === 'delivery.reopen')).toMatchObject([
      { eventNo: 0, attempt: 4 },
      { eventNo: 4, attempt: 4 },
    ]);
    const [post] = world.take();
    expect(post).toMatchObject({
      attempt: 5,
      events: [
        [0, 0],
        [4, 4],
      ],
      ends: [3],
      end: { status: 'completed' },
    });
    world.done(post!, (eventNo) => (eventNo === 0 ? 200 : 500));
    expect(world.attempts().slice(-2)).toMatchObject([
      { eventNo: 0, attempt: 5, final: true },
      { eventNo: 4, attempt: 5, final: true },
    ]);
    expect(world.state.phase).toBe('over');
  });

  it('that comes twice, or asks for what is out already, counts once', () => {
    replay('r1', [1, 2]);
    replay('r1', [1, 2]);
    replay('r2', [2, 3]);
    expect(order(world.deliverAll())).toEqual([[1, 2], [3]]);
  });

  it('of events that are still to come is left alone', () => {
    replay('r1', [9]);
    expect(world.take()).toEqual([]);
  });
});

describe('a batch that is appended to after its end', () => {
  const ends = (): RowOp[] => world.rows.filter(({ op }) => op === 'delivery.end');

  it('goes on with its pages under new numbers and ends once more', () => {
    world.start();
    world.end(2);
    expect(order(world.deliverAll())).toEqual([[0], [1, 2], [3]]);
    expect(world.state.phase).toBe('over');
    world.pages(4);
    expect(world.state.phase).toBe('open');
    world.end(5, 'cancelled');
    expect(order(world.deliverAll())).toEqual([[4, 5], [6], [7]]);
    expect(ends()).toMatchObject([
      { eventNo: 3, status: 'completed' },
      { eventNo: 7, status: 'cancelled' },
    ]);
    expect(world.state.phase).toBe('over');
  });

  it('ends once more without a further page', () => {
    world.start(['completed']);
    world.end(2);
    world.deliverAll();
    world.end(2);
    expect(world.take()).toMatchObject([{ events: [[4, 4]], ends: [2, 2] }]);
  });

  it('keeps the order although its first end is still on its way', () => {
    world.start(['page', 'completed']);
    world.end(2);
    world.end(4);
    const [first] = world.take();
    expect(eventsOf(first!)).toEqual([1, 2]);
    world.done(first!);
    expect(order(world.deliverAll())).toEqual([[3], [4, 5], [6]]);
  });
});

describe('the end', () => {
  it('tells the same error before and after a restart, whatever it holds', () => {
    world.start(['failed']);
    world.end(0, 'failed', 'bad \0 \ud800 text \u{1f600}');
    const [post] = world.take();
    expect(post!.end!.error).toBe('bad \ufffd \ufffd text \u{1f600}');
    world.done(post!, 500);
    world.wait(63_100);
    expect(world.take()[0]!.end).toEqual(post!.end);
  });
});

/** Messages that are lost, repeated, late and out of order, and dispatchers that die in the middle of a run. */
class Storm {
  readonly world = new World();
  /** Events in the order in which they were posted. */
  readonly posted: { eventNo: number; attempt: number }[] = [];
  private readonly waiting: Post[] = [];
  private readonly answers: { post: Post; events: number[]; status: number }[] = [];

  constructor(
    private readonly random: Random,
    private readonly pages: number,
  ) {}

  run(): void {
    this.world.start();
    let told = 0;
    for (let step = 0; this.world.state.phase === 'open' && step < 5_000; step++) {
      if (told < this.pages)
        this.world.pages((told = Math.min(this.pages, told + Math.floor(this.random.next() * 150))));
      else if (this.world.state.end === null) this.world.end(this.pages);
      this.waiting.push(...this.world.take());
      this.act(this.random.next());
    }
  }

  private act(roll: number): void {
    if (roll < 0.1) this.world.wait(this.random.next() * 70_000);
    else if (roll < 0.55) this.dispatch();
    else this.answer();
  }

  private dispatch(): void {
    const post = pick(this.waiting, this.random.next());
    if (post === undefined) return this.world.wait(5_000);
    if (this.random.next() < 0.2) this.waiting.push(post);
    if (this.random.next() < 0.1) return;
    const events = eventsOf(post);
    const reached =
      this.random.next() < 0.15 ? events.slice(0, Math.floor(this.random.next() * events.length)) : events;
    this.posted.push(...reached.map((eventNo) => ({ eventNo, attempt: post.attempt })));
    const status = this.random.next() < 0.3 ? 500 : 200;
    this.answers.push({ post, events: reached, status });
    if (this.random.next() < 0.2) this.answers.push({ post, events: reached, status: 200 });
  }

  private answer(): void {
    const answer = pick(this.answers, this.random.next());
    if (answer === undefined || this.random.next() < 0.1) return;
    this.world.done(answer.post, answer.status, answer.events);
  }
}

function pick<T>(from: T[], roll: number): T | undefined {
  return from.splice(Math.floor(roll * from.length), 1)[0];
}

describe('a run that is handed back because its receiver has no place', () => {
  const back = (post: Post, waitMs: number, results: PostResult[] = []): void =>
    world.turn({ type: 'PostDone', run: post.run, attempt: post.attempt, results, waitMs });

  it('is handed over again after the wait, no attempt spent', () => {
    world.start();
    const [start] = world.take();
    back(start!, 45_000);
    world.wait(44_000);
    expect(world.take()).toEqual([]);
    world.wait(2_000);
    expect(world.take()).toMatchObject([{ attempt: 1, events: [[0, 0]] }]);
    expect(world.attempts()).toEqual([]);
  });

  it('asks less and less often, and as before once something was posted', () => {
    world.start();
    world.pages(2);
    world.done(world.take()[0]!);
    const waits: number[] = [];
    const next = (): Post => {
      const before = world.now;
      while (world.posts.length === 0) world.wait(1_000);
      waits.push((world.now - before) / 1_000);
      return world.take()[0]!;
    };
    let post = next();
    for (let n = 0; n < 6; n++) {
      back(post, 5_000);
      post = next();
    }
    expect(waits).toEqual([0, 5, 10, 20, 40, 60, 60]);
    back(post, 5_000, [{ eventNo: 1, status: 200, error: null, ms: 5, atMs: world.now }]);
    expect(next().events).toEqual([[2, 2]]);
    expect(waits.at(-1)).toBe(5);
  });

  it('does not wait longer for a lost message because of that', () => {
    world.start();
    for (let n = 0; n < 8; n++) {
      const [post] = world.take();
      back(post!, 1_000);
      while (world.posts.length === 0) world.wait(1_000);
    }
    world.take();
    world.wait(21_000);
    expect(world.take()).toHaveLength(1);
  });
});

describe('events that are older than a day', () => {
  const HOUR_MS = 3_600_000;

  it('are named as too old, and dead with their first result', () => {
    world.start();
    world.pages(5);
    world.wait(2 * HOUR_MS);
    world.take();
    world.pages(9);
    world.wait(22.5 * HOUR_MS);
    const start = world.take().at(-1)!;
    expect(start).toMatchObject({ events: [[0, 0]], staleUpTo: 5 });
    world.done(start, null);
    expect(world.attempts()).toMatchObject([{ eventNo: 0, attempt: 1, final: true }]);
    const pages = world.take()[0]!;
    expect(pages).toMatchObject({ events: [[1, 9]], staleUpTo: 5 });
    world.done(pages, null);
    expect(world.attempts().filter(({ final }) => final)).toHaveLength(6);
    world.wait(70_000);
    expect(world.take()).toMatchObject([{ events: [[6, 9]], attempt: 2 }]);
  });

  it('are posted all the same when they are replayed', () => {
    world.start(['started']);
    world.deliverAll();
    world.wait(30 * HOUR_MS);
    world.turn({ type: 'Replay', id: 'r', groups: [{ attempt: 2, events: [[0, 0]] }] });
    const [post] = world.take();
    expect(post).toMatchObject({ attempt: 2, events: [[0, 0]] });
    expect(post).not.toHaveProperty('staleUpTo');
  });

  it('are remembered in a few marks, however long a job takes', () => {
    world.start();
    for (let n = 1; n < 3_000; n++) {
      world.wait(60_000);
      world.pages(n);
    }
    expect(world.state.ages!.length).toBeLessThan(60);
  }, 30_000);
});

describe('an event that is neither a page nor the end', () => {
  const mark = (uptoOrd: number, name: WebhookEvent) => world.turn({ type: 'JobEvent', event: 'mark', uptoOrd, name });
  /** Stands for one that is added to the list. */
  const NEWS: WebhookEvent = 'action';

  it('has its place between the pages, is told alone, and leaves the numbers of pages and ends as they are', () => {
    world.start([...ALL, NEWS]);
    world.pages(2);
    mark(2, NEWS);
    world.pages(3);
    world.end(3);
    const posts = world.deliverAll();
    expect(order(posts)).toEqual([[0], [1, 2], [3], [4], [5]]);
    const names = posts.map((post) => eventsOf(post).map((eventNo) => eventAt(post, eventNo)));
    expect(names).toEqual([['started'], ['page', 'page'], [NEWS], ['page'], ['completed']]);
    expect(world.rows.filter(({ op }) => op === 'delivery.end')).toMatchObject([
      { eventNo: 3, status: NEWS },
      { eventNo: 5, status: 'completed' },
    ]);
    expect(world.state.phase).toBe('over');
  });

  it('is left out for those who did not ask for it', () => {
    world.start();
    world.pages(1);
    mark(1, NEWS);
    world.end(1);
    expect(order(world.deliverAll())).toEqual([[0], [1], [3]]);
    expect(world.state.phase).toBe('over');
  });

  it('as the newest is no end of the job', () => {
    world.start([...ALL, NEWS]);
    mark(0, NEWS);
    world.deliverAll();
    expect(world.state.phase).toBe('open');
    expect(world.state).toMatchObject({ end: null, ends: [0] });
  });
});

describe('a state of a release without such events', () => {
  /** A batch that was completed with two pages and appended to; the third page is stored. */
  const STORED = JSON.parse(`{"phase":"open","job":"j","jobNo":"7","team":"t","kind":"batch",
    "webhook":{"url":"https://h.example/","headers":{},"metadata":"{}","events":["started","page","completed"]},
    "known":3,"next":4,"ends":[2],"end":{"status":"completed","error":null},"runs":{},"retries":{},"due":[],"nextNo":4,
    "ages":[],"replays":[]}`) as DeliveryState;

  it('goes on with the numbers that its cursor stands for, and stays as it was', () => {
    world.state = STORED;
    world.end(3);
    const posts = world.deliverAll();
    expect(order(posts)).toEqual([[4], [5]]);
    expect(posts[1]).toMatchObject({ ends: [2, 3], end: { status: 'completed', error: null } });
    expect(posts[1]).not.toHaveProperty('marks');
    expect([3, 4, 5].map((eventNo) => eventAt(posts[1]!, eventNo))).toEqual(['completed', 'page', 'completed']);
    expect(world.state).not.toHaveProperty('marks');
    expect(world.state.phase).toBe('over');
  });
});

describe('whatever happens to messages and dispatchers', () => {
  it('every event is attempted until it is delivered or dead, in the promised order, and each attempt is kept once', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 600 }), (seed, pages) => {
        const storm = new Storm(new Random(seed), pages);
        storm.run();
        expect(storm.world.state.phase).toBe('over');
        const first = [...new Set(storm.posted.map(({ eventNo }) => eventNo))];
        expect([first[0], first.at(-1), first.length]).toEqual([0, pages + 1, pages + 2]);
        const attempts = storm.world.attempts();
        expect(new Set(attempts.map(({ eventNo, attempt }) => `${eventNo}/${attempt}`)).size).toBe(attempts.length);
        expect(attempts.filter(({ final }) => final)).toHaveLength(pages + 2);
      }),
      { numRuns: 200 },
    );
  });
});
