import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { actorKey, type BatchSpec, type CrawlSpec, type ScrapeSpec, type Uuid } from '@troupe/contracts';
import { Housekeeping, JobRepository, LostJobRepository, type LostJob } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';

const OLD_MS = 120_000;

let db: TestDatabase;
let jobs: JobRepository;
let lost: LostJobRepository;

beforeAll(async () => {
  db = await testDatabase();
  jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
  lost = new LostJobRepository(db.pool, { resultTtlHours: 24 });
});
afterAll(() => db.drop());
beforeEach(async () => {
  for (const table of ['job', 'job_id', 'job_start', 'cmd_outbox', 'actor'])
    await db.pool.query(`DELETE FROM ${table}`);
});

const base = {
  team: randomUUID(),
  keyId: null,
  originUrl: null,
  wireOptions: {},
  origin: null,
  integration: null,
  idempotencyKey: null,
  zdr: false,
};
const spec = { url: 'http://a/', limit: 5 } as CrawlSpec;

/** An hour old. */
async function crawl(age = '1 hour'): Promise<{ job: Uuid; jobNo: string }> {
  const { job, jobNo } = await jobs.create({ ...base, kind: 'crawl', spec });
  await db.pool.query(`UPDATE job SET created_at = now() - $2::interval WHERE job_no = $1`, [jobNo, age]);
  return { job, jobNo };
}
async function forgetCommands(): Promise<void> {
  await db.pool.query('DELETE FROM cmd_outbox');
}
async function addActor(job: Uuid, rev: number, terminal: boolean): Promise<void> {
  await db.pool.query(
    `INSERT INTO actor (key, part, kind, epoch, rev, state, terminal, updated_at) VALUES ($1, 1, 'crawl', 1, $2, '{}', $3, now())`,
    [actorKey('crawl', job), rev, terminal],
  );
}
const found = async (): Promise<Pick<LostJob, 'job' | 'why'>[]> =>
  (await lost.find(OLD_MS)).map(({ job, why }) => ({ job, why }));

describe('lost jobs', () => {
  it('are those without an actor and without a command', async () => {
    const waiting = await crawl();
    expect(await found()).toEqual([]);
    await forgetCommands();
    const young = await crawl('0 seconds');
    await forgetCommands();
    const running = await crawl();
    await forgetCommands();
    await addActor(running.job, 3, false);
    const empty = await crawl();
    await forgetCommands();
    await addActor(empty.job, 0, false);
    expect(await found()).toEqual([waiting, empty].map(({ job }) => ({ job, why: 'unstarted' })));
    expect(await found()).not.toContainEqual(expect.objectContaining({ job: young.job }));
  });

  it('are those whose actor has ended without them, and those older than any may become', async () => {
    const abandoned = await crawl();
    const endless = await crawl('51 hours');
    await addActor(abandoned.job, 3, true);
    await addActor(endless.job, 3, false);
    await db.pool.query('DELETE FROM cmd_outbox WHERE id = $1', [abandoned.job]);
    expect(await found()).toEqual([
      { job: abandoned.job, why: 'abandoned' },
      { job: endless.job, why: 'endless' },
    ]);
  });

  it('are started again with what they were started with, twice', async () => {
    const { job } = await crawl();
    const [first] = await jobs.takeCommands(0, 10);
    for (const _ of [1, 2]) {
      await forgetCommands();
      const [again] = await lost.find(OLD_MS);
      expect(await lost.restart(again!)).toBe(true);
      expect(await found()).toEqual([]);
      expect(await jobs.takeCommands(0, 10)).toEqual([first]);
      await forgetCommands();
      expect(await found()).toEqual([]);
      await db.pool.query(`UPDATE job_start SET restarted_at = restarted_at - interval '1 hour'`);
    }
    await forgetCommands();
    const [third] = await lost.find(OLD_MS);
    expect(await lost.restart(third!)).toBe(false);
    await lost.fail(job, 'no start');
    expect(await jobs.find(job)).toMatchObject({ status: 'failed', error: 'no start' });
    expect(await found()).toEqual([]);
  });

  it('begin with the seeds that were appended meanwhile', async () => {
    const urls = ['http://a/1', 'http://a/2'].map((url) => ({ url, host: 'a' }));
    const batch: BatchSpec = { maxConcurrency: null, scrape: {} as ScrapeSpec, webhook: null };
    const { job, jobNo } = await jobs.create({ ...base, kind: 'batch', spec: batch, urls });
    await db.pool.query('UPDATE job SET seeds = 5 WHERE job_no = $1', [jobNo]);
    await forgetCommands();
    expect(await lost.restart({ job, jobNo, kind: 'batch', why: 'unstarted' })).toBe(true);
    expect((await jobs.takeCommands(0, 10))[0]!.envelope!.body).toMatchObject({ type: 'Start', total: 5 });
  });

  it('that have ended stay as they are', async () => {
    const { job, jobNo } = await crawl();
    await db.pool.query(`UPDATE job SET status = 'completed', finished_at = now() WHERE job_no = $1`, [jobNo]);
    await forgetCommands();
    expect(await found()).toEqual([]);
    expect(await lost.restart({ job, jobNo, kind: 'crawl', why: 'unstarted' })).toBe(false);
    await lost.fail(job, 'too late');
    expect(await jobs.find(job)).toMatchObject({ status: 'completed', error: null });
  });
});

describe('a command that can never be published', () => {
  it('is dropped, and its job fails', async () => {
    const { job } = await crawl();
    const other = await crawl();
    await lost.failCommand(job, job, 'too large');
    expect(await jobs.find(job)).toMatchObject({ status: 'failed', error: 'too large' });
    expect((await jobs.takeCommands(0, 10)).map(({ id }) => id)).toEqual([other.job]);
  });
});

describe("a day's partitions", () => {
  it('go although one of its jobs was never started', async () => {
    const { job, jobNo } = await crawl();
    const day = Number(BigInt(jobNo) >> 40n) - 10;
    const oldNo = ((BigInt(day) << 40n) + 1n).toString();
    const [from, to] = [BigInt(day) << 40n, BigInt(day + 1) << 40n];
    await db.pool.query(`CREATE TABLE job_d${day} PARTITION OF job FOR VALUES FROM (${from}) TO (${to})`);
    await db.pool.query(
      `UPDATE job SET job_no = $1, created_at = now() - interval '10 days', expires_at = now() - interval '9 days' WHERE job_no = $2`,
      [oldNo, jobNo],
    );
    await db.pool.query('UPDATE job_id SET job_no = $1 WHERE id = $2', [oldNo, job]);
    await forgetCommands();
    const housekeeping = new Housekeeping(db.pool);
    expect(await housekeeping.dropExpired()).not.toContain(`job_d${day}`);
    const [endless] = await lost.find(OLD_MS);
    expect(endless).toMatchObject({ job, why: 'endless' });
    await lost.fail(job, 'never ended');
    await db.pool.query(`UPDATE job SET expires_at = now() - interval '1 second' WHERE id = $1`, [job]);
    expect(await housekeeping.dropExpired()).toContain(`job_d${day}`);
  });
});
