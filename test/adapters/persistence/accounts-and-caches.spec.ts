import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AccountRepository, hashApiKey, RobotsCache, ScrapeRepository } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { testDatabase, type TestDatabase } from './database.js';

let db: TestDatabase;
let accounts: AccountRepository;

beforeAll(async () => {
  db = await testDatabase();
  accounts = new AccountRepository(db.pool);
});
afterAll(() => db.drop());

describe('API keys', () => {
  it('lead to their team', async () => {
    const { teamId, keyId } = await accounts.ensureTeamWithKey('acme', 'tr-secret');
    expect(await accounts.findKey(hashApiKey('tr-secret'))).toEqual({
      keyId,
      teamId,
      teamName: 'acme',
      hasModel: false,
      concurrency: null,
      creditsLimit: null,
      flags: {},
      expiresInMs: null,
    });
    expect(await accounts.findKey(hashApiKey('tr-other'))).toBeNull();
  });

  it('are nowhere in the database as text', async () => {
    const { rows } = await db.pool.query<{ row: string }>(`SELECT k::text AS row FROM api_key k`);
    expect(
      rows.some(({ row }) => row.includes('tr-secret') || row.includes(Buffer.from('tr-secret').toString('hex'))),
    ).toBe(false);
  });

  it('are made once, also by processes that start together', async () => {
    const made = await Promise.all([1, 2, 3].map(() => accounts.ensureTeamWithKey('busy', 'tr-busy')));
    expect(new Set(made.map(({ keyId }) => keyId)).size).toBe(1);
    await db.pool.query(`UPDATE team SET concurrency = 5 WHERE name = 'busy'`);
    await accounts.ensureTeamWithKey('busy', 'tr-busy');
    expect(await accounts.findKey(hashApiKey('tr-busy'))).toMatchObject({ concurrency: 5 });
  });

  it('stop working when revoked or expired', async () => {
    await accounts.ensureTeamWithKey('gone', 'tr-revoked');
    await accounts.ensureTeamWithKey('gone', 'tr-expired');
    await db.pool.query(`UPDATE api_key SET revoked_at = now() WHERE hash = $1`, [hashApiKey('tr-revoked')]);
    await db.pool.query(`UPDATE api_key SET expires_at = now() WHERE hash = $1`, [hashApiKey('tr-expired')]);
    await accounts.ensureTeamWithKey('gone', 'tr-revoked');
    expect([
      await accounts.findKey(hashApiKey('tr-revoked')),
      await accounts.findKey(hashApiKey('tr-expired')),
    ]).toEqual([null, null]);
  });

  it('are not shared by two teams', async () => {
    await accounts.ensureTeamWithKey('first', 'tr-shared');
    await expect(accounts.ensureTeamWithKey('second', 'tr-shared')).rejects.toThrow('belongs to another team');
  });
});

describe('the robots cache', () => {
  it('returns the newest copy with its age', async () => {
    const cache = new RobotsCache(db.pool);
    expect(await cache.get('a:81')).toBeNull();
    await cache.put('a:81', { status: 200, body: Buffer.from('old'), ttlS: 60 });
    await cache.put('a:81', { status: 503, body: Buffer.from([0, 255]), ttlS: 86_400 });
    const found = (await cache.get('a:81'))!;
    expect(found).toMatchObject({ status: 503, body: Buffer.from([0, 255]), ttlS: 86_400 });
    expect(found.ageMs).toBeGreaterThanOrEqual(0);
    expect(found.ageMs).toBeLessThan(60_000);
  });
});

describe('documents of single scrapes', () => {
  it('are found by id until they expire', async () => {
    const scrapes = new ScrapeRepository(db.pool);
    const [id, team, late] = [randomUUID(), randomUUID(), randomUUID()];
    const expiresAt = new Date(Date.now() + 60_000);
    await scrapes.store([
      { id, team, packed: Buffer.from([31, 139]), expiresAt },
      { id: late, team, packed: Buffer.from('x'), expiresAt: new Date(Date.now() - 1) },
    ]);
    await scrapes.store([{ id, team, packed: Buffer.from('again'), expiresAt }]);
    expect(await scrapes.find(id)).toEqual({ team, packed: Buffer.from([31, 139]), expiresAt });
    expect([await scrapes.find(late), await scrapes.find(randomUUID())]).toEqual([null, null]);
  });
});
