/** Counts, credits, blocklist and the operator's tables on a real Postgres. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dayOf, jobNoOf } from '@troupe/contracts';
import {
  AccountRepository,
  AuditLog,
  BlockedHosts,
  BlocklistRepository,
  DeadLetterRepository,
  hashApiKey,
  ModelUsage,
  RateCounter,
  TeamAdminRepository,
  TeamModelTable,
  TeamSizes,
  UsageRepository,
} from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';

const BY = { actor: 'test…', ip: '127.0.0.1' };
const SETTINGS = { concurrency: null, creditsLimit: null, flags: {} };
let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

const actionsOn = async (target: string): Promise<string[]> => {
  const { rows: entries } = await new AuditLog(db.pool).list({ from: null, to: null, range: FIRST });
  return entries.filter((entry) => entry.target === target).map(({ action }) => action);
};
const noProblem = (error: unknown): void => {
  throw error;
};

const FIRST = { after: null, skip: 0, limit: 100 };

describe('counted requests', () => {
  it('add up over all gateways, group by group, and tell when the minute is over', async () => {
    const counter = new RateCounter(db.pool);
    const [team, other] = [randomUUID(), randomUUID()];
    const many = await Promise.all(
      Array.from({ length: 10 }, () =>
        counter.add([
          { team, group: 'scrape', n: 3 },
          { team: other, group: 'map', n: 1 },
        ]),
      ),
    );
    const highest = (of: string) => Math.max(...many.flat().flatMap((row) => (row.team === of ? [row.n] : [])));
    expect([highest(team), highest(other)]).toEqual([30, 10]);
    for (const { leftMs } of many.flat()) {
      expect(leftMs).toBeGreaterThan(-1_000);
      expect(leftMs).toBeLessThanOrEqual(60_000);
    }
    expect(await counter.add([{ team, group: 'crawl', n: 2 }])).toMatchObject([{ team, group: 'crawl', n: 2 }]);
  });

  it('start anew with each minute, and what comes late for a past one changes nothing', async () => {
    const counter = new RateCounter(db.pool);
    const team = randomUUID();
    const shift = (minutes: number) =>
      db.pool.query('UPDATE rate_use SET minute = minute + $2 WHERE team_id = $1', [team, minutes]);
    await counter.add([{ team, group: 'scrape', n: 5 }]);
    await shift(-1);
    expect(await counter.add([{ team, group: 'scrape', n: 2 }])).toMatchObject([{ n: 2 }]);
    await shift(1);
    expect(await counter.add([{ team, group: 'scrape', n: 9 }])).toMatchObject([{ n: 2 }]);
  });
});

describe('the use of a team', () => {
  it('is the sum of its jobs and calls by day, month and key', async () => {
    const usage = new UsageRepository(db.pool);
    const accounts = new AccountRepository(db.pool);
    const { teamId: team, keyId } = await accounts.ensureTeamWithKey('user', 'fc-user');
    const [march, april] = [dayOf(Date.UTC(2026, 2, 31)), dayOf(Date.UTC(2026, 3, 1))];
    const job = (day: number, credits: number) =>
      db.pool.query(
        `INSERT INTO credit_ledger (team_id, job_no, kind, key_id, credits, pages, at) VALUES ($1, $2, 'crawl', $3, $4, $4, now())`,
        [team, jobNoOf(day, 7n), keyId, credits],
      );
    await job(march, 10);
    await job(april, 20);
    await db.pool.query(
      `INSERT INTO scrape_usage (team_id, day, key_id, credits, calls, last_at) VALUES ($1, $2, NULL, 5, 3, '2026-04-01T10:00:00Z')`,
      [team, april],
    );
    expect(await usage.usedIn(team, { fromDay: april, toDay: april + 30 })).toBe(25);
    expect(await usage.usedIn(randomUUID(), { fromDay: 0, toDay: april + 30 })).toBe(0);
    const [inMarch, inApril] = ['2026-03-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'].map((at) => new Date(at));
    expect((await usage.byMonth(team, false, FIRST)).rows).toMatchObject([
      { month: inMarch, keyName: null, credits: 10 },
      { month: inApril, keyName: null, credits: 25 },
    ]);
    expect((await usage.byMonth(team, true, FIRST)).rows).toMatchObject([
      { month: inMarch, keyName: 'bootstrap', credits: 10 },
      { month: inApril, keyName: 'bootstrap', credits: 20 },
      { month: inApril, keyName: null, credits: 5 },
    ]);
    const own = { team, keyId, keyName: 'bootstrap' };
    const span = { fromDay: april, toDay: april + 1 };
    const aprilDays = [
      { day: inApril, ...own, credits: 20, pages: 20 },
      { day: inApril, team, keyId: null, keyName: null, credits: 5, pages: 3 },
    ];
    expect((await usage.byDay(team, span, FIRST)).rows).toMatchObject(aprilDays);
    const first = await usage.byDay(null, span, { ...FIRST, limit: 1 });
    const rest = await usage.byDay(null, span, { ...FIRST, after: first.rows[0]!.key });
    expect([...first.rows, ...rest.rows]).toMatchObject(aprilDays);
    expect(await usage.latestSuccess(team)).toEqual(new Date('2026-04-01T10:00:00Z'));
    expect(await usage.inWork(team)).toEqual({ openPages: 0, activePages: 0 });
    expect(await usage.openPages(team)).toBe(0);
  });
});

describe('teams', () => {
  it('have a name of their own, and what is changed is what is sent', async () => {
    const teams = new TeamAdminRepository(db.dataSource);
    const made = (await teams.createTeam({ name: 'one', ...SETTINGS, flags: { ignoreRobots: true } }, BY))!;
    expect(made).toMatchObject({
      name: 'one',
      concurrency: null,
      flags: { ignoreRobots: true },
      hasWebhookSecret: false,
      proxies: null,
      model: null,
    });
    expect(await teams.createTeam({ name: 'one', ...SETTINGS }, BY)).toBeNull();
    await teams.createTeam({ name: 'two', ...SETTINGS }, BY);
    expect(await teams.updateTeam(made.id, { concurrency: 4, creditsLimit: 12 }, BY)).toEqual({
      ...made,
      concurrency: 4,
      creditsLimit: 12,
    });
    expect(await teams.updateTeam(made.id, { name: 'two' }, BY)).toBe('taken');
    expect(await teams.updateTeam(randomUUID(), { name: 'x' }, BY)).toBeNull();
    expect(await actionsOn(made.id)).toEqual(['team.update', 'team.create']);
  });

  it('keep the webhook secret before the present one', async () => {
    const teams = new TeamAdminRepository(db.dataSource);
    const { id } = (await teams.createTeam({ name: 'hooked', ...SETTINGS }, BY))!;
    expect(await teams.setWebhookSecret(id, 'first secret', BY)).toBe(true);
    expect(await teams.setWebhookSecret(id, 'second secret', BY)).toBe(true);
    const { rows } = await db.pool.query('SELECT webhook_secret, webhook_secret_previous FROM team WHERE id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ webhook_secret: 'second secret', webhook_secret_previous: 'first secret' }]);
    expect(await teams.setWebhookSecret(randomUUID(), 'x', BY)).toBe(false);
  });

  it('have a language model of their own, whose key is told to the extractors alone', async () => {
    const teams = new TeamAdminRepository(db.dataSource);
    const { id } = (await teams.createTeam({ name: 'minded', ...SETTINGS }, BY))!;
    const own = { provider: 'openai', model: 'small', baseUrl: null, apiKey: 'a-secret-key' } as const;
    const shown = { provider: 'openai', model: 'small', baseUrl: null, hasKey: true };
    expect((await teams.setModel(id, own, BY))?.model).toEqual(shown);
    expect((await teams.findTeam(id))?.model).toEqual(shown);
    const table = await TeamModelTable.watch(db.pool, noProblem);
    expect([table.accessOf(id), table.accessOf(randomUUID())]).toEqual([own, null]);
    table.stop();
    expect((await teams.setModel(id, { ...own, apiKey: null }, BY))?.model).toEqual({ ...shown, hasKey: false });
    expect((await teams.setModel(id, null, BY))?.model).toBeNull();
    expect(await teams.setModel(randomUUID(), own, BY)).toBeNull();
    const { rows: entries } = await new AuditLog(db.pool).list({ from: null, to: null, range: FIRST });
    const changes = entries.filter(({ target, action }) => target === id && action === 'model.set');
    expect(changes.map(({ details }) => details)).toEqual([
      { model: null },
      { model: { ...shown, hasKey: false } },
      { model: shown },
    ]);
  });

  it('use tokens that add up over the day', async () => {
    const usage = new ModelUsage(db.pool);
    const [team, other] = [randomUUID(), randomUUID()];
    expect(await usage.today(team)).toBe(0);
    await Promise.all(Array.from({ length: 10 }, () => usage.add(team, 7)));
    expect([await usage.add(team, 30), await usage.today(team), await usage.today(other)]).toEqual([100, 100, 0]);
  });

  it('get their own concurrency told to the schedulers', async () => {
    const teams = new TeamAdminRepository(db.dataSource);
    const { id } = (await teams.createTeam({ name: 'wide', ...SETTINGS, concurrency: 42 }, BY))!;
    const sizes = await TeamSizes.watch(db.pool, noProblem);
    expect([sizes.concurrencyOf(id), sizes.concurrencyOf(randomUUID())]).toEqual([42, null]);
    sizes.stop();
  });

  it('without keys stay the same over restarts', async () => {
    const accounts = new AccountRepository(db.pool);
    const made = await Promise.all([1, 2, 3].map(() => accounts.ensureTeam('default')));
    expect(new Set(made.map(({ teamId }) => teamId)).size).toBe(1);
    expect((await db.pool.query('SELECT FROM api_key WHERE team_id = $1', [made[0]!.teamId])).rowCount).toBe(0);
  });
});

describe('keys', () => {
  it('open a team until they are revoked, and are kept as a hash', async () => {
    const teams = new TeamAdminRepository(db.dataSource);
    const accounts = new AccountRepository(db.pool);
    const { id: team } = (await teams.createTeam({ name: 'keyed', ...SETTINGS }, BY))!;
    const key = `fc-${'0123456789abcdef'.repeat(2)}`;
    const expiresAt = new Date(Date.now() + 60_000);
    const made = (await teams.createKey(team, { name: 'ci', key, expiresAt }, BY))!;
    expect(made).toMatchObject({ name: 'ci', prefix: 'fc-01234', expiresAt, revokedAt: null, lastUsedAt: null });
    const owner = (await accounts.findKey(hashApiKey(key)))!;
    expect(owner).toMatchObject({ teamId: team, keyId: made.id });
    expect(owner.expiresInMs).toBeGreaterThan(50_000);
    await accounts.markUsed(made.id);
    expect((await teams.listKeys(team, FIRST)).rows[0]!.lastUsedAt).toBeInstanceOf(Date);
    expect(await teams.revokeKey(randomUUID(), made.id, BY)).toBeNull();
    const revoked = await teams.revokeKey(team, made.id, BY);
    expect(await teams.revokeKey(team, made.id, BY)).toEqual(revoked);
    expect(await accounts.findKey(hashApiKey(key))).toBeNull();
    expect(await teams.createKey(randomUUID(), { name: 'x', key: 'fc-x', expiresAt: null }, BY)).toBeNull();
    const { rows } = await db.pool.query<{ row: string }>(
      `SELECT k::text AS row FROM api_key k UNION ALL SELECT a::text FROM admin_audit a`,
    );
    expect(rows.some(({ row }) => row.includes(key))).toBe(false);
  });
});

describe('the blocklist', () => {
  it('reaches who watches it, each change once', async () => {
    const list = new BlocklistRepository(db.dataSource);
    await list.add(['a.example', 'b.example', 'a.example'], 'why', BY);
    const watched = await BlockedHosts.watch(db.pool, noProblem);
    expect([...watched.hosts].sort()).toEqual(['a.example', 'b.example']);
    watched.stop();
    expect(await list.remove(['a.example', 'c.example'], BY)).toBe(1);
    expect((await list.list(FIRST)).rows).toMatchObject([{ host: 'b.example', reason: 'why' }]);
    const again = await BlockedHosts.watch(db.pool, noProblem);
    expect([...again.hosts]).toEqual(['b.example']);
    again.stop();
  });
});

describe('dead letters', () => {
  it('are listed newest first, page by page, and go when they were sent again', async () => {
    const letters = new DeadLetterRepository(db.pool);
    for (const envelope of [{ id: 'm' }, null]) {
      await db.pool.query(
        `INSERT INTO dead_letter (at, part, key, type, envelope, error) VALUES (now(), 1, 'team/t', 'X', $1, 'boom')`,
        [envelope],
      );
    }
    const [timer, letter] = (await letters.list(FIRST)).rows;
    expect([timer, letter]).toMatchObject([{ canReplay: false }, { canReplay: true, error: 'boom' }]);
    expect((await letters.list({ ...FIRST, after: timer!.key })).rows).toEqual([letter]);
    expect(await letters.envelope(letter!.id)).toEqual({ id: 'm' });
    expect([await letters.envelope(timer!.id), await letters.envelope('999')]).toEqual([null, undefined]);
    await letters.remove(letter!.id, BY);
    expect(await letters.envelope(letter!.id)).toBeUndefined();
    expect(await actionsOn(letter!.id)).toEqual(['dead-letter.replay']);
  });
});
