import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { HostReason, HostRecord, HostSetting, RowOp } from '@troupe/contracts';
import {
  Housekeeping,
  HostRepository,
  HostSettingRepository,
  HostSettings,
  JobRepository,
  PgActorStore,
  settingOf,
} from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { testDatabase, type TestDatabase } from './database.js';
import { candidate, head, PART, step, writes } from './turns.js';

const BY = { actor: 'admin', ip: null };
const REASON: HostReason = {
  at: '2026-11-24T10:00:00.000Z',
  kind: 'rateLimited',
  status: 429,
  url: 'http://a.test/\u0000',
  team: null,
  retryAfterMs: 2000,
  effect: 'rate cut to 8 pages/s',
};

let db: TestDatabase;
let store: PgActorStore;
let hosts: HostRepository;
let settings: HostSettingRepository;

beforeAll(async () => {
  db = await testDatabase();
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
  hosts = new HostRepository(db.pool);
  settings = new HostSettingRepository(db.pool);
});
afterAll(() => db.drop());

function record(host: string, rest: Partial<HostRecord> = {}): HostRecord {
  return {
    host,
    state: 'slowed',
    pagesPerSecond: 8,
    maxConn: 2,
    gapMs: 250,
    sinceMs: 1_764_000_000_123,
    untilMs: null,
    plateau: null,
    reasons: [],
    ...rest,
  };
}

async function write(rows: RowOp[], candidates: Parameters<typeof candidate>[] = []): Promise<void> {
  const key = `domain/${randomUUID()}` as const;
  const epoch = await store.mintEpoch(PART, 'me');
  await store.activate(PART, epoch, [key]);
  const asks = { candidates: candidates.map((fields) => candidate(...fields)) };
  await store.commitTurn(head(epoch, [{ key, rev: 0 }], asks), () => writes([step(key, 0)], { rows }));
}

const upsert = (...records: HostRecord[]): Promise<void> =>
  write(records.map((row) => ({ op: 'host.upsert', ...row })));

const FIRST = { after: null, skip: 0, limit: 10 };

describe('how hosts are treated', () => {
  it('is kept as it was last written, the newest of a turn', async () => {
    const full = record('a.test', {
      untilMs: 1_764_000_060_500,
      plateau: { pagesPerSecond: 9.5, ms: 40_000 },
      reasons: [REASON],
    });
    await upsert(record('a.test', { state: 'down', pagesPerSecond: null }), full);
    const [stored] = await hosts.ofNames(['a.test', 'unknown.test']);
    expect(stored).toMatchObject({ ...full, reasons: [{ ...REASON, url: 'http://a.test/\ufffd' }] });
    await upsert(record('a.test', { state: 'open', pagesPerSecond: null }));
    expect(await hosts.ofNames(['a.test'])).toMatchObject([
      { state: 'open', pagesPerSecond: null, plateau: null, reasons: [] },
    ]);
  });

  it('is listed by state, worst first', async () => {
    await upsert(
      record('s2.test', { pagesPerSecond: 2 }),
      record('s1.test', { pagesPerSecond: 1 }),
      record('d.test', { state: 'down' }),
      record('p.test', { state: 'paused' }),
      record('o.test', { state: 'open' }),
    );
    const names = ({ rows }: { rows: HostRecord[] }) => rows.map(({ host }) => host);
    const bad = ['slowed', 'down', 'paused'] as const;
    const first = await hosts.inStates(bad, { after: null, skip: 0, limit: 3 });
    expect(first.hasMore).toBe(true);
    const rest = await hosts.inStates(bad, { after: first.rows.at(-1)!.key, skip: 0, limit: 3 });
    expect([names(rest), rest.hasMore]).toEqual([['s2.test'], false]);
    expect(names(await hosts.inStates(bad, FIRST))).toEqual(['d.test', 'p.test', 's1.test', 's2.test']);
    expect(names(await hosts.inStates(bad, { after: null, skip: 1, limit: 2 }))).toEqual(['p.test', 's1.test']);
    expect(names(await hosts.inStates(['held'], FIRST))).toEqual([]);
  });

  it('is listed for a job with what became of its URLs', async () => {
    const jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
    const { jobNo } = await jobs.create({
      kind: 'crawl',
      team: randomUUID(),
      keyId: null,
      spec: {} as never,
      originUrl: 'http://s1.test/',
      wireOptions: {},
      origin: null,
      integration: null,
      idempotencyKey: null,
      zdr: false,
    });
    const outcome = (item: number, url: string, what: 'ok' | 'failed' | 'robots'): RowOp => ({
      op: 'outcome.insert',
      jobNo,
      item,
      url,
      parent: null,
      depth: 0,
      outcome: what,
      rule: null,
      statusCode: null,
      bytes: null,
      ms: null,
      engine: null,
      attempts: 1,
    });
    await write(
      [
        outcome(10, 'https://user@S1.test:443/a?b=//x', 'ok'),
        outcome(11, 'http://s1.test/b', 'failed'),
        outcome(12, 'http://other.test:8080/c', 'robots'),
      ],
      [
        [jobNo, 1, 'http://s1.test/1'],
        [jobNo, 2, 'http://o.test/2'],
        [jobNo, 3, 'http://new.test:81/3'],
      ],
    );
    const all = await hosts.ofJob(jobNo, FIRST);
    const one = await hosts.ofJob(jobNo, { ...FIRST, limit: 1 });
    const rest = await hosts.ofJob(jobNo, { ...FIRST, after: one.rows[0]!.key });
    expect([...one.rows, ...rest.rows]).toEqual(all.rows);
    expect(all.rows).toMatchObject([
      { host: 's1.test', pending: 1, ok: 1, failed: 1, other: 0, record: { state: 'slowed' } },
      { host: 'o.test', pending: 1, ok: 0, record: { state: 'open' } },
      { host: 'new.test:81', pending: 1, record: null },
      { host: 'other.test:8080', pending: 0, other: 1, record: null },
    ]);
    expect(await hosts.troubledOfJob(jobNo, 10)).toMatchObject([{ host: 's1.test' }]);
  });

  it('is forgotten after seven days', async () => {
    await upsert(record('old.test'), record('young.test'));
    await db.pool.query(`UPDATE host SET updated_at = now() - interval '169 hours' WHERE host = 'old.test'`);
    await new Housekeeping(db.pool).dropExpired();
    expect((await hosts.ofNames(['old.test', 'young.test'])).map(({ host }) => host)).toEqual(['young.test']);
  });
});

describe('settings of hosts', () => {
  const full: HostSetting = {
    pattern: 'a.test',
    maxConn: 2,
    gapMs: 500,
    maxRate: 0.5,
    expressConn: 1,
    crawlDelay: 2.5,
    giveUpMin: 5,
    hold: true,
    note: 'asked for it',
  };

  it('are kept, replaced as a whole, removed, and audited', async () => {
    await settings.put(full, BY);
    expect(await settings.get('a.test')).toEqual(full);
    await settings.put({ pattern: 'a.test', crawlDelay: 'obey', hold: false }, BY);
    expect(await settings.get('a.test')).toEqual({ pattern: 'a.test', crawlDelay: 'obey', hold: false });
    expect((await settings.list(FIRST)).rows).toHaveLength(1);
    expect(await settings.remove('a.test', BY)).toBe(true);
    expect(await settings.remove('a.test', BY)).toBe(false);
    expect(await settings.get('a.test')).toBeNull();
    const { rows } = await db.pool.query(`SELECT action FROM admin_audit WHERE target = 'a.test' ORDER BY at`);
    expect(rows.map(({ action }) => action)).toEqual(['host.set', 'host.set', 'host.unset', 'host.unset']);
  });

  it('are known to every process within five seconds', async () => {
    const copy = await HostSettings.watch(db.pool, () => undefined);
    expect(copy.settingOf('b.test')).toBeNull();
    await settings.put({ pattern: 'b.test', maxConn: 3 }, BY);
    const until = Date.now() + 5_000;
    while (copy.settingOf('b.test') === null && Date.now() < until) await sleep(50);
    expect(copy.settingOf('b.test')).toEqual({ pattern: 'b.test', maxConn: 3 });
    copy.stop();
  });

  it.each([
    ['a.test', 'a.test'],
    ['a.test:8080', 'a.test:8080'],
    ['a.test:81', 'a.test'],
    ['x.a.test', '*.a.test'],
    ['y.x.a.test', '*.x.a.test'],
    ['y.x.a.test:81', '*.x.a.test'],
    ['b.test', '*.test'],
    ['test', null],
    ['xa.org', null],
  ])('of %s are those of %s: the exact host before the longest suffix', (host, pattern) => {
    const patterns = ['a.test', 'a.test:8080', '*.a.test', '*.x.a.test', '*.test', '*.a.org'];
    const table = new Map(patterns.map((name) => [name, { pattern: name }]));
    expect(settingOf(table, host)?.pattern ?? null).toBe(pattern);
  });
});
