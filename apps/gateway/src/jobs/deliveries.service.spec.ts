import { beforeEach, describe, expect, it } from '@jest/globals';
import { numbersOf, webhookIdOf, type Mail, type Replay, type WebhookEvent } from '@troupe/contracts';
import type { DeliveryAttempt } from '@troupe/persistence';
import type { Caller } from '../auth/caller.js';
import { DeliveriesService } from './deliveries.service.js';
import type { JobView } from './ports.js';
import { WebhookPolicy } from './webhook-policy.js';

const JOB = '6f0c0000-0000-4000-8000-000000000001';
const CALLER = {} as Caller;

let pages: number;
let ends: { eventNo: number; status: 'completed' | 'failed' | 'cancelled' }[];
let events: WebhookEvent[] | null;
let recorded: DeliveryAttempt[];
let sent: Replay[];

const service = new DeliveriesService(
  {
    find: () =>
      Promise.resolve({
        job: JOB,
        jobNo: '7',
        kind: 'crawl',
        wireOptions: events === null ? { limit: 1 } : { webhook: { url: 'https://h.example/', events } },
      } as JobView),
  },
  {
    pageCount: () => Promise.resolve(pages),
    actionCount: () => Promise.resolve(pages),
    ends: () => Promise.resolve(ends),
    attempts: (_job, numbers) =>
      Promise.resolve(
        new Map(
          numbers
            .map((no) => [no, recorded.filter(({ eventNo }) => eventNo === no)] as const)
            .filter(([, a]) => a.length),
        ),
      ),
    lastAttempts: (_job, numbers) => {
      const last = new Map(recorded.map((attempt) => [attempt.eventNo, attempt]));
      const wanted = [...last.values()].filter(({ eventNo }) => numbers === null || numbers.includes(eventNo));
      const groups = new Map<number, DeliveryAttempt[]>();
      for (const attempt of wanted) groups.set(attempt.attempt, [...(groups.get(attempt.attempt) ?? []), attempt]);
      return Promise.resolve(groups);
    },
  },
  {
    publishActor: (mail: Mail) => {
      sent.push(mail.body as Replay);
      return Promise.resolve();
    },
  },
  'g1',
);

const attempt = (eventNo: number, no: number, code: number | null, final: boolean): DeliveryAttempt => ({
  eventNo,
  attempt: no,
  at: new Date(0),
  status: code,
  error: null,
  ms: 1,
  final,
});

beforeEach(() => {
  pages = 5;
  ends = [{ eventNo: 6, status: 'completed' }];
  events = ['started', 'page', 'completed', 'failed'];
  recorded = [
    attempt(0, 1, 200, true),
    attempt(1, 1, 500, false),
    attempt(2, 1, 500, false),
    attempt(2, 2, 204, true),
    attempt(3, 4, null, true),
    attempt(6, 4, 302, true),
  ];
  sent = [];
});

describe('the list of deliveries', () => {
  it('shows every event in order, attempted or not, and its state', async () => {
    const { deliveries, hasMore } = await service.list(CALLER, JOB, 0, 100);
    expect(hasMore).toBe(false);
    expect(deliveries.map(({ eventNo, type, state, attempts }) => [eventNo, type, state, attempts.length])).toEqual([
      [0, 'crawl.started', 'delivered', 1],
      [1, 'crawl.page', 'pending', 1],
      [2, 'crawl.page', 'delivered', 2],
      [3, 'crawl.page', 'dead', 1],
      [4, 'crawl.page', 'pending', 0],
      [5, 'crawl.page', 'pending', 0],
      [6, 'crawl.completed', 'dead', 1],
    ]);
    expect(deliveries.map(({ webhookId }) => webhookId)).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((no) => webhookIdOf(JOB, no)),
    );
  });

  it('is cut into pages', async () => {
    const first = await service.list(CALLER, JOB, 0, 4);
    const second = await service.list(CALLER, JOB, 4, 4);
    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
    expect([...first.deliveries, ...second.deliveries].map(({ eventNo }) => eventNo)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect((await service.list(CALLER, JOB, 7, 4)).deliveries).toEqual([]);
  });

  it.each<[WebhookEvent[], JobView['status'], number[]]>([
    [['started', 'completed'], 'completed', [0, 6]],
    [['page'], 'completed', [1, 2, 3, 4, 5]],
    [['page', 'completed'], 'scraping', [1, 2, 3, 4, 5]],
    [['page', 'completed'], 'cancelled', [1, 2, 3, 4, 5]],
    [['cancelled'], 'cancelled', [6]],
    [[], 'completed', []],
  ])('shows of %j for a job that is %s only %j', async (wanted, now, expected) => {
    events = wanted;
    ends = now === 'scraping' ? [] : [{ eventNo: 6, status: now }];
    expect((await service.list(CALLER, JOB, 0, 100)).deliveries.map(({ eventNo }) => eventNo)).toEqual(expected);
  });

  it('goes on behind the end of a batch that was appended to', async () => {
    pages = 7;
    ends = [6, 9].map((eventNo) => ({ eventNo, status: 'completed' }));
    recorded = [];
    const typesOf = async () =>
      (await service.list(CALLER, JOB, 4, 100)).deliveries.map(({ eventNo, type }) => [eventNo, type]);
    expect(await typesOf()).toEqual([
      [4, 'crawl.page'],
      [5, 'crawl.page'],
      [6, 'crawl.completed'],
      [7, 'crawl.page'],
      [8, 'crawl.page'],
      [9, 'crawl.completed'],
    ]);
    events = ['started', 'page'];
    expect((await typesOf()).map(([eventNo]) => eventNo)).toEqual([4, 5, 7, 8]);
  });

  it('is empty for a job without a webhook', async () => {
    events = null;
    expect(await service.list(CALLER, JOB, 0, 100)).toEqual({ deliveries: [], hasMore: false });
  });
});

describe('a replay', () => {
  const replay = async (webhookIds: string[] | null, isDeadOnly: boolean) => ({
    queued: await service.replay(CALLER, JOB, { webhookIds, isDeadOnly }),
    groups: sent.flatMap(({ groups }) => groups.map((group) => [group.attempt, [...numbersOf(group.events)]])),
  });
  const ids = (...numbers: number[]) => numbers.map((no) => webhookIdOf(JOB, no));

  it('of the dead asks for the attempt after their last one', async () => {
    expect(await replay(null, true)).toEqual({ queued: 2, groups: [[5, [3, 6]]] });
  });

  it('of named events takes the delivered, too, and leaves the pending alone', async () => {
    const { queued, groups } = await replay(ids(0, 1, 2, 4), false);
    expect(queued).toBe(2);
    expect(groups).toEqual([
      [2, [0]],
      [3, [2]],
    ]);
  });

  it('of named events that are not dead, with state dead, queues nothing and sends nothing', async () => {
    expect(await replay(ids(0, 2), true)).toEqual({ queued: 0, groups: [] });
  });

  it('of ids of another job queues nothing', async () => {
    expect((await replay([webhookIdOf('6f0c0000-0000-4000-8000-000000000002', 3)], false)).queued).toBe(0);
  });
});

describe('the webhook policy', () => {
  it('refuses private addresses with 400 at the key of the address, and lets names pass', () => {
    const policy = new WebhookPolicy({ allowPrivateWebhooks: 'false' });
    const check = (url: string) => () => policy.check({ url, headers: {}, metadata: '{}', events: [] });
    expect(check('http://127.0.0.1/')).toThrow(
      expect.objectContaining({
        code: 'BAD_REQUEST',
        httpStatus: 400,
        details: [expect.objectContaining({ path: ['webhook', 'url'] })],
      }),
    );
    expect(check('https://h.example/')).not.toThrow();
    expect(() => policy.check(null)).not.toThrow();
  });
});
