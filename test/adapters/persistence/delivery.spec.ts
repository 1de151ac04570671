import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { dayOf, jobNoOf, type ActorKey, type JobNo, type RowOp } from '@troupe/contracts';
import { DeliveryRepository, PgActorStore } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';
import { head, PART, step, writes } from './turns.js';

let db: TestDatabase;
let store: PgActorStore;
let deliveries: DeliveryRepository;
let jobNo: JobNo;
let sequence = 1n;

beforeAll(async () => {
  db = await testDatabase();
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
  deliveries = new DeliveryRepository(db.pool);
});
afterAll(() => db.drop());
beforeEach(() => {
  jobNo = jobNoOf(dayOf(Date.now()), 2_000_000n + sequence++);
});

/** One turn of an actor made for the occasion. */
async function write(rows: RowOp[]): Promise<void> {
  const key: ActorKey = `delivery/${randomUUID()}`;
  const epoch = await store.mintEpoch(PART, 'me');
  await store.activate(PART, epoch, [key]);
  await store.commitTurn(head(epoch, [{ key, rev: 0 }]), () => writes([step(key, 0)], { rows }));
}

const attempt = (eventNo: number, no: number, status: number | null, final: boolean): RowOp => ({
  op: 'delivery.attempt',
  jobNo,
  eventNo,
  attempt: no,
  atMs: Date.UTC(2025, 0, 1) + no,
  status,
  error: status === null ? 'no \0 answer' : null,
  ms: 12.4,
  final,
});

const page = (ord: number): RowOp => ({
  op: 'page.insert',
  jobNo,
  ord,
  item: ord + 10,
  url: 'http://a/',
  finalUrl: 'http://a/',
  statusCode: 200,
  depth: 0,
  bytes: 5,
  blob: ord % 2 === 0 ? 'key' : null,
  inline: ord % 2 === 0 ? null : Buffer.from('gz').toString('base64'),
  credits: 1,
});

describe('attempts at deliveries', () => {
  it('are kept once each, whatever is written again, and read back by event in order', async () => {
    await write([
      attempt(0, 1, null, false),
      attempt(0, 2, 200, true),
      attempt(0, 2, 500, false),
      attempt(3, 1, 302, false),
    ]);
    await write([attempt(0, 1, 500, true)]);
    const found = await deliveries.attempts(jobNo, [0, 1, 3]);
    expect([...found.keys()]).toEqual([0, 3]);
    expect(found.get(0)).toEqual([
      {
        eventNo: 0,
        attempt: 1,
        at: new Date(Date.UTC(2025, 0, 1) + 1),
        status: null,
        error: 'no � answer',
        ms: 12,
        final: false,
      },
      { eventNo: 0, attempt: 2, at: new Date(Date.UTC(2025, 0, 1) + 2), status: 200, error: null, ms: 12, final: true },
    ]);
    expect(await deliveries.attempted(jobNo, 1, [0, 1, 3, 4])).toMatchObject([{ eventNo: 0 }, { eventNo: 3 }]);
    expect(await deliveries.attempted(jobNo, 2, [3])).toEqual([]);
  });

  it('tell the last one of each event, grouped by its number, and one that was reopened is not final', async () => {
    await write([1, 2, 3, 4].map((no) => attempt(5, no, null, no === 4)));
    await write([attempt(6, 1, 204, true), attempt(7, 1, 500, false)]);
    const last = await deliveries.lastAttempts(jobNo, null);
    expect([...last].map(([no, entries]) => [no, entries.map(({ eventNo, final }) => [eventNo, final])])).toEqual([
      [4, [[5, true]]],
      [
        1,
        [
          [6, true],
          [7, false],
        ],
      ],
    ]);
    await write([{ op: 'delivery.reopen', jobNo, eventNo: 5, attempt: 4 }]);
    expect((await deliveries.lastAttempts(jobNo, [5, 99])).get(4)).toMatchObject([{ eventNo: 5, final: false }]);
  });
});

describe('the ends of a job', () => {
  it('are kept once each, in order', async () => {
    const end = (eventNo: number): RowOp => ({ op: 'delivery.end', jobNo, eventNo, status: 'completed' });
    await write([end(9), end(4)]);
    await write([end(4)]);
    expect(await deliveries.ends(jobNo)).toEqual([
      { eventNo: 4, status: 'completed' },
      { eventNo: 9, status: 'completed' },
    ]);
  });
});

describe('what a dispatcher reads', () => {
  it('are pages by ordinal, where they are stored', async () => {
    await write([page(1), page(2), page(3)]);
    expect(await deliveries.pageCount(jobNo)).toBe(3);
    const pages = await deliveries.pages(jobNo, [2, 3, 9]);
    expect([...pages.keys()].sort()).toEqual([2, 3]);
    expect(pages.get(2)).toEqual({ ord: 2, bytes: 5, blob: 'key', inline: null });
    expect(pages.get(3)).toEqual({ ord: 3, bytes: 5, blob: null, inline: Buffer.from('gz') });
    expect(await deliveries.pageCount(jobNoOf(1, 1n))).toBe(0);
  });

  it('are the secrets of a team: the former one for a day, or none', async () => {
    const { rows } = await db.pool.query<{ id: string }>(
      `INSERT INTO team (name, concurrency, webhook_secret, webhook_secret_previous, webhook_secret_rotated_at)
        VALUES ($1, 1, 's', NULL, now()), ($2, 1, NULL, NULL, NULL), ($3, 1, 's', 'former', now() - interval '23 hours'),
          ($4, 1, 's', 'former', now() - interval '25 hours') RETURNING id`,
      Array.from({ length: 4 }, () => randomUUID()),
    );
    expect(await Promise.all(rows.map(({ id }) => deliveries.webhookSecrets(id)))).toEqual([
      { current: 's', previous: null },
      { current: null, previous: null },
      { current: 's', previous: 'former' },
      { current: 's', previous: null },
    ]);
    expect(await deliveries.webhookSecrets(randomUUID())).toEqual({ current: null, previous: null });
  });
});
