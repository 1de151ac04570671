import { describe, expect, it } from '@jest/globals';
import { webhookIdOf, type Post } from '@troupe/contracts';
import { eventBody, MAX_BODY_BYTES } from './event-body.js';

const JOB = '6f0c0000-0000-4000-8000-000000000001';
const POST: Post = {
  type: 'Post',
  run: 1,
  actor: `delivery/${JOB}`,
  job: JOB,
  jobNo: '7',
  team: 't',
  kind: 'crawl',
  webhook: { url: 'https://h.example/', headers: {}, metadata: '{"b":1,"a":[null,"ü"]}' },
  attempt: 1,
  events: [[0, 9]],
  ends: [],
  end: null,
};
const text = (post: Post, eventNo: number, document: Buffer | null = null): string =>
  eventBody(post, eventNo, document).toString();

describe('eventBody', () => {
  it('is the start with nothing but the job', () => {
    expect(text(POST, 0)).toBe(
      `{"success":true,"type":"crawl.started","id":"${JOB}","webhookId":"${webhookIdOf(JOB, 0)}","data":[],"metadata":{"b":1,"a":[null,"ü"]},"error":null}`,
    );
  });

  it('carries a page as the bytes that are stored', () => {
    const stored = Buffer.from('{"markdown":"# Ü \\u2028","metadata":{"n":1.0}}');
    const body = eventBody({ ...POST, kind: 'batch' }, 4, stored);
    expect(body.includes(Buffer.concat([Buffer.from('"data":['), stored, Buffer.from('],"metadata"')]))).toBe(true);
    expect(JSON.parse(body.toString())).toMatchObject({ type: 'batch_scrape.page', webhookId: webhookIdOf(JOB, 4) });
    expect(body.equals(eventBody({ ...POST, kind: 'batch', attempt: 3 }, 4, stored))).toBe(true);
  });

  it.each([
    ['completed', null, { success: true, type: 'crawl.completed', error: null }],
    ['failed', 'no "start"', { success: false, type: 'crawl.failed', error: 'no "start"' }],
    ['failed', null, { success: false, type: 'crawl.failed', error: 'The job failed' }],
    ['cancelled', null, { success: false, type: 'crawl.cancelled', error: 'The job was cancelled' }],
  ] as const)('tells how a job ended: %s, %j', (status, error, expected) => {
    const post = { ...POST, ends: [4], end: { status, error } };
    expect(JSON.parse(text(post, 5))).toMatchObject({ ...expected, data: [] });
    expect(JSON.parse(text(post, 4, Buffer.from('{}')))).toMatchObject({ type: 'crawl.page' });
  });

  it('tells the completion of a batch before it was appended to, and its pages since', () => {
    const post: Post = { ...POST, kind: 'batch', ends: [2, 3], end: { status: 'cancelled', error: null } };
    const document = Buffer.from('{}');
    const types = [0, 1, 2, 3, 4, 5].map((no) => (JSON.parse(text(post, no, document)) as { type: string }).type);
    expect(types.map((type) => type.split('.')[1])).toEqual([
      'started',
      'page',
      'page',
      'completed',
      'page',
      'cancelled',
    ]);
  });

  it('leaves the content of a page out when the body would be above 10 MB', () => {
    const metadata = { title: 'a "}" b', sourceURL: 'http://x/', deep: { markdown: ']' } };
    const stored = Buffer.from(JSON.stringify({ markdown: '"\\'.repeat(MAX_BODY_BYTES / 4), links: ['a'], metadata }));
    const [document] = (JSON.parse(text(POST, 1, stored)) as { data: Record<string, unknown>[] }).data;
    expect(document).toEqual({ warning: expect.stringContaining('10 MB'), metadata });
  });

  it('reduces metadata that is too large itself to the keys of the API', () => {
    const metadata = { description: 'x'.repeat(MAX_BODY_BYTES), sourceURL: 'http://x/', statusCode: 200 };
    const stored = Buffer.from(JSON.stringify({ metadata }));
    const [document] = (JSON.parse(text(POST, 1, stored)) as { data: Record<string, unknown>[] }).data;
    expect(document!.metadata).toEqual({ sourceURL: 'http://x/', statusCode: 200 });
  });
});
