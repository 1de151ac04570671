import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Writable } from 'node:stream';
import type { Request, Response } from 'express';
import { CALLER, JOB_ID, JobFixture } from '../../jobs/job.fixture.js';
import { type JobView } from '../../jobs/ports.js';
import { documentsOf } from '../../jobs/result-runs.js';
import { readFollow, sendLines, wantsLines } from './job-lines.js';
import { nextUrl, readStatusQuery, sendStatus, statusHead } from './job-status.js';

const JOB: JobView = {
  job: '6f0c0000-0000-4000-8000-000000000000',
  jobNo: '1',
  team: 'a',
  kind: 'crawl',
  status: 'completed',
  paused: false,
  total: 2,
  completed: 2,
  creditsUsed: 2,
  createdAt: new Date('2026-01-01T00:00:00.000Z'),
  finishedAt: new Date('2026-01-01T00:00:05.400Z'),
  expiresAt: new Date('2026-01-02T00:00:05.400Z'),
  error: null,
  warning: null,
  originUrl: null,
  wireOptions: null,
  zdr: false,
  tokens: 0,
  parent: null,
  throttled: null,
};

/** As much of a response as is written to; `slow` makes every write wait for a drain. */
function collector(slow: boolean, isDeaf = false) {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    highWaterMark: slow ? 1 : undefined,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      if (!isDeaf) setImmediate(done);
    },
  });
  const nothing = () => undefined;
  const fake = { headersSent: false, setHeader: nothing, flushHeaders: nothing };
  const response = Object.assign(stream, fake) as unknown as Response;
  const text = async () => {
    await new Promise((resolve) => stream.once('finish', resolve));
    return Buffer.concat(chunks).toString();
  };
  return { response, text, chunks };
}

describe('statusHead', () => {
  it('leaves out what is absent instead of sending null', () => {
    expect(statusHead({ ...JOB, status: 'scraping', finishedAt: null })).toEqual({
      success: true,
      status: 'scraping',
      total: 2,
      completed: 2,
      creditsUsed: 2,
      expiresAt: '2026-01-02T00:00:05.400Z',
      createdAt: '2026-01-01T00:00:00.000Z',
    });
  });

  it('has an error only for failed jobs, a warning only at the end, and whole seconds', () => {
    expect(statusHead({ ...JOB, error: 'x' })).not.toHaveProperty('error');
    expect(statusHead({ ...JOB, status: 'failed', error: 'no such host' })).toMatchObject({
      success: true,
      error: 'no such host',
    });
    expect(statusHead({ ...JOB, warning: 'w' })).toMatchObject({ warning: 'w', duration: 5 });
    expect(statusHead({ ...JOB, status: 'scraping', warning: 'w' })).not.toHaveProperty('warning');
  });
});

describe('readStatusQuery', () => {
  it('may hold only requests that say how far they are', () => {
    expect(readStatusQuery({})).toEqual({ skip: 0, limit: null, mayHold: false });
    expect(readStatusQuery({ skip: '0', limit: '5' })).toEqual({ skip: 0, limit: 5, mayHold: true });
  });

  it.each([{ skip: '-1' }, { skip: 'x' }, { skip: '1.5' }, { limit: '0' }, { limit: '' }, { skip: ['1', '2'] }])(
    'refuses %j',
    (query) => {
      expect(() => readStatusQuery(query)).toThrow(expect.objectContaining({ status: 400 }));
    },
  );
});

describe('nextUrl', () => {
  const query = { skip: 0, limit: null, mayHold: false };

  it('names the first result that was not delivered, and the limit when there was one', () => {
    expect(nextUrl('http://h/v2/crawl/1', query, 3)).toBe('http://h/v2/crawl/1?skip=3');
    expect(nextUrl('http://h/v2/crawl/1', { ...query, limit: 7 }, 3)).toBe('http://h/v2/crawl/1?skip=3&limit=7');
    expect(nextUrl('http://h/v2/crawl/1', query, null)).toBeNull();
  });
});

let job: JobFixture;
const documentOf = (n: number) => ({ markdown: `${n}:${'é"\\'.repeat(3000)}` });
beforeEach(() => void (job = new JobFixture(documentOf)));
afterEach(() => job.feeds.close());

describe('sendStatus', () => {
  const pageOf = () => job.service.pageOf(job.view(), {});

  it.each([false, true])('copies the documents in order into valid JSON (slow client: %p)', async (slow) => {
    job.results = 50;
    job.status = 'completed';
    const { response, text } = collector(slow);
    const sent = text();
    await sendStatus(response, pageOf(), (skip) => (skip === null ? null : 'http://next'));
    const body = JSON.parse(await sent) as object;
    expect(body).toMatchObject({
      success: true,
      status: 'completed',
      data: Array.from({ length: 50 }, (_, n) => documentOf(n)),
    });
    expect(body).not.toHaveProperty('next');
  });

  it('has an empty list when there is nothing to send', async () => {
    const { response, text } = collector(false);
    const sent = text();
    await sendStatus(response, pageOf(), (skip) => `http://next?skip=${skip}`);
    expect(JSON.parse(await sent)).toMatchObject({ next: 'http://next?skip=0', data: [] });
  });

  it('fails before the first byte when the first document cannot be read', async () => {
    job.feeds.close();
    job = new JobFixture(() => {
      throw new Error('unreadable');
    });
    job.results = 1;
    const { response, chunks } = collector(false);
    await expect(sendStatus(response, pageOf(), () => null)).rejects.toThrow('unreadable');
    expect(chunks).toEqual([]);
  });
});

describe('sendLines', () => {
  it.each([false, true])('writes a document a line and the status last (slow client: %p)', async (slow) => {
    job.results = 20;
    const { response, text } = collector(slow);
    const sent = text();
    const stream = await job.service.stream(CALLER, JOB_ID, new AbortController().signal);
    setTimeout(() => job.add(10), 20);
    setTimeout(() => job.end('completed'), 40);
    await sendLines(response, stream.runs(0), () => stream.job);
    stream.close();
    const lines = (await sent).split('\n');
    expect(lines.pop()).toBe('');
    expect(JSON.parse(lines.pop()!)).toEqual({ status: 'completed', total: 30, completed: 30 });
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      Array.from({ length: 30 }, (_, n) => documentOf(n)),
    );
  });

  it('reads no further than a client that does not take it', async () => {
    job.results = 2000;
    const { response } = collector(true, true);
    const taken: number[] = [];
    async function* runs() {
      for await (const run of job.service.pageOf(job.view(), { maxBytes: Infinity }).runs()) {
        taken.push([...documentsOf(run)].length);
        yield run;
      }
    }
    void sendLines(response, runs(), () => job.view());
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(taken).toHaveLength(1);
  });
});

describe('wantsLines and readFollow', () => {
  it('follow the request', () => {
    const accepting = (answer: string | false) => ({ accepts: () => answer }) as unknown as Request;
    expect(wantsLines(accepting('application/x-ndjson'))).toBe(true);
    expect(wantsLines(accepting('json'))).toBe(false);
    expect([readFollow({}), readFollow({ follow: 'false' })]).toEqual([true, false]);
    expect(() => readFollow({ follow: 'no' })).toThrow(expect.objectContaining({ status: 400 }));
  });
});
