import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Effect, Incoming } from '@troupe/actors';
import {
  actorKey,
  MERGE_STEP,
  pageStep,
  PLAN_STEP,
  type ActorKey,
  type ActorMessage,
  type ChildJob,
  type ErrorWire,
  type ExtractSpec,
  type JobEvent,
  type ModelDone,
  type ModelJobStart,
  type ModelTask,
  type RowOp,
  type WebhookSpec,
} from '@troupe/contracts';
import { EXTRACT_SPEC } from './extract-spec.fixture.js';
import { extractActor, MAX_OPEN_PAGES } from './extract.actor.js';
import type { ExtractState } from './extract.state.js';

const JOB = '6f0c0000-0000-4000-8000-000000000001';
const KEY = actorKey('extract', JOB);
const TIMEOUT_MS = EXTRACT_SPEC.timeoutMs;
const WEBHOOK: WebhookSpec = { url: 'https://h.example/', headers: {}, metadata: '{}', events: ['completed'] };
const A: ChildJob = { job: 'aaaaaaaa-0000-4000-8000-000000000001', jobNo: '11', kind: 'batch' };
const B: ChildJob = { job: 'bbbbbbbb-0000-4000-8000-000000000001', jobNo: '12', kind: 'crawl' };
const keyOf = ({ kind, job }: ChildJob): ActorKey => actorKey(kind, job);

const LATER: ErrorWire = { code: 'SCRAPE_JSON_FAILED', message: 'the model is busy', retryable: true, httpStatus: 500 };
const NEVER: ErrorWire = { ...LATER, message: 'the answer does not fit', retryable: false };

/** The actor in virtual time; its state goes through JSON after every turn, as after a restart. */
const JOB_START = {
  type: 'Start',
  kind: 'extract',
  job: JOB,
  jobNo: '7',
  team: 't',
  keyId: 'k',
  createdMs: 0,
} as const;

class World {
  readonly def = extractActor();
  now = 1_000_000;
  state: ExtractState = this.def.init(KEY);
  tasks: ModelTask[] = [];
  readonly rows: RowOp[] = [];
  readonly told: JobEvent[] = [];
  readonly cancels: ActorKey[] = [];
  readonly timers = new Map<string, number>();

  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): void {
    this.from('w/x', ...bodies);
  }

  from(from: Incoming['from'], ...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): void {
    const batch = bodies.map((body) => ({ from, body }) as Incoming);
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => 1 };
    const activation = { key: KEY, state: this.state, memory: { progressAt: 0 } };
    const effects = this.def.finish(activation, batch, { admitted: new Set(), seeds: [], found: null }, ctx);
    this.state = JSON.parse(JSON.stringify(activation.state)) as ExtractState;
    for (const effect of effects) this.apply(effect);
  }

  start(spec: Partial<ExtractSpec> = {}): void {
    this.turn({ ...JOB_START, createdMs: this.now, spec: { ...EXTRACT_SPEC, ...spec } });
  }

  planned(...children: ChildJob[]): void {
    this.done(PLAN_STEP, { outcome: { what: 'planned', children, warning: null }, tokens: 0 });
  }

  /** Read or merged, by default with 10 tokens. */
  done(step: string, rest: Partial<ModelDone> = {}): void {
    const what = step === MERGE_STEP ? 'merged' : 'read';
    const attempt = this.state.steps[step]?.attempt ?? 1;
    const done: ModelDone = {
      type: 'ModelDone',
      step,
      attempt,
      tokens: 10,
      credits: 0,
      error: null,
      outcome: rest.error == null ? { what, warning: null } : null,
      ...rest,
    };
    this.turn(done);
  }

  pages(child: ChildJob, uptoOrd: number): void {
    this.from(keyOf(child), { type: 'JobEvent', event: 'pages', uptoOrd });
  }

  ended(child: ChildJob, uptoOrd: number, rest: Partial<JobEvent & { event: 'terminal' }> = {}): void {
    const end = { type: 'JobEvent', event: 'terminal', uptoOrd, status: 'completed', error: null } as const;
    this.from(keyOf(child), { ...end, ...rest });
  }

  /** Steps handed out since the last call. */
  take(): string[] {
    return this.tasks.splice(0).map(({ step }) => step);
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

  get job(): RowOp & { op: 'job.update' } {
    return this.rows.findLast((row) => row.op === 'job.update')!;
  }

  get billed(): number[] {
    return this.rows.flatMap((row) => (row.op === 'ledger.upsert' ? [row.credits] : []));
  }

  private apply(effect: Effect): void {
    if (effect.t === 'work') this.tasks.push(JSON.parse(JSON.stringify(effect.msg)) as ModelTask);
    if (effect.t === 'row') this.rows.push(effect.row);
    if (effect.t === 'send' && effect.msg.type === 'JobEvent') this.told.push(effect.msg);
    if (effect.t === 'send' && effect.msg.type === 'Cancel') this.cancels.push(effect.to);
    if (effect.t !== 'timer') return;
    if (effect.inMs === null) this.timers.delete(effect.name);
    else this.timers.set(effect.name, this.now + effect.inMs);
  }
}

let world: World;
beforeEach(() => {
  world = new World();
});

const pagesOf = (place: number, ...ords: number[]): string[] => ords.map((ord) => pageStep(place, ord));

describe('an extract job', () => {
  it('plans, reads each page of its children once, merges and ends, and is billed for its tokens', () => {
    world.start();
    expect(world.tasks).toMatchObject([
      { step: PLAN_STEP, attempt: 1, deadlineMs: TIMEOUT_MS, work: { what: 'plan', spec: EXTRACT_SPEC } },
    ]);
    expect(world.take()).toEqual([PLAN_STEP]);
    world.planned(A, B);
    expect(world.take()).toEqual([]);
    world.pages(A, 1);
    world.ended(A, 2);
    world.pages(B, 1);
    expect(world.tasks.at(-1)).toMatchObject({ work: { what: 'pages', child: 1, childNo: '12', ords: [1, 1] } });
    expect(world.take()).toEqual([...pagesOf(0, 1, 2), ...pagesOf(1, 1)]);
    world.done(pageStep(0, 2));
    world.done(pageStep(0, 1));
    expect(world.job).toMatchObject({ status: 'scraping', total: 3, completed: 2, tokens: 20, finished: false });
    world.done(pageStep(1, 1));
    expect(world.take()).toEqual([]);
    world.ended(B, 1);
    expect(world.take()).toEqual([MERGE_STEP]);
    world.done(MERGE_STEP, { tokens: 6 });
    const end = { status: 'completed', error: null, warning: null, finished: true };
    expect(world.job).toMatchObject({ ...end, total: 3, completed: 3, tokens: 36, credits: 3 });
    expect(world.billed.at(-1)).toBe(3);
    expect([world.state.phase, world.timers.size, world.cancels]).toEqual(['over', 0, []]);
  });

  it('takes the receipt of its start', () => {
    world.start();
    expect(world.rows).toContainEqual({ op: 'command.delete', id: JOB });
  });

  it('reads at most so many pages at a time, in their order, in a state that does not grow', () => {
    world.start();
    world.take();
    world.planned(A);
    world.ended(A, 5_000);
    const read: string[] = [];
    for (let open = world.take(); open[0] !== MERGE_STEP; open = world.take()) {
      expect(Object.keys(world.state.steps).length).toBeLessThanOrEqual(MAX_OPEN_PAGES);
      read.push(...open);
      for (const step of open) world.done(step);
    }
    expect(read).toEqual(pagesOf(0, ...Array.from({ length: 5_000 }, (_, i) => i + 1)));
    expect(JSON.stringify(world.state).length).toBeLessThan(4_000);
  });

  it('knows the pages of a child that was faster than the plan', () => {
    world.start();
    world.take();
    world.ended(B, 1);
    world.planned(A, B);
    expect(world.take()).toEqual(pagesOf(1, 1));
    expect(world.cancels).toEqual([]);
  });

  it('sends a child home that is not part of the plan, and does not wait for it', () => {
    world.start();
    world.pages(B, 1);
    world.planned(A);
    world.pages(B, 2);
    expect(world.cancels).toEqual([keyOf(B)]);
    world.ended(A, 1);
    world.done(pageStep(0, 1));
    world.done(MERGE_STEP);
    expect([world.job.status, world.state.phase]).toEqual(['completed', 'closing']);
    world.ended(B, 2, { status: 'cancelled' });
    expect(world.state.phase).toBe('over');
  });
});

describe('what goes wrong', () => {
  const begin = (...children: ChildJob[]): void => {
    world.start();
    world.planned(...children);
    world.take();
  };

  it('with one page leaves it out, and says so with the result', () => {
    begin(A);
    world.ended(A, 2);
    world.done(pageStep(0, 1), { error: NEVER });
    world.done(pageStep(0, 2));
    world.done(MERGE_STEP);
    expect(world.job).toMatchObject({ status: 'completed', tokens: 30, completed: 2 });
    expect(world.job.warning).toBe('1 of 2 pages could not be read: the answer does not fit.');
  });

  it('with every page fails the job, naming why', () => {
    begin(A);
    world.ended(A, 2);
    for (const ord of [1, 2]) world.done(pageStep(0, ord), { error: NEVER });
    expect(world.job).toMatchObject({
      status: 'failed',
      finished: true,
      error: 'No page could be read: the answer does not fit',
    });
    expect(world.billed.at(-1)).toBe(2);
  });

  it('with a child is told when others had pages, and fails the job when none had', () => {
    begin(A, B);
    world.ended(B, 0, { status: 'failed', error: 'the start page was refused' });
    world.ended(A, 1, { lost: { pages: 2, reason: 'https://x.example/a: gone' } });
    world.done(pageStep(0, 1));
    world.done(MERGE_STEP);
    expect(world.job.warning).toBe('2 pages could not be fetched: the start page was refused.');

    world = new World();
    begin(A);
    world.ended(A, 0, { lost: { pages: 2, reason: 'https://x.example/a: gone' } });
    expect(world.job).toMatchObject({
      status: 'failed',
      error: 'No page could be fetched: https://x.example/a: gone',
    });
  });

  it('with the plan or the merge fails the job with that error', () => {
    world.start();
    world.done(PLAN_STEP, { error: NEVER });
    expect(world.job).toMatchObject({ status: 'failed', error: 'the answer does not fit', tokens: 10 });

    world = new World();
    begin(A);
    world.ended(A, 1);
    world.done(pageStep(0, 1));
    world.done(MERGE_STEP, { error: NEVER });
    expect(world.job).toMatchObject({ status: 'failed', error: 'the answer does not fit' });
  });

  it('with a plan without pages fails the job', () => {
    begin();
    expect(world.job).toMatchObject({ status: 'failed', error: 'No page was found to read' });
  });

  it('with a request that is larger than a state may be fails the job as it starts', () => {
    world.start({ schema: { description: 'x'.repeat(190_000) }, urls: ['u'.repeat(390_000)], webhook: WEBHOOK });
    const error = expect.stringMatching(/^SPEC_TOO_LARGE: .* at most 524288/);
    expect(world.job).toMatchObject({ status: 'failed', error });
    expect(world.told.map(({ event }) => event)).toEqual(['started', 'terminal']);
    expect([world.take(), world.state.phase]).toEqual([[], 'over']);
    expect(JSON.stringify(world.state).length).toBeLessThan(4_000);
  });

  it('with its start lost fails the job, and tells who listens', () => {
    const activation = { key: KEY, state: world.state, memory: { progressAt: 0 } };
    const spec = { ...EXTRACT_SPEC, webhook: WEBHOOK };
    const start: ModelJobStart = { ...JOB_START, spec };
    const effects = world.def.fail(activation, 'boom', { now: 0, wallMs: world.now, nextGen: () => 1 }, start);
    const error = 'internal error: boom';
    expect(effects).toContainEqual({
      t: 'row',
      row: expect.objectContaining({ op: 'job.update', jobNo: '7', status: 'failed', error, finished: true }),
    });
    expect(effects).toContainEqual({ t: 'row', row: { op: 'command.delete', id: JOB } });
    const told = effects.flatMap((effect) => (effect.t === 'send' ? [effect.msg] : []));
    expect(told).toMatchObject([{ event: 'started' }, { event: 'terminal', status: 'failed', error }]);
    expect(world.state.phase).toBe('over');
  });

  it('before it has begun is failed by its id', () => {
    const activation = { key: KEY, state: world.state, memory: { progressAt: 0 } };
    const effects = world.def.fail(activation, 'boom', { now: 0, wallMs: world.now, nextGen: () => 1 }, null);
    expect(effects).toContainEqual({ t: 'row', row: { op: 'job.fail', job: JOB, error: 'internal error: boom' } });
    expect(effects.filter(({ t }) => t !== 'row' && t !== 'timer')).toEqual([]);
    expect(world.state).toMatchObject({ phase: 'over', status: 'failed' });
  });

  it('inside this actor fails the job visibly', () => {
    begin(A);
    const activation = { key: KEY, state: world.state, memory: { progressAt: 0 } };
    const effects = world.def.fail(activation, 'boom', { now: 0, wallMs: world.now, nextGen: () => 1 }, null);
    expect(effects).toContainEqual({
      t: 'row',
      row: expect.objectContaining({ op: 'job.update', status: 'failed', error: 'internal error: boom' }),
    });
    expect(effects).toContainEqual({
      t: 'send',
      to: keyOf(A),
      cls: 'level',
      msg: { type: 'Cancel', job: A.job },
    });
  });
});

describe('a step', () => {
  beforeEach(() => {
    world.start();
    world.planned(A);
    world.ended(A, 1);
    world.take();
  });
  const PAGE = pageStep(0, 1);

  it('that fails for a while is tried again later and later, and given up after the last time', () => {
    for (const pauseMs of [2_000, 10_000, 30_000, 90_000]) {
      world.done(PAGE, { error: LATER });
      world.wait(pauseMs - 1);
      expect(world.take()).toEqual([]);
      world.wait(1);
      expect(world.tasks).toHaveLength(1);
      expect(world.take()).toEqual([PAGE]);
    }
    expect(world.state.steps[PAGE]!.attempt).toBe(5);
    world.done(PAGE, { error: LATER });
    expect(world.job).toMatchObject({ status: 'failed', tokens: 50 });
    expect(world.job.error).toContain('the model is busy');
  });

  it('that no extractor takes up is handed out again, each time after twice as long', () => {
    world.wait(59_999);
    expect(world.take()).toEqual([]);
    world.wait(1);
    expect(world.tasks).toMatchObject([{ step: PAGE, attempt: 2, deadlineMs: TIMEOUT_MS - 60_000 }]);
    expect(world.take()).toEqual([PAGE]);
    world.wait(119_999);
    expect(world.take()).toEqual([]);
    world.wait(1);
    expect(world.take()).toEqual([PAGE]);
  });

  it('in work is left alone while its extractor speaks, and handed out again when it falls silent', () => {
    for (let i = 0; i < 6; i++) {
      world.wait(20_000);
      world.turn({ type: 'ModelBusy', step: PAGE, attempt: 1 });
    }
    expect(world.take()).toEqual([]);
    world.wait(92_000);
    expect(world.take()).toEqual([PAGE]);
    world.done(PAGE);
    expect(world.take()).toEqual([MERGE_STEP]);
  });

  it('that kills every extractor is given up', () => {
    for (let i = 0; i < 5; i++) {
      world.turn({ type: 'ModelBusy', step: PAGE, attempt: world.state.steps[PAGE]?.attempt ?? 0 });
      world.wait(90_000);
      if (world.job.finished) break;
      world.wait(30_000);
    }
    expect(world.job.status).toBe('failed');
  });

  it('counts once, whoever tells of it how often', () => {
    world.wait(60_000);
    world.done(PAGE, { attempt: 1 });
    world.done(PAGE, { attempt: 2 });
    world.done(PAGE, { attempt: 1, error: LATER });
    expect(world.job.tokens).toBe(10);
    world.wait(3_600_000);
    expect(world.tasks.filter(({ step }) => step === PAGE)).toHaveLength(1);
  });

  it('of which an old attempt fails waits for the newer one; the tokens of both count', () => {
    world.wait(60_000);
    world.take();
    world.done(PAGE, { attempt: 1, error: NEVER });
    world.done(PAGE, { attempt: 1, error: NEVER });
    expect(world.job.status).toBe('scraping');
    world.done(PAGE, { attempt: 2 });
    expect(world.take()).toEqual([MERGE_STEP]);
    expect(world.job.tokens).toBe(20);
  });
});

describe('the end before the end', () => {
  beforeEach(() => {
    world.start({ webhook: WEBHOOK });
    world.planned(A, B);
    world.pages(A, 3);
    world.take();
  });

  it('by cancel is seen at once; children are told until they have ended', () => {
    world.done(pageStep(0, 1));
    world.turn({ type: 'Cancel', job: JOB });
    expect(world.job).toMatchObject({ status: 'cancelled', finished: true, tokens: 10, credits: 1 });
    expect(world.cancels.splice(0)).toEqual([keyOf(A), keyOf(B)]);
    world.ended(A, 3, { status: 'cancelled' });
    expect(world.cancels.splice(0)).toEqual([keyOf(B)]);
    world.wait(5_000);
    expect(world.cancels.splice(0)).toEqual([keyOf(B)]);
    world.ended(B, 0, { status: 'cancelled' });
    expect([world.state.phase, world.timers.size, world.cancels]).toEqual(['over', 0, []]);
    const updates = world.rows.filter((row) => row.op === 'job.update' && row.finished);
    expect(updates).toHaveLength(1);
    expect(world.take()).toEqual([]);
  });

  it('by its timeout fails the job with that reason and ends the children', () => {
    world.turn({ type: 'ModelBusy', step: pageStep(0, 1), attempt: 1 });
    world.wait(TIMEOUT_MS);
    expect(world.job).toMatchObject({
      status: 'failed',
      error: 'The job did not finish within its timeout of 600 s',
    });
    expect(world.cancels.slice(0, 2)).toEqual([keyOf(A), keyOf(B)]);
    expect(world.state.steps).toEqual({});
  });

  it('is told to the receiver of its webhook once, as its start was, and pages are not', () => {
    world.turn({ type: 'Cancel', job: JOB });
    world.turn({ type: 'Cancel', job: JOB });
    expect(world.told).toEqual([
      { type: 'JobEvent', event: 'started', job: JOB, jobNo: '7', team: 't', kind: 'extract', webhook: WEBHOOK },
      { type: 'JobEvent', event: 'terminal', uptoOrd: 0, status: 'cancelled', error: null },
    ]);
  });

  it('leaves what comes later without effect', () => {
    world.turn({ type: 'Cancel', job: JOB });
    world.ended(A, 3);
    world.ended(B, 0);
    const rows = world.rows.length;
    world.done(pageStep(0, 2));
    world.pages(B, 9);
    world.planned(A);
    expect([world.rows.length, world.take(), world.state.phase]).toEqual([rows, [], 'over']);
  });
});

describe('a job that is not known', () => {
  it('does nothing when it is cancelled or told of a step, and rests when late news wake it', () => {
    world.turn({ type: 'Cancel', job: JOB });
    world.done(PLAN_STEP);
    expect([world.rows, world.tasks, world.state.phase]).toEqual([[], [], 'idle']);
    world.pages(A, 1);
    expect([world.rows, world.state.phase]).toEqual([[], 'over']);
  });
});
