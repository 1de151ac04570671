import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JobStatus, RowOp, ScrapeSpec, Uuid } from '@troupe/contracts';
import { JobCommandRepository, JobRepository, PgActorStore, type NewJob } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';
import { head, PART, step, writes } from './turns.js';

let db: TestDatabase;
let jobs: JobRepository;
let commands: JobCommandRepository;
let store: PgActorStore;

beforeAll(async () => {
  db = await testDatabase();
  jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
  commands = new JobCommandRepository(db.pool, { resultTtlHours: 24 });
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
});
afterAll(() => db.drop());

const team = randomUUID();
const seedsOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ url: `http://a/${from + i}`, host: 'a' }));

function created(kind: 'batch' | 'crawl') {
  const common = { team, keyId: null, originUrl: null, wireOptions: {}, origin: null, integration: null };
  const head = { ...common, idempotencyKey: null, zdr: false as const };
  const job: NewJob =
    kind === 'crawl'
      ? { ...head, kind, spec: {} as never }
      : { ...head, kind, spec: { maxConcurrency: null, scrape: {} as ScrapeSpec, webhook: null }, urls: seedsOf(0, 2) };
  return jobs.create(job);
}

const append = (job: Uuid, jobNo: string, from: number, to: number, more: object = {}) =>
  commands.append({
    job,
    jobNo,
    team,
    seeds: seedsOf(from, to),
    maxSeeds: 1_000,
    maxAgeHours: 47,
    idempotencyKey: null,
    ...more,
  });

/** What the job's actor writes when it knows of so many seeds. */
async function write(jobNo: string, status: JobStatus, known: number): Promise<void> {
  const finished = status !== 'scraping';
  const counts = { total: known, completed: known, credits: known, seeds: known };
  const row: RowOp = { op: 'job.update', jobNo, status, ...counts, error: null, warning: null, excluded: {}, finished };
  const key = `batch/${randomUUID()}` as const;
  const epoch = await store.mintEpoch(PART, 'me');
  await store.activate(PART, epoch, [key]);
  await store.commitTurn(head(epoch, [{ key, rev: 0 }]), () => writes([step(key, 0)], { rows: [row] }));
}

const ordsOf = async (jobNo: string): Promise<number[]> =>
  (await db.pool.query<{ ord: string }>('SELECT ord FROM job_seed WHERE job_no = $1 ORDER BY ord', [jobNo])).rows.map(
    ({ ord }) => Number(ord),
  );

describe('appending to a batch', () => {
  it('adds seeds and a command for its actor, and the total at once', async () => {
    const { job, jobNo } = await created('batch');
    const answer = await append(job, jobNo, 2, 5);
    expect(answer).toMatchObject({
      command: { envelope: { to: `batch/${job}`, type: 'Append', body: { type: 'Append', job, toOrd: 5 } } },
    });
    expect(await jobs.find(job)).toMatchObject({ status: 'scraping', total: 5 });
    expect(await ordsOf(jobNo)).toEqual([0, 1, 2, 3, 4]);
    expect((await jobs.takeCommands(0, 100)).map(({ envelope }) => envelope!.type)).toEqual(
      expect.arrayContaining(['Start', 'Append']),
    );
  });

  it('from many gateways at once gives every seed an ordinal of its own', async () => {
    const { job, jobNo } = await created('batch');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => append(job, jobNo, 2 + i * 10, 2 + (i + 1) * 10)),
    );
    const ends = answers.map((answer) =>
      'command' in answer ? (answer.command.envelope.body as { toOrd: number }).toOrd : 0,
    );
    expect(ends.sort((a, b) => a - b)).toEqual([12, 22, 32, 42, 52, 62, 72, 82]);
    expect(await ordsOf(jobNo)).toEqual(Array.from({ length: 82 }, (_, i) => i));
    expect(await jobs.find(job)).toMatchObject({ total: 82 });
  });

  it('opens a completed one again, to live longer', async () => {
    const { job, jobNo } = await created('batch');
    await write(jobNo, 'completed', 2);
    await db.pool.query(`UPDATE job SET expires_at = now() + interval '1 minute' WHERE job_no = $1`, [jobNo]);
    await append(job, jobNo, 2, 3);
    const open = (await jobs.find(job))!;
    expect(open).toMatchObject({ status: 'scraping', total: 3, completed: 2, finishedAt: null });
    expect(open.expiresAt.getTime()).toBeGreaterThan(Date.now() + 23 * 3_600_000);
    await write(jobNo, 'completed', 3);
    expect(await jobs.find(job)).toMatchObject({ status: 'completed', total: 3, finishedAt: expect.any(Date) });
  });

  it('keeps it open though its actor, which has not heard of it, calls it completed', async () => {
    const { job, jobNo } = await created('batch');
    await append(job, jobNo, 2, 4);
    await write(jobNo, 'completed', 2);
    expect(await jobs.find(job)).toMatchObject({ status: 'scraping', total: 4, completed: 2, finishedAt: null });
    await write(jobNo, 'scraping', 2);
    expect(await jobs.find(job)).toMatchObject({ status: 'scraping', total: 4 });
    await write(jobNo, 'cancelled', 2);
    expect(await jobs.find(job)).toMatchObject({ status: 'cancelled', total: 4, finishedAt: expect.any(Date) });
  });

  it('is refused when it has ended badly, is too old or would be too large, and leaves nothing behind', async () => {
    const ended = await created('batch');
    await write(ended.jobNo, 'cancelled', 2);
    expect(await append(ended.job, ended.jobNo, 2, 3)).toEqual({ refusal: 'ended' });
    const { job, jobNo } = await created('batch');
    expect(await append(job, jobNo, 2, 6, { maxSeeds: 5 })).toEqual({ refusal: 'full' });
    await db.pool.query(`UPDATE job SET created_at = now() - interval '48 hours' WHERE job_no = $1`, [jobNo]);
    expect(await append(job, jobNo, 2, 3)).toEqual({ refusal: 'old' });
    expect(await ordsOf(jobNo)).toEqual([0, 1]);
    expect(await jobs.find(job)).toMatchObject({ total: 2 });
  });

  it('happens once under one idempotency key', async () => {
    const { job, jobNo } = await created('batch');
    const once = () => append(job, jobNo, 2, 3, { idempotencyKey: `once ${job}` });
    const results = await Promise.allSettled([once(), once(), once()]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await ordsOf(jobNo)).toEqual([0, 1, 2]);
    expect(await jobs.find(job)).toMatchObject({ total: 3 });
  });
});

describe('pausing a crawl', () => {
  it('is numbered when it changes something, and only then a command', async () => {
    const { job, jobNo } = await created('crawl');
    const first = await commands.setPaused(job, jobNo, true);
    expect(first).toMatchObject({
      news: { v: 1, paused: true },
      command: { envelope: { to: `crawl/${job}`, body: { type: 'Pause', job, v: 1, paused: true } } },
    });
    expect(await commands.setPaused(job, jobNo, true)).toEqual({ news: { v: 1, paused: true }, command: null });
    expect(await jobs.find(job)).toMatchObject({ status: 'scraping', paused: true });
    expect(await commands.setPaused(job, jobNo, false)).toMatchObject({ news: { v: 2, paused: false } });
    expect(await jobs.find(job)).toMatchObject({ paused: false });
  });

  it('by two gateways at once has one number', async () => {
    const { job, jobNo } = await created('crawl');
    const answers = await Promise.all([1, 2, 3, 4].map(() => commands.setPaused(job, jobNo, true)));
    expect(answers.map((answer) => answer?.news)).toEqual(Array(4).fill({ v: 1, paused: true }));
    expect(answers.filter((answer) => answer?.command !== null)).toHaveLength(1);
  });

  it('is refused when it is over', async () => {
    const { job, jobNo } = await created('crawl');
    await write(jobNo, 'completed', 0);
    expect(await commands.setPaused(job, jobNo, true)).toBeNull();
  });
});
