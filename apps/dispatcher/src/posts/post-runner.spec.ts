import { beforeEach, describe, expect, it } from '@jest/globals';
import { TroupeError, type Envelope, type Mail, type Post, type PostDone } from '@troupe/contracts';
import type { DeliveryAttempt, PostedPage, StoredModelResult } from '@troupe/persistence';
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { MAX_TEAM_RUNS, PostRunner, type PostParts } from './post-runner.js';
import type { Answer } from '../receivers/receivers.js';

const JOB = '6f0c0000-0000-4000-8000-000000000001';
const POST: Post = {
  type: 'Post',
  run: 3,
  actor: `delivery/${JOB}`,
  job: JOB,
  jobNo: '7',
  team: 't',
  kind: 'crawl',
  webhook: { url: 'https://h.example/x', headers: { a: 'b' }, metadata: '{}' },
  attempt: 1,
  events: [[1, 3]],
  ends: [],
  end: null,
};

const NO_RESULTS = {
  actions: () => Promise.resolve(new Map<string, string>()),
  modelResult: () => Promise.resolve(null),
};

let posted: { url: string; body: string; signatures: Record<string, string> }[];
let told: (boolean | null)[];
let mail: PostDone[];
let recorded: DeliveryAttempt[];
let result: StoredModelResult | null;
let answer: (body: string) => Promise<Answer>;
let publish: (envelope: Mail) => Promise<void>;

function runner(rest: Partial<PostParts> = {}): PostRunner {
  const page = (ord: number): PostedPage => ({
    ord,
    bytes: 20,
    blob: null,
    inline: gzipSync(`{"markdown":"p${ord}"}`),
  });
  return new PostRunner({
    instance: 'd1',
    mailboxes: { publishActor: (envelope) => publish(envelope) },
    deliveries: {
      pages: (_job, ords) => Promise.resolve(new Map(ords.filter((ord) => ord < 50).map((ord) => [ord, page(ord)]))),
      attempted: () => Promise.resolve(recorded),
      actions: (_job, steps) =>
        Promise.resolve(new Map(steps.filter((step) => step !== 'act/009').map((step) => [step, `{"did":"${step}"}`]))),
      modelResult: () => Promise.resolve(result),
    },
    blobs: { get: () => Promise.reject(new Error('gone')) },
    secrets: { of: () => Promise.resolve({ current: 'secret', previous: null }) },
    receivers: {
      post: (url, _headers, body, signatures) => {
        posted.push({ url: url.href, body: body.toString(), signatures });
        return answer(body.toString());
      },
    },
    places: {
      enter: () => Promise.resolve({ server: 'h.example', holds: [] }),
      leave: (_place, answered) => {
        told.push(answered);
        return Promise.resolve();
      },
    },
    ...rest,
  });
}

beforeEach(() => {
  posted = [];
  told = [];
  mail = [];
  recorded = [];
  result = { creditsUsed: 7, data: '{"n": 1.0}', sources: null };
  answer = () => Promise.resolve({ status: 200, error: null });
  publish = (envelope) => {
    mail.push((envelope as Envelope).body as PostDone);
    return Promise.resolve();
  };
});

const signed = (body: string, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const results = (): (number | string | null)[][] =>
  mail.flatMap((done) => done.results.map(({ eventNo, status, error }) => [eventNo, status, error]));

describe('a run of posts', () => {
  it('posts every event signed over its bytes and reports all results together', async () => {
    await runner().run(POST);
    expect(posted.map(({ body }) => (JSON.parse(body) as { data: object[] }).data)).toEqual(
      [1, 2, 3].map((ord) => [{ markdown: `p${ord}` }]),
    );
    for (const { body, signatures } of posted)
      expect(signatures).toEqual({ 'x-firecrawl-signature': signed(body, 'secret') });
    expect(mail).toMatchObject([{ run: 3, attempt: 1 }]);
    expect(results()).toEqual([
      [1, 200, null],
      [2, 200, null],
      [3, 200, null],
    ]);
  });

  it('finds the pages behind an earlier end of the job', async () => {
    await runner().run({ ...POST, events: [[2, 5]], ends: [2], end: { status: 'completed', error: null } });
    const data = posted.map(({ body }) => (JSON.parse(body) as { data: { markdown: string }[] }).data[0]?.markdown);
    expect(data.sort()).toEqual(['p2', 'p3', 'p4', undefined]);
  });

  it('signs nothing for a team without a secret', async () => {
    await runner({ secrets: { of: () => Promise.resolve({ current: null, previous: null }) } }).run(POST);
    expect(posted.map(({ signatures }) => signatures)).toEqual([{}, {}, {}]);
  });

  it('signs with the secret before the present one too, while there is one', async () => {
    await runner({ secrets: { of: () => Promise.resolve({ current: 'new', previous: 'old' }) } }).run(POST);
    expect(posted).toHaveLength(3);
    for (const { body, signatures } of posted)
      expect(signatures).toEqual({
        'x-firecrawl-signature': signed(body, 'new'),
        'x-troupe-signature-previous': signed(body, 'old'),
      });
  });

  it('reports what is on record already instead of posting it', async () => {
    recorded = [{ eventNo: 2, attempt: 1, at: new Date(5), status: 503, error: null, ms: 9, final: false }];
    await runner().run(POST);
    expect(posted).toHaveLength(2);
    expect(results()).toContainEqual([2, 503, null]);
  });

  it('reports a page that is gone or cannot be read as a failed attempt', async () => {
    const pages = new Map<number, PostedPage>([[1, { ord: 1, bytes: 5, blob: 'k', inline: null }]]);
    const deliveries = { ...NO_RESULTS, pages: () => Promise.resolve(pages), attempted: () => Promise.resolve([]) };
    await runner({ deliveries }).run({ ...POST, events: [[1, 2]] });
    expect(posted).toEqual([]);
    expect(new Map(results().map(([eventNo, , error]) => [eventNo, error]))).toEqual(
      new Map([
        [1, 'the stored page could not be read'],
        [2, 'the page is no longer stored'],
      ]),
    );
  });

  it('asks for redelivery when Postgres does not answer', async () => {
    const deliveries = {
      ...NO_RESULTS,
      pages: () => Promise.reject(new Error('down')),
      attempted: () => Promise.resolve([]),
    };
    await expect(runner({ deliveries }).run(POST)).rejects.toThrow('down');
  });

  it('publishes its results again while the stream does not answer', async () => {
    let tries = 0;
    const deliver = publish;
    publish = (envelope) => {
      if (++tries === 1) return Promise.reject(new TroupeError('UNKNOWN_ERROR', 'later', { retryable: true }));
      return deliver(envelope);
    };
    await runner().run(POST);
    expect([tries, results().length]).toEqual([2, 3]);
  });

  it('ends with when to come again when its receiver has no place for it', async () => {
    let places = 2;
    const enter = () =>
      Promise.resolve(places-- > 0 ? { server: 'h.example', holds: [] } : { waitMs: places > -3 ? 5_000 : 70 });
    answer = () => Promise.resolve({ status: null, error: 'no answer within 10 s' });
    const leave = (_place: unknown, answered: boolean | null) => Promise.resolve(void told.push(answered));
    expect(await runner({ places: { enter, leave } }).run({ ...POST, events: [[1, 40]] })).toBeUndefined();
    expect(posted).toHaveLength(2);
    expect(told).toEqual([false, false]);
    expect(results()).toHaveLength(2);
    expect(mail.at(-1)).toMatchObject({ run: 3, waitMs: 5_000 });
  });

  it('works on no more than a share of one team', async () => {
    const open: (() => void)[] = [];
    answer = () => new Promise((resolve) => open.push(() => resolve({ status: 200, error: null })));
    const subject = runner();
    const events: Post['events'] = [[1, 1]];
    const all = Array.from({ length: MAX_TEAM_RUNS + 1 }, (_, run) => subject.run({ ...POST, events, run }));
    await all.at(-1);
    expect(mail).toMatchObject([{ run: MAX_TEAM_RUNS, results: [], waitMs: 1_000 }]);
    const other = subject.run({ ...POST, events, team: 'other' });
    while (open.length <= MAX_TEAM_RUNS) await sleep(1);
    for (const end of open) end();
    await Promise.all([...all, other]);
    await subject.run({ ...POST, events: [] });
    expect(results()).toHaveLength(MAX_TEAM_RUNS + 1);
  });

  it('reports events that are too old without a post', async () => {
    await runner().run({ ...POST, staleUpTo: 2 });
    expect(posted).toHaveLength(1);
    expect(results()).toContainEqual([2, null, 'not sent: the event is older than 24 hours']);
  });

  it('hands back what it has not begun when the process stops, and reports the rest', async () => {
    const subject = runner();
    answer = async () => {
      subject.drain();
      await sleep(5);
      return { status: 200, error: null };
    };
    const left = await subject.run({ ...POST, events: [[1, 40]] });
    expect(left).toEqual({ retryMs: expect.any(Number) });
    expect(results().length).toBe(posted.length);
    expect(posted.length).toBeLessThan(40);
  });
});

describe('the events of jobs that work with a model', () => {
  const bodies = (): unknown[] => posted.map(({ body }) => JSON.parse(body) as unknown);
  const EXTRACT: Post = {
    ...POST,
    kind: 'extract',
    events: [[0, 1]],
    ends: [0],
    end: { status: 'completed', error: null },
  };

  it('are the start of an extraction and its end with the data and, when they are kept, the sources', async () => {
    await runner().run(EXTRACT);
    result = { ...result!, sources: '{"n": ["https://x/"]}' };
    await runner().run({ ...EXTRACT, events: [[1, 1]] });
    const data = { success: true, data: { n: 1 }, extractId: JOB };
    expect(bodies()).toMatchObject([
      { type: 'extract.started', data: [], error: null },
      { type: 'extract.completed', data: [data], error: null },
      { type: 'extract.completed', data: [{ ...data, sources: { n: ['https://x/'] } }] },
    ]);
    expect(posted[1]!.body).toContain('"data":{"n": 1.0}');
  });

  it('tell of a failed extraction why, without data', async () => {
    await runner().run({ ...EXTRACT, events: [[1, 1]], end: { status: 'failed', error: 'no page' } });
    expect(bodies()).toMatchObject([{ success: false, type: 'extract.failed', data: [], error: 'no page' }]);
  });

  it('are the actions of an agent by their steps, and its end with its bill', async () => {
    const agent: Post = { ...EXTRACT, kind: 'agent', events: [[1, 3]], ends: [2] };
    await runner().run(agent);
    await runner().run({ ...agent, events: [[3, 3]], end: { status: 'cancelled', error: null } });
    expect(bodies()).toMatchObject([
      { type: 'agent.action', data: [{ did: 'act/001' }] },
      { type: 'agent.action', data: [{ did: 'act/002' }] },
      { type: 'agent.completed', data: [{ creditsUsed: 7, data: { n: 1 } }] },
      { success: false, type: 'agent.cancelled', data: [{ creditsUsed: 7 }] },
    ]);
  });

  it('say where to read what a webhook cannot hold, and fail when it is gone', async () => {
    result = { ...result!, data: JSON.stringify('x'.repeat(11_000_000)) };
    await runner().run({ ...EXTRACT, events: [[1, 1]] });
    const [{ data }] = bodies() as [{ data: object[] }];
    expect(data).toEqual([{ success: true, extractId: JOB, warning: expect.stringContaining('10 MB') }]);
    mail = [];
    result = null;
    await runner().run({ ...EXTRACT, events: [[1, 1]] });
    await runner().run({ ...EXTRACT, kind: 'agent', events: [[9, 9]], ends: [], end: null });
    expect(results()).toEqual([
      [1, null, 'the result is no longer stored'],
      [9, null, 'the action is no longer stored'],
    ]);
  });
});
