import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  actorSubject,
  actStep,
  childJobOf,
  isTroupeError,
  type CrawlSpec,
  type ExtractSpec,
  type HostState,
  type RowOp,
  type ScrapeSpec,
  type Uuid,
} from '@troupe/contracts';
import {
  DeliveryRepository,
  JobRepository,
  ModelSteps,
  PgActorStore,
  Retention,
  type ListKey,
  type ListPage,
  type NewChild,
  type NewJob,
  JobCommandRepository,
} from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';
import { candidate, head, PART, step, writes } from './turns.js';

let db: TestDatabase;
let jobs: JobRepository;
let store: PgActorStore;

beforeAll(async () => {
  db = await testDatabase();
  jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
});
afterAll(() => db.drop());

const FIRST = { after: null, skip: 0, limit: 100 };
const TEAM = randomUUID();
const spec = { url: 'http://a/', limit: 5 } as CrawlSpec;
const crawl = (team: Uuid = randomUUID(), more: object = {}): NewJob => ({
  kind: 'crawl',
  team,
  keyId: randomUUID(),
  spec,
  originUrl: 'http://a/',
  wireOptions: { limit: 5 },
  origin: 'api',
  integration: null,
  idempotencyKey: null,
  zdr: false,
  ...more,
});
const batch = (urls: string[]): NewJob => ({
  ...crawl(),
  kind: 'batch',
  spec: { maxConcurrency: null, scrape: {} as ScrapeSpec, webhook: null },
  urls: urls.map((url) => ({ url, host: new URL(url).host })),
});

/** One turn of an actor made for the occasion. */
async function writeRows(rows: RowOp[], candidates: Parameters<typeof candidate>[] = []): Promise<void> {
  const key = `crawl/${randomUUID()}` as const;
  const epoch = await store.mintEpoch(PART, 'me');
  await store.activate(PART, epoch, [key]);
  const asks = { candidates: candidates.map((fields) => candidate(...fields)) };
  await store.commitTurn(head(epoch, [{ key, rev: 0 }], asks), () => writes([step(key, 0)], { rows }));
}

const childOf = (parent: Uuid, nth: number, more: object = {}): NewChild => ({
  parent: `extract/${parent}`,
  nth,
  team: TEAM,
  keyId: null,
  kind: 'batch',
  spec: { maxConcurrency: null, scrape: {} as ScrapeSpec, webhook: null, parent: `extract/${parent}` },
  urls: [{ url: 'http://a/x', host: 'a' }],
  ...more,
});

const page = (jobNo: string, ord: number, bytes: number): RowOp => ({
  op: 'page.insert',
  jobNo,
  ord,
  item: ord + 100,
  url: `http://a/${ord}`,
  finalUrl: `http://a/${ord}`,
  statusCode: 200,
  depth: 0,
  bytes,
  blob: null,
  inline: Buffer.from(`page ${ord}`).toString('base64'),
  credits: 1,
});
const outcome = (jobNo: string, item: number, name: 'ok' | 'robots' | 'failed'): RowOp => ({
  op: 'outcome.insert',
  jobNo,
  item,
  url: `http://a/${item}`,
  parent: null,
  depth: 0,
  outcome: name,
  rule: null,
  statusCode: 200,
  bytes: 1,
  ms: 3.4,
  engine: 'http',
  attempts: 1,
});
const end = (jobNo: string, status: 'completed' | 'cancelled'): RowOp => ({
  op: 'job.update',
  jobNo,
  status,
  total: 0,
  completed: 0,
  credits: 0,
  error: null,
  warning: null,
  seeds: 0,
  excluded: {},
  finished: true,
});

describe('recording a job', () => {
  it('makes it readable and leaves a command for its actor', async () => {
    const input = crawl();
    const { job, jobNo, command } = await jobs.create(input);
    const view = (await jobs.find(job))!;
    expect(view).toMatchObject({
      job,
      jobNo,
      team: input.team,
      kind: 'crawl',
      status: 'scraping',
      total: 0,
      completed: 0,
      creditsUsed: 0,
      error: null,
      originUrl: 'http://a/',
      wireOptions: { limit: 5 },
    });
    expect(view.expiresAt.getTime() - view.createdAt.getTime()).toBe(24 * 3_600_000);
    expect(command.envelope).toMatchObject({
      to: `crawl/${job}`,
      type: 'Start',
      n: null,
      body: { type: 'Start', kind: 'crawl', job, jobNo, spec, createdMs: view.createdAt.getTime() },
    });
    expect(await jobs.takeCommands(60_000, 100)).toEqual([]);
    const subject = actorSubject(command.envelope.to);
    expect(await jobs.takeCommands(0, 100)).toContainEqual({ ...command, subject });
    expect(await jobs.takeCommands(0, 100)).toEqual([]);
  });

  it('forgets a command in the turn that takes it in, and not before', async () => {
    const { job, command } = await jobs.create(crawl());
    const isKept = async () => {
      await db.pool.query('UPDATE cmd_outbox SET next_at = now()');
      return (await jobs.takeCommands(0, 100)).some(({ id }) => id === command.id);
    };
    await writeRows([]);
    expect(await isKept()).toBe(true);
    await writeRows([{ op: 'command.delete', id: job }]);
    expect(await isKept()).toBe(false);
  });

  it('numbers jobs by the day, each differently', async () => {
    const created = await Promise.all(Array.from({ length: 20 }, () => jobs.create(crawl())));
    expect(new Set(created.map(({ jobNo }) => jobNo)).size).toBe(20);
  });

  it('knows the total of a batch from the start, duplicates counted', async () => {
    const { job } = await jobs.create(batch(['http://a/1', 'http://a/1', 'http://b/2']));
    expect(await jobs.find(job)).toMatchObject({ kind: 'batch', total: 3 });
  });

  it('refuses an idempotency key that its team used, with 409 and no second job', async () => {
    const team = randomUUID();
    const withKey = (owner: Uuid): NewJob => crawl(owner, { idempotencyKey: 'once' });
    const results = await Promise.allSettled([1, 2, 3].map(() => jobs.create(withKey(team))));
    const refused = results.filter((result) => result.status === 'rejected').map((result) => result.reason as unknown);
    expect(refused).toHaveLength(2);
    for (const error of refused)
      expect(isTroupeError(error) && [error.httpStatus, error.message]).toEqual([409, 'Idempotency key already used']);
    expect((await jobs.active(team, 'crawl', FIRST)).rows).toHaveLength(1);
    await expect(jobs.create(withKey(randomUUID()))).resolves.toBeDefined();
  });

  it('takes an idempotency key again after a day', async () => {
    const input = crawl(randomUUID(), { idempotencyKey: 'daily' });
    await jobs.create(input);
    await db.pool.query(`UPDATE idempotency SET at = now() - interval '25 hours' WHERE team_id = $1`, [input.team]);
    await expect(jobs.create(input)).resolves.toBeDefined();
  });
});

describe('finding a job', () => {
  it('tells an unknown id from one that expired', async () => {
    const input = crawl();
    const { job, jobNo } = await jobs.create(input);
    await writeRows([end(jobNo, 'completed')]);
    await db.pool.query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE job_no = $1`, [jobNo]);
    expect(await jobs.find(job)).toBeNull();
    expect(await jobs.tombstone(job)).toEqual({ team: input.team, kind: 'crawl' });
    const unknown = randomUUID();
    expect([await jobs.find(unknown), await jobs.tombstone(unknown)]).toEqual([null, null]);
  });

  it('shows a running job however old it is', async () => {
    const { job, jobNo } = await jobs.create(crawl());
    await db.pool.query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE job_no = $1`, [jobNo]);
    expect(await jobs.find(job)).not.toBeNull();
  });

  it('shows hosts of a running job that are not open, worst first, as their actors last wrote them', async () => {
    const { job, jobNo } = await jobs.create(crawl());
    expect((await jobs.find(job))!.throttled).toBeNull();
    const reason = {
      at: '2026-01-01T00:00:00.000Z',
      kind: 'rateLimited' as const,
      status: 429,
      url: 'http://slow.test/a',
      team: randomUUID(),
      retryAfterMs: null,
      effect: 'rate cut to 2 pages/s',
    };
    const host = (name: string, state: HostState): RowOp => ({
      op: 'host.upsert',
      host: name,
      state,
      pagesPerSecond: 2,
      maxConn: 1,
      gapMs: 500,
      sinceMs: 1_700_000_000_000,
      untilMs: state === 'down' ? 1_700_000_060_000 : null,
      plateau: null,
      reasons: [reason],
    });
    const running = { ...end(jobNo, 'completed'), status: 'scraping' as const, finished: false } as RowOp;
    const slowHosts = ['slow.test', 'well.test', 'dead.test', 'unknown.test'];
    await writeRows([host('slow.test', 'slowed'), host('well.test', 'open'), host('dead.test', 'down')]);
    await writeRows([{ ...running, slowHosts } as RowOp]);
    const { throttled } = (await jobs.find(job))!;
    expect(throttled).toMatchObject([
      { host: 'dead.test', state: 'down' },
      { host: 'slow.test', state: 'slowed', pagesPerSecond: 2, until: null, reason },
    ]);
    expect(throttled!.map(({ since }) => Date.parse(since))).toEqual([1_700_000_000_000, 1_700_000_000_000]);
    expect(Date.parse(throttled![0]!.until!)).toBe(1_700_000_060_000);
    await writeRows([end(jobNo, 'completed')]);
    expect((await jobs.find(job))!.throttled).toBeNull();
  });

  it('lists running jobs of the team and kind, newest first', async () => {
    const team = randomUUID();
    const first = await jobs.create(crawl(team));
    const second = await jobs.create(crawl(team));
    const over = await jobs.create(crawl(team));
    await jobs.create({ ...batch(['http://a/']), team });
    await writeRows([end(over.jobNo, 'completed')]);
    expect((await jobs.active(team, 'crawl', FIRST)).rows.map(({ job }) => job)).toEqual([second.job, first.job]);
    const newest = await jobs.active(team, 'crawl', { ...FIRST, limit: 1 });
    expect([newest.rows.map(({ job }) => job), newest.hasMore]).toEqual([[second.job], true]);
    const older = await jobs.active(team, 'crawl', { after: newest.rows[0]!.key, skip: 0, limit: 1 });
    expect([older.rows.map(({ job }) => job), older.hasMore]).toEqual([[first.job], false]);
    expect((await jobs.active(team, 'batch', FIRST)).rows).toHaveLength(1);
  });
});

describe('paging through results', () => {
  let jobNo: string;
  beforeAll(async () => {
    ({ jobNo } = await jobs.create(crawl()));
    await writeRows([5, 10, 20, 400, 1].map((bytes, i) => page(jobNo, i + 1, bytes)));
  });
  const ords = async (skip: number, limit: number | null, maxBytes: number): Promise<number[]> =>
    (await jobs.pages(jobNo, skip, limit, maxBytes)).map(({ ord }) => ord);

  it('counts the results there are', async () => {
    const empty = await jobs.create(crawl());
    expect([await jobs.resultCount(jobNo), await jobs.resultCount(empty.jobNo)]).toEqual([5, 0]);
  });

  it('returns the stored bytes in order of completion', async () => {
    const [first] = await jobs.pages(jobNo, 0, 1, 1_000);
    expect(first).toEqual({
      ord: 1,
      item: 101,
      url: 'http://a/1',
      bytes: 5,
      blob: null,
      inline: Buffer.from('page 1'),
    });
  });

  it('stops at the limit', async () => expect(await ords(1, 2, 1_000)).toEqual([2, 3]));
  it('stops before the bytes run over', async () => expect(await ords(0, null, 35)).toEqual([1, 2, 3]));
  it('returns at least one, however large', async () => expect(await ords(3, null, 1)).toEqual([4]));
  it('returns nothing beyond the end', async () => expect(await ords(5, null, 1_000)).toEqual([]));

  it('reads on where one look is not enough', async () => {
    const long = await jobs.create(crawl());
    await writeRows(Array.from({ length: 2_500 }, (_, i) => page(long.jobNo, i + 1, 10)));
    const sizes = await Promise.all([
      jobs.pages(long.jobNo, 0, null, 1_000_000),
      jobs.pages(long.jobNo, 0, null, 15_005),
      jobs.pages(long.jobNo, 0, null, 10_009),
      jobs.pages(long.jobNo, 0, 1_001, 1_000_000),
      jobs.pages(long.jobNo, 100, 1_000, 1_000_000),
    ]);
    expect(sizes.map((rows) => rows.length)).toEqual([2_500, 1_500, 1_000, 1_001, 1_000]);
    expect(sizes[0].every(({ ord }, i) => ord === i + 1)).toBe(true);
  });

  it('finds a single page by its item, with its owner', async () => {
    expect(await jobs.page(jobNo, 103)).toMatchObject({ ord: 3, team: expect.any(String) });
    expect(await jobs.page(jobNo, 999)).toBeNull();
  });
});

describe('errors', () => {
  it('lists failures and robots-blocked URLs apart', async () => {
    const { jobNo } = await jobs.create(crawl());
    const id = randomUUID();
    await writeRows([
      { op: 'error.insert', jobNo, id, url: 'http://a/2', code: 'SCRAPE_TIMEOUT', message: 'too slow' },
      outcome(jobNo, 2, 'failed'),
      outcome(jobNo, 1, 'robots'),
    ]);
    expect((await jobs.errors(jobNo, FIRST)).rows).toMatchObject([
      { id, url: 'http://a/2', code: 'SCRAPE_TIMEOUT', message: 'too slow', at: expect.any(Date) },
    ]);
    expect((await jobs.robotsBlocked(jobNo, FIRST)).rows.map(({ url }) => url)).toEqual(['http://a/1']);
  });

  it('are read page by page, each once, whatever they have in common', async () => {
    const { jobNo } = await jobs.create(crawl());
    const urls = Array.from({ length: 25 }, (_, i) => `http://a/${i}`);
    await writeRows(
      urls.flatMap((url, i): RowOp[] => [
        { op: 'error.insert', jobNo, id: randomUUID(), url, code: 'SCRAPE_TIMEOUT', message: '' },
        { ...outcome(jobNo, i, 'robots'), url } as RowOp,
      ]),
    );
    for (const list of [jobs.errors.bind(jobs), jobs.robotsBlocked.bind(jobs)]) {
      const read: string[] = [];
      let after: ListKey | null = null;
      for (let hasMore = true; hasMore;) {
        const page: ListPage<{ url: string }> = await list(jobNo, { after, skip: 0, limit: 10 });
        read.push(...page.rows.map(({ url }) => url));
        after = page.rows.at(-1)!.key;
        hasMore = page.hasMore;
      }
      expect(read.toSorted()).toEqual(urls.toSorted());
      const skipped = await list(jobNo, { after: null, skip: 20, limit: 10 });
      expect(skipped.rows.map(({ url }) => url)).toEqual(read.slice(20));
    }
  });
});

const extract = (more: object = {}): NewJob => ({
  ...crawl(TEAM),
  kind: 'extract',
  spec: { urls: ['http://a/*'], timeoutMs: 1 } as ExtractSpec,
  ...more,
});

describe('a job that fetches pages for another one', () => {
  it('starts once for its place, however often and by however many it is started', async () => {
    const { job: parent } = await jobs.create(extract());
    const started = await Promise.all([1, 2, 3].map(() => jobs.createChild(childOf(parent, 0))));
    expect(new Set(started.map(({ child }) => JSON.stringify(child))).size).toBe(1);
    const { child, command } = started[0]!;
    expect(child).toEqual({ job: childJobOf(parent, 0), jobNo: expect.any(String), kind: 'batch' });
    expect(command).toMatchObject({
      id: child.job,
      envelope: { to: `batch/${child.job}`, body: { type: 'Start', jobNo: child.jobNo, total: 1 } },
    });
    const seeds = await db.pool.query('SELECT url FROM job_seed WHERE job_no = $1', [child.jobNo]);
    expect(seeds.rows).toEqual([{ url: 'http://a/x' }]);

    const other = { kind: 'crawl', spec: { ...spec, parent: `extract/${parent}` } };
    expect((await jobs.createChild(childOf(parent, 0, other))).child).toEqual(child);
    expect((await jobs.createChild(childOf(parent, 1, other))).child).toMatchObject({ kind: 'crawl' });
    await writeRows([{ op: 'command.delete', id: child.job }]);
    expect(await jobs.createChild(childOf(parent, 0))).toEqual({ child, command: null });
    expect((await jobs.runningChildren(TEAM, parent)).sort()).toEqual(
      [childJobOf(parent, 0), childJobOf(parent, 1)].sort(),
    );
  });

  it('is refused once its parent has ended or is to end, and told when its parent is to', async () => {
    const commands = new JobCommandRepository(db.pool, { resultTtlHours: 24 });
    const { job: parent, jobNo } = await jobs.create(extract());
    const { child } = await jobs.createChild(childOf(parent, 0));
    const recorded = await commands.cancel(parent, 'extract');
    expect(recorded.map(({ envelope: { to, type } }) => [to, type])).toEqual([
      [`extract/${parent}`, 'Cancel'],
      [`batch/${child.job}`, 'Cancel'],
    ]);
    const late = (nth: number) => expect(jobs.createChild(childOf(parent, nth))).rejects.toThrow('The job has ended');
    await late(1);
    await writeRows([...recorded.map(({ id }) => ({ op: 'command.delete' as const, id })), end(jobNo, 'cancelled')]);
    await late(0);
    await late(2);
    expect(await commands.cancel(child.job, 'batch')).toHaveLength(1);
  });

  it('is either refused or told of the end, whichever comes first', async () => {
    const commands = new JobCommandRepository(db.pool, { resultTtlHours: 24 });
    for (let round = 0; round < 20; round++) {
      const { job: parent } = await jobs.create(extract());
      const [made, told] = await Promise.all([
        jobs.createChild(childOf(parent, 0)).catch(() => null),
        commands.cancel(parent, 'extract'),
      ]);
      expect(told).toHaveLength(made === null ? 1 : 2);
    }
  });

  it('is no job of a client: neither found, nor listed, nor remembered, nor its pages', async () => {
    const { job: parent } = await jobs.create(extract());
    const { child } = await jobs.createChild(childOf(parent, 0));
    await writeRows([page(child.jobNo, 1, 6)]);
    expect(await jobs.find(child.job)).toBeNull();
    expect(await jobs.tombstone(child.job)).toBeNull();
    expect(await jobs.page(child.jobNo, 101)).toBeNull();
    expect((await jobs.active(TEAM, 'batch', FIRST)).rows.map(({ job }) => job)).not.toContain(child.job);
    expect(await jobs.pages(child.jobNo, 0, null, 1_000)).toHaveLength(1);
    expect(await jobs.tombstone(parent)).toEqual({ team: TEAM, kind: 'extract' });
  });

  it('without data retention keeps its pages until the other one has ended, and goes with it', async () => {
    const { job: parent, jobNo: parentNo } = await jobs.create(extract({ zdr: true }));
    const { child } = await jobs.createChild(childOf(parent, 0, { kind: 'crawl' }));
    const steps = new ModelSteps(db.pool);
    await steps.record(parentNo, { step: 'plan', tokens: 1, credits: 0, result: { a: 1 } });
    await steps.keepResult(parentNo, { data: { a: 1 }, sources: {} });
    await writeRows([page(child.jobNo, 1, 6), end(child.jobNo, 'completed')]);
    const expire = (jobNo: string) =>
      db.pool.query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE job_no = $1`, [jobNo]);
    await expire(child.jobNo);
    const retention = new Retention(db.pool);
    expect(await retention.eraseJobs()).toEqual([]);
    await writeRows([end(parentNo, 'completed')]);
    await expire(parentNo);
    expect((await retention.eraseJobs()).sort()).toEqual([parent, child.job].sort());
    for (const [table, jobNo] of [
      ['page', child.jobNo],
      ['model_step', parentNo],
      ['extract_result', parentNo],
    ])
      expect((await db.pool.query(`SELECT FROM ${table} WHERE job_no = $1`, [jobNo])).rowCount).toBe(0);
  });
});

describe('what receivers of webhooks are told of jobs with models', () => {
  it('is the stored result with the bill, and the actions of the steps', async () => {
    const { jobNo } = await jobs.create(extract());
    const deliveries = new DeliveryRepository(db.pool);
    const steps = new ModelSteps(db.pool);
    expect(await deliveries.modelResult(jobNo)).toEqual({ creditsUsed: 0, data: null, sources: null });
    await steps.keepResult(jobNo, { data: { n: 'ü', m: [1] }, sources: {} });
    await steps.keepResult(jobNo, { data: { n: 'later' }, sources: {} });
    expect(await deliveries.modelResult(jobNo)).toEqual({
      creditsUsed: 0,
      data: '{"m": [1], "n": "ü"}',
      sources: null,
    });
    for (const n of [1, 2])
      await steps.record(jobNo, { step: actStep(n), tokens: 1, credits: 0, result: { value: { action: { n } } } });
    await steps.record(jobNo, { step: actStep(3), tokens: 1, credits: 0, result: { value: null } });
    expect(await deliveries.actions(jobNo, [1, 2, 3].map(actStep))).toEqual(
      new Map([
        [actStep(1), '{"n": 1}'],
        [actStep(2), '{"n": 2}'],
      ]),
    );
    expect(await deliveries.actionCount(jobNo)).toBe(2);
    expect(await deliveries.modelResult('1')).toBeNull();
  });
});
