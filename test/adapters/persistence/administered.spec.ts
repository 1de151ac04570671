/** TypeORM's repositories on the connections that a process has already. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createPool, dataSourceOn, TeamAdminRepository, type LivePool } from '@troupe/persistence';
import { testDatabase, type TestDatabase } from './database.js';

const BY = { actor: 'test…', ip: null };
const SETTINGS = { concurrency: null, creditsLimit: null, flags: {} };

let db: TestDatabase;
let pool: LivePool;
let teams: TeamAdminRepository;

beforeAll(async () => {
  db = await testDatabase();
  pool = createPool({ databaseUrl: db.url, poolSize: 2, name: 'one-process' });
  teams = new TeamAdminRepository(await dataSourceOn(pool));
});
afterAll(async () => {
  await pool.end();
  await db.drop();
});

it('they open no more connections than its pool may', async () => {
  await Promise.all(Array.from({ length: 12 }, (_, n) => teams.createTeam({ name: `team ${n}`, ...SETTINGS }, BY)));
  expect((await teams.listTeams({ after: null, skip: 0, limit: 100 })).rows).toHaveLength(12);
  const { rows } = await db.pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'one-process'`,
  );
  expect(rows[0]!.n).toBe(2);
  expect([pool.totalCount, pool.idleCount]).toEqual([2, 2]);
});

it('a statement that fails changes nothing, and its error tells no value of it', async () => {
  const { id } = (await teams.createTeam({ name: 'secretive', ...SETTINGS }, BY))!;
  const secret = 'what nobody may read\u0000';
  const error: unknown = await teams.setWebhookSecret(id, secret, BY).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: '22021' });
  expect(JSON.stringify([error, (error as Error).message])).not.toContain('nobody may read');
  expect(await teams.findTeam(id)).toMatchObject({ hasWebhookSecret: false });
});

it('lists and single reads say the same of a team', async () => {
  const made = (await teams.createTeam({ name: 'zz', ...SETTINGS, creditsLimit: 9_000_000_000 }, BY))!;
  const model = { provider: 'openai', model: 'small', baseUrl: null, apiKey: 'k' } as const;
  const team = await teams.setModel(made.id, model, BY);
  expect(team).toMatchObject({ creditsLimit: 9_000_000_000, model: { model: 'small', hasKey: true } });
  const { rows } = await teams.listTeams({ after: ['zy'], skip: 0, limit: 10 });
  expect(rows).toEqual([{ ...team, key: ['zz'] }]);
  expect(JSON.stringify(rows)).not.toContain('apiKey');
});
