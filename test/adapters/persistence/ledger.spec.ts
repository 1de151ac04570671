import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FROM_HISTORY, type Outcome, type RowOp } from '@troupe/contracts';
import { JobRepository, LedgerRepository, PgActorStore, type LedgerOutcome, type ListKey } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';
import { candidate, head, PART, step, writes } from './turns.js';

let db: TestDatabase;
let jobs: JobRepository;
let ledgers: LedgerRepository;
let store: PgActorStore;

beforeAll(async () => {
  db = await testDatabase();
  jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
  ledgers = new LedgerRepository(db.pool);
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
});
afterAll(() => db.drop());

async function crawl(): Promise<string> {
  const { jobNo } = await jobs.create({
    kind: 'crawl',
    team: randomUUID(),
    keyId: null,
    spec: {} as never,
    originUrl: 'http://a/',
    wireOptions: {},
    origin: null,
    integration: null,
    idempotencyKey: null,
    zdr: false,
  });
  return jobNo;
}

/** One turn of an actor made for the occasion. */
async function write(rows: RowOp[], candidates: Parameters<typeof candidate>[] = []): Promise<void> {
  const key = `crawl/${randomUUID()}` as const;
  const epoch = await store.mintEpoch(PART, 'me');
  await store.activate(PART, epoch, [key]);
  const asks = { candidates: candidates.map((fields) => candidate(...fields)) };
  await store.commitTurn(head(epoch, [{ key, rev: 0 }], asks), () => writes([step(key, 0)], { rows }));
}

const decided = (jobNo: string, item: number, outcome: Outcome, parent: number | null = null): RowOp => ({
  op: 'outcome.insert',
  jobNo,
  item,
  url: `http://a/${item}`,
  parent,
  depth: parent === null ? 0 : 1,
  outcome,
  rule: outcome === 'failed' ? 'SCRAPE_TIMEOUT' : null,
  statusCode: outcome === 'ok' ? 200 : null,
  bytes: 12_345_678_901,
  ms: 3.4,
  engine: 'http',
  attempts: 2,
});
const ended = (jobNo: string, status: 'scraping' | 'completed' | 'failed' | 'cancelled'): RowOp => ({
  op: 'job.update',
  jobNo,
  status,
  total: 0,
  completed: 0,
  credits: 0,
  error: null,
  warning: null,
  seeds: 0,
  excluded: { external: 7, depth: 1 },
  finished: status !== 'scraping',
});
const leftOut = (jobNo: string, n: number, parent: number | null): RowOp => ({
  op: 'excluded.insert',
  jobNo,
  h: n.toString(16).padStart(16, '0'),
  url: `http://out/${n}`,
  rule: 'external',
  parent,
});

const itemsOf = async (jobNo: string, outcome: LedgerOutcome | null, skip = 0, limit = 100) => {
  const ledger = (await ledgers.read(jobNo, { skip, limit, outcome }))!;
  return { items: ledger.entries.map(({ item }) => item), hasMore: ledger.hasMore };
};

describe('the ledger of a job', () => {
  it.each([
    ['pending while it runs', 'scraping', 'pending'],
    ['limit after it completed', 'completed', 'limit'],
    ['limit after it failed', 'failed', 'limit'],
    ['cancelled after a cancel', 'cancelled', 'cancelled'],
  ] as const)('counts undecided URLs as %s, and every URL once', async (_title, status, name) => {
    const jobNo = await crawl();
    await write(
      [decided(jobNo, 1, 'ok'), decided(jobNo, 2, 'ok'), decided(jobNo, 3, 'robots'), ended(jobNo, status)],
      [
        [jobNo, 4, 'http://a/4'],
        [jobNo, 5, 'http://a/5'],
      ],
    );
    const ledger = (await ledgers.read(jobNo, { skip: 0, limit: 10, outcome: null }))!;
    expect(ledger).toMatchObject({ counts: { ok: 2, robots: 1, [name]: 2 }, discovered: 5 });
    expect(ledger.excluded).toEqual({ external: 7, depth: 1 });
    expect(ledger.entries.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'robots', name, name]);
    expect((await itemsOf(jobNo, name)).items).toEqual([4, 5]);
    expect((await itemsOf(jobNo, 'duplicate')).items).toEqual([]);
  });

  it('tells everything of a decided URL, its parent by its address', async () => {
    const jobNo = await crawl();
    await write([decided(jobNo, 1, 'ok'), decided(jobNo, 2, 'failed', 1)]);
    const { entries } = (await ledgers.read(jobNo, { skip: 1, limit: 1, outcome: null }))!;
    expect(entries).toEqual([
      {
        item: 2,
        url: 'http://a/2',
        outcome: 'failed',
        rule: 'SCRAPE_TIMEOUT',
        depth: 1,
        parent: 'http://a/1',
        fromHistory: false,
        status: null,
        bytes: 12_345_678_901,
        ms: 3,
        engine: 'http',
        attempts: 2,
        notBefore: null,
        at: expect.any(Date),
        key: ['-1', '2'],
      },
    ]);
  });

  it('says what pending URLs wait for, and until when that is known', async () => {
    const jobNo = await crawl();
    const untilMs = Date.now() + 60_000;
    const states = {
      'down.test': 'down',
      'paused.test': 'paused',
      'held.test': 'held',
      'slowed.test': 'slowed',
    } as const;
    const hostRows = Object.entries(states).map(([host, state]): RowOp => ({
      op: 'host.upsert',
      host,
      state,
      pagesPerSecond: 2,
      maxConn: 1,
      gapMs: 500,
      sinceMs: Date.now(),
      untilMs: state === 'paused' ? untilMs : null,
      plateau: null,
      reasons: [],
    }));
    const hosts = ['a', 'a', ...Object.keys(states), 'slowed.test', 'down.test'];
    await write(
      hostRows,
      hosts.map((host, i) => [jobNo, i, `http://${host}/${i}`]),
    );
    const mark = { op: 'frontier.mark' as const, jobNo, depth: 1, attempt: 1, browser: false, tries: 2 };
    await write([
      { ...mark, item: 1, st: 0, waitMs: 30_000, rule: 'retry-later' },
      { ...mark, item: 6, st: 0, waitMs: 30_000, rule: 'robots-unreadable' },
      { ...mark, item: 7, st: 1 },
    ]);
    const { entries } = (await ledgers.read(jobNo, { skip: 0, limit: 10, outcome: 'pending' }))!;
    expect(entries.map(({ rule, notBefore }) => [rule, notBefore !== null])).toEqual([
      [null, false],
      ['retry-later', true],
      ['host-down', false],
      ['host-paused', true],
      ['host-paused', false],
      ['host-slowed', false],
      ['robots-unreadable', true],
      [null, false],
    ]);
    expect(entries[1]).toMatchObject({ attempts: 2 });
    expect(entries[3]!.notBefore!.getTime()).toBe(untilMs);
    await write([ended(jobNo, 'cancelled')]);
    const after = (await ledgers.read(jobNo, { skip: 0, limit: 10, outcome: 'cancelled' }))!;
    expect(after.entries.map(({ rule, notBefore }) => rule ?? notBefore)).toEqual(hosts.map(() => null));
  });

  it('says which URLs a history has named, decided or not', async () => {
    const jobNo = await crawl();
    await write(
      [decided(jobNo, 1, 'ok'), decided(jobNo, 2, 'ok', FROM_HISTORY), decided(jobNo, 3, 'ok', 2)],
      [
        [jobNo, 4, 'http://a/4'],
        [jobNo, 5, 'http://a/5', 0, FROM_HISTORY],
      ],
    );
    const { entries } = (await ledgers.read(jobNo, { skip: 0, limit: 10, outcome: null }))!;
    expect(entries.map(({ item, parent, fromHistory }) => [item, parent, fromHistory])).toEqual([
      [1, null, false],
      [2, null, true],
      [3, 'http://a/2', false],
      [4, null, false],
      [5, null, true],
    ]);
  });

  it('keeps its pages where they were while more is decided and found', async () => {
    const jobNo = await crawl();
    await write([decided(jobNo, 2, 'ok'), decided(jobNo, 5, 'ok')], [[jobNo, 3, 'http://a/3']]);
    const before = [await itemsOf(jobNo, null, 0, 2), await itemsOf(jobNo, 'ok', 0, 1)];
    await write([decided(jobNo, 1, 'ok'), decided(jobNo, 4, 'failed')], [[jobNo, 6, 'http://a/6']]);
    expect(before).toEqual([
      { items: [2, 3], hasMore: true },
      { items: [2], hasMore: true },
    ]);
    expect(await itemsOf(jobNo, 'ok', 0, 5)).toEqual({ items: [2, 5, 1], hasMore: false });
    expect(await itemsOf(jobNo, null, 0, 100)).toEqual({ items: [1, 2, 3, 4, 5, 6], hasMore: false });
  });

  it('lists links that were left out apart from its counts, each once, in the order in which they were', async () => {
    const jobNo = await crawl();
    await write([decided(jobNo, 1, 'ok', 9), leftOut(jobNo, 9, 1)]);
    await write([leftOut(jobNo, 5, null), leftOut(jobNo, 9, null)]);
    const ledger = (await ledgers.read(jobNo, { skip: 0, limit: 10, outcome: 'out_of_scope' }))!;
    expect(ledger).toMatchObject({ discovered: 1, counts: { ok: 1 }, hasMore: false });
    expect(ledger.entries).toMatchObject([
      { url: 'http://out/9', outcome: 'out_of_scope', rule: 'external', depth: 2, parent: 'http://a/1', attempts: 0 },
      { url: 'http://out/5', outcome: 'out_of_scope', rule: 'external', depth: 0, parent: null },
    ]);
    expect((await ledgers.read(jobNo, { skip: 1, limit: 1, outcome: 'out_of_scope' }))?.entries).toMatchObject([
      { url: 'http://out/5' },
    ]);
  });

  it('lists at most 10,000 of them', async () => {
    const jobNo = await crawl();
    await db.pool.query(
      `INSERT INTO url_excluded (job_no, h, url, rule) SELECT $1, n, 'http://out/' || n, 'external' FROM generate_series(1, 10005) n`,
      [jobNo],
    );
    const last = (await ledgers.read(jobNo, { skip: 9_990, limit: 100, outcome: 'out_of_scope' }))!;
    expect([last.entries.length, last.hasMore]).toEqual([10, false]);
    const beyond = (await ledgers.read(jobNo, { skip: 20_000, limit: 100, outcome: 'out_of_scope' }))!;
    expect(beyond.entries).toEqual([]);
  });

  it('adds up to what is discovered at every moment of a running job', async () => {
    const jobNo = await crawl();
    const count = 200;
    await write(
      [],
      Array.from({ length: count }, (_, i) => [jobNo, i, `http://a/${i}`]),
    );
    let isOver = false;
    const sums: number[] = [];
    const reading = (async () => {
      while (!isOver) {
        const { counts, discovered } = (await ledgers.read(jobNo, { skip: 0, limit: 5, outcome: null }))!;
        expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(discovered);
        sums.push(discovered);
      }
    })();
    for (let item = 0; item < count; item += 10) {
      const items = Array.from({ length: 10 }, (_, i) => item + i);
      await write(
        items.flatMap((each) => [
          { op: 'frontier.delete' as const, jobNo, depth: 1, item: each },
          decided(jobNo, each, 'ok'),
        ]),
      );
    }
    isOver = true;
    await reading;
    expect(new Set(sums)).toEqual(new Set([count]));
  });

  it('is read completely page by page, each URL once, also while URLs are decided and found', async () => {
    const jobNo = await crawl();
    const open = Array.from({ length: 60 }, (_, i): Parameters<typeof candidate> => [jobNo, i, `http://a/${i}`, i % 7]);
    await write([], open);
    const pageAfter = async (outcome: LedgerOutcome | null, after: ListKey | null) =>
      (await ledgers.read(jobNo, { skip: 0, limit: 7, outcome, after }))!;
    const all: number[] = [];
    let after: ListKey | null = null;
    for (let round = 0; ; round++) {
      const { entries, hasMore } = await pageAfter(null, after);
      all.push(...entries.map(({ item }) => item));
      if (!hasMore) break;
      after = entries.at(-1)!.key;
      await write([
        { op: 'frontier.delete', jobNo, depth: (round * 5) % 7, item: round * 5 },
        decided(jobNo, round * 5, round % 2 === 0 ? 'robots' : 'ok'),
      ]);
    }
    expect(all).toEqual(open.map(([, item]) => item));
    const robots: number[] = [];
    for (after = null; ;) {
      const { entries, hasMore }: Awaited<ReturnType<typeof pageAfter>> = (await ledgers.read(jobNo, {
        skip: 0,
        limit: 2,
        outcome: 'robots',
        after,
      }))!;
      robots.push(...entries.map(({ item }) => item));
      if (!hasMore) break;
      after = entries.at(-1)!.key;
    }
    expect(robots).toEqual([0, 10, 20, 30]);
  });

  it('counts what the tables hold, whoever wrote it, and seeds that nobody has taken yet', async () => {
    const jobNo = await crawl();
    await write([decided(jobNo, 1, 'ok')], [[jobNo, 2, 'http://a/2']]);
    await db.pool.query(
      `INSERT INTO url_outcome (job_no, item, url, depth, outcome, rule, attempts, at)
       SELECT $1, n, 'http://a/' || n, 0, CASE WHEN n % 2 = 0 THEN 'robots' ELSE 'ok' END, CASE n WHEN 11 THEN 'revalidated' END, 1, now()
       FROM generate_series(10, 19) n`,
      [jobNo],
    );
    await db.pool.query(`INSERT INTO job_seed (job_no, ord, url, host) VALUES ($1, 30, 'http://a/30', 'a')`, [jobNo]);
    const ledger = (await ledgers.read(jobNo, { skip: 0, limit: 0, outcome: null }))!;
    expect(ledger).toMatchObject({ counts: { ok: 6, robots: 5, pending: 2 }, discovered: 13, revalidated: 1 });
    await db.pool.query('DELETE FROM frontier WHERE job_no = $1', [jobNo]);
    expect((await ledgers.read(jobNo, { skip: 0, limit: 0, outcome: null }))!.counts).toMatchObject({ pending: 1 });
  });

  it('ends a page at 8 MiB, but never before its first entry', async () => {
    const jobNo = await crawl();
    await db.pool.query(
      `INSERT INTO url_outcome (job_no, item, url, depth, outcome, rule, attempts, at)
       SELECT $1, n, repeat('u', 3 * 1024 * 1024), 0, 'failed', NULL, 1, now() FROM generate_series(1, 4) n`,
      [jobNo],
    );
    const first = (await ledgers.read(jobNo, { skip: 0, limit: 100, outcome: null }))!;
    expect([first.entries.map(({ item }) => item), first.hasMore]).toEqual([[1, 2], true]);
    const rest = (await ledgers.read(jobNo, { skip: 0, limit: 100, outcome: null, after: first.entries.at(-1)!.key }))!;
    expect([rest.entries.map(({ item }) => item), rest.hasMore]).toEqual([[3, 4], false]);
  });
});
