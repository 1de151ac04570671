import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { Writable } from 'node:stream';
import type { Response } from 'express';
import { PageBytes } from '../../jobs/page-bytes.js';
import { type JobView } from '../../jobs/ports.js';
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
};

/** As much of a response as is written to; `slow` makes every write wait for a drain. */
function collector(slow: boolean) {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    highWaterMark: slow ? 1 : undefined,
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      setImmediate(done);
    },
  });
  const response = Object.assign(stream, { headersSent: false, setHeader: () => undefined }) as unknown as Response;
  const text = async () => {
    await new Promise((resolve) => stream.once('finish', resolve));
    return Buffer.concat(chunks).toString();
  };
  return { response, text, chunks };
}

describe('statusHead', () => {
  it('leaves out what is absent instead of sending null', () => {
    expect(statusHead({ ...JOB, status: 'scraping', finishedAt: null }, null)).toEqual({
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
    expect(statusHead({ ...JOB, error: 'x' }, null)).not.toHaveProperty('error');
    expect(statusHead({ ...JOB, status: 'failed', error: 'no such host' }, null)).toMatchObject({
      success: true,
      error: 'no such host',
    });
    expect(statusHead({ ...JOB, warning: 'w' }, null)).toMatchObject({ warning: 'w', duration: 5 });
    expect(statusHead({ ...JOB, status: 'scraping', warning: 'w' }, null)).not.toHaveProperty('warning');
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

describe('sendStatus', () => {
  const bytesOf = () =>
    new PageBytes({ get: () => Promise.reject(new Error('no blobs here')) }, { page: () => Promise.resolve(null) });
  const rowOf = (document: object, ord: number) => ({
    ord,
    item: ord,
    url: '',
    bytes: 0,
    blob: null,
    inline: gzipSync(JSON.stringify(document)),
  });

  it.each([false, true])('copies the documents in order into valid JSON (slow client: %p)', async (slow) => {
    const documents = Array.from({ length: 50 }, (_, i) => ({ markdown: `${i}:${'é"\\'.repeat(3000)}` }));
    const { response, text } = collector(slow);
    const sent = text();
    await sendStatus(response, { job: JOB, rows: documents.map(rowOf), nextSkip: null }, null, bytesOf());
    expect(JSON.parse(await sent)).toMatchObject({ success: true, status: 'completed', data: documents });
  });

  it('has an empty list when there is nothing to send', async () => {
    const { response, text } = collector(false);
    const sent = text();
    await sendStatus(response, { job: JOB, rows: [], nextSkip: 4 }, 'http://next', bytesOf());
    expect(JSON.parse(await sent)).toMatchObject({ next: 'http://next', data: [] });
  });

  it('fails before the first byte when the first document cannot be read', async () => {
    const { response, chunks } = collector(false);
    const row = { ...rowOf({}, 1), inline: null, blob: 'gone' };
    await expect(sendStatus(response, { job: JOB, rows: [row], nextSkip: null }, null, bytesOf())).rejects.toThrow(
      'no blobs here',
    );
    expect(chunks).toEqual([]);
  });
});
