import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CALLER, JOB_ID, JobFixture } from './job.fixture.js';

const never = new AbortController().signal;
const pause = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms));

let job: JobFixture;
beforeEach(() => void (job = new JobFixture()));
afterEach(() => job.feeds.close());

/** The contents of an answer. */
async function ask(skip: number, { limit = null, mayHold = true }: { limit?: number | null; mayHold?: boolean } = {}) {
  const page = await job.service.page(CALLER, JOB_ID, { skip, limit, mayHold }, never);
  let text = '';
  for await (const { bytes } of page.runs()) text += `${text === '' ? '' : ','}${bytes.toString()}`;
  const data = JSON.parse(`[${text}]`) as { markdown: string }[];
  return { status: page.job.status, count: data.length, data, nextSkip: await page.nextSkip() };
}

describe('a page of results', () => {
  it('always has a next one while the job runs', async () => {
    job.results = 3;
    expect(await ask(0)).toMatchObject({ count: 3, nextSkip: 3 });
  });

  it('has a next one after the end only while results remain', async () => {
    job.results = 5;
    job.status = 'completed';
    expect(await ask(0, { limit: 2 })).toMatchObject({ count: 2, nextSkip: 2 });
    expect(await ask(3, { limit: 2 })).toMatchObject({ count: 2, nextSkip: null });
    expect(await ask(9)).toMatchObject({ count: 0, nextSkip: null });
  });

  it('has every result once and in order, wherever pages are cut', async () => {
    job.results = 500;
    job.status = 'completed';
    for (const limit of [1, 7, 128, 200, null]) {
      const found: string[] = [];
      for (let skip: number | null = 0; skip !== null;) {
        const { data, nextSkip } = await ask(skip, { limit });
        found.push(...data.map(({ markdown }) => markdown));
        skip = nextSkip;
      }
      expect(found).toEqual(Array.from({ length: 500 }, (_, n) => `page ${n}`));
    }
  });

  it('ends at 10 MiB, but not before its first document', async () => {
    job.feeds.close();
    const sizes = [11, 4, 4, 4];
    job = new JobFixture((n) => ({ markdown: 'x'.repeat(sizes[n]! * 1024 * 1024) }));
    job.results = sizes.length;
    job.status = 'completed';
    expect(await ask(0)).toMatchObject({ count: 1, nextSkip: 1 });
    expect(await ask(1)).toMatchObject({ count: 2, nextSkip: 3 });
    expect(await ask(3)).toMatchObject({ count: 1, nextSkip: null });
  });
});

describe('a request that is up to date', () => {
  it('is answered at once without a skip, even with nothing to tell', async () => {
    expect(await ask(0, { mayHold: false })).toMatchObject({ count: 0, nextSkip: 0 });
    expect(job.subscriptions).toBe(0);
  });

  it('is held until a result appears', async () => {
    job.results = 2;
    const startedMs = performance.now();
    const held = ask(2);
    setTimeout(() => job.add(1), 30);
    expect(await held).toMatchObject({ count: 1, nextSkip: 3 });
    expect(performance.now() - startedMs).toBeLessThan(1_950);
  });

  it('is held until the job ends, and reads nothing before', async () => {
    job.results = 2;
    const held = ask(2);
    await pause();
    job.tell();
    await pause();
    expect(job.reads.pages).toBe(0);
    job.end('completed');
    expect(await held).toMatchObject({ status: 'completed', nextSkip: null });
  });

  it('is answered with the unchanged cursor when nothing happens for two seconds', async () => {
    job.results = 2;
    const startedMs = performance.now();
    expect(await ask(2)).toMatchObject({ count: 0, nextSkip: 2 });
    expect(performance.now() - startedMs).toBeGreaterThan(1900);
    expect(job.reads.pages).toBe(0);
  });

  it('is let go when the gateway drains', async () => {
    const held = ask(0);
    await pause();
    const startedMs = performance.now();
    job.feeds.close();
    expect(await held).toMatchObject({ nextSkip: 0 });
    expect(performance.now() - startedMs).toBeLessThan(1_950);
  });
});

describe('finding a job', () => {
  it('answers 404 for unknown and foreign ones alike, and says when one has expired', async () => {
    const stranger = { ...CALLER, team: 'team-b' };
    const { service } = job;
    await expect(service.find(stranger, JOB_ID)).rejects.toMatchObject({ status: 404, message: 'Job not found' });
    await expect(service.find(CALLER, 'aaaa')).rejects.toMatchObject({ status: 404, message: 'Job not found' });
    await expect(service.find(CALLER, 'dead')).rejects.toMatchObject({ status: 404, message: 'Job expired' });
    await expect(service.find(stranger, 'dead')).rejects.toMatchObject({ status: 404, message: 'Job not found' });
  });

  it('does not show a followed job to a stranger', async () => {
    const held = ask(0);
    await pause();
    const stranger = { ...CALLER, team: 'team-b' };
    const query = { skip: 0, limit: null, mayHold: true };
    await expect(job.service.page(stranger, JOB_ID, query, never)).rejects.toMatchObject({ status: 404 });
    job.add(1);
    await held;
  });

  it('asks for a crawl that is over once, and for a batch every time, because it may be opened again', async () => {
    job.status = 'completed';
    for (let i = 0; i < 3; i++) await job.service.find(CALLER, JOB_ID);
    expect(job.reads.find).toBe(1);
    job.feeds.close();
    job = new JobFixture();
    job.kind = 'batch';
    job.status = 'completed';
    await job.service.find(CALLER, JOB_ID);
    job.status = 'scraping';
    expect(await job.service.find(CALLER, JOB_ID)).toMatchObject({ status: 'scraping' });
  });

  it('forgets a crawl in the moment it expires', async () => {
    job.status = 'completed';
    job.expiresAt = new Date(Date.now() + 1_000);
    await job.service.find(CALLER, JOB_ID);
    job.exists = false;
    await pause(1_010);
    await expect(job.service.find(CALLER, JOB_ID)).rejects.toMatchObject({ status: 404 });
  });
});
