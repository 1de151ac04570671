import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setMaxListeners } from 'node:events';
import { CALLER, JOB_ID, JobFixture } from './job.fixture.js';
import { documentsOf } from './result-runs.js';
import { WatchEndedError } from './job-stream.js';

let job: JobFixture;
let gone: AbortController;
beforeEach(() => {
  job = new JobFixture();
  gone = new AbortController();
  setMaxListeners(0, gone.signal);
});
afterEach(() => job.feeds.close());

const pause = (ms = 20) => new Promise((resolve) => setTimeout(resolve, ms));
const wanted = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `{"markdown":"page ${from + n}"}`);

/** Everything from `from` on, and the last word on the job. */
async function follow(from = 0, limit: number | null = null) {
  const stream = await job.service.stream(CALLER, JOB_ID, gone.signal);
  const documents: string[] = [];
  try {
    for await (const run of stream.runs(from, limit)) documents.push(...[...documentsOf(run)].map(String));
    return { documents, status: stream.job.status };
  } finally {
    stream.close();
  }
}

describe('a stream of results', () => {
  it('has every result once and in order, until the job ends', async () => {
    job.results = 3;
    const stream = follow();
    for (let i = 0; i < 10; i++) {
      await pause(5);
      job.add(i);
    }
    job.results += 2; // without a notice
    job.end('completed');
    expect(await stream).toEqual({ documents: wanted(0, 50), status: 'completed' });
  });

  it('begins where it is told to, and ends at its limit', async () => {
    job.results = 10;
    expect((await follow(4, 3)).documents).toEqual(wanted(4, 7));
    job.status = 'cancelled';
    expect(await follow(8)).toEqual({ documents: wanted(8, 10), status: 'cancelled' });
  });

  it('is not stopped by words that get lost', async () => {
    const stream = follow();
    await pause();
    job.results = 2;
    job.status = 'completed';
    expect((await stream).documents).toEqual(wanted(0, 2));
  });

  it('is one of two hundred that share every read', async () => {
    const streams = Array.from({ length: 200 }, () => follow());
    for (let i = 0; i < 10; i++) {
      await pause(5);
      job.add(3);
    }
    job.end('completed');
    for (const { documents } of await Promise.all(streams)) expect(documents).toEqual(wanted(0, 30));
    expect(job.reads.pages).toBeLessThan(30);
    expect(job.reads.find).toBeLessThan(200 + 10);
  });

  it('ends when its reader has gone', async () => {
    const stream = follow();
    await pause();
    gone.abort();
    expect(await stream).toMatchObject({ status: 'scraping' });
  });

  it('breaks off when the gateway drains, and does not begin then', async () => {
    const stream = follow();
    await pause();
    job.feeds.close();
    await expect(stream).rejects.toThrow(WatchEndedError);
    await expect(follow()).rejects.toThrow(WatchEndedError);
  });

  it('goes on where it was when Postgres answers again', async () => {
    job.results = 2;
    const stream = follow();
    await pause();
    job.isDown = true;
    job.add(3);
    await pause(700);
    job.isDown = false;
    job.end('completed');
    expect(await stream).toEqual({ documents: wanted(0, 5), status: 'completed' });
  });

  it('breaks off when the job expires', async () => {
    const stream = follow();
    await pause();
    job.exists = false;
    job.tell();
    await expect(stream).rejects.toMatchObject({ status: 404 });
  });
});

describe('the feed of a job', () => {
  it('is one subscription for all, and is given up some time after the last has left', async () => {
    const streams = Array.from({ length: 10 }, () => follow());
    await pause();
    expect(job.subscriptions).toBe(1);
    gone.abort();
    await Promise.all(streams);
    expect(job.subscriptions).toBe(1);
    for (let tries = 0; tries < 100 && job.subscriptions > 0; tries++) await pause(200);
    expect(job.subscriptions).toBe(0);
  });
});
