import { describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { withConnection } from './pool.js';
import { checkPostgres, noteRefusal } from './writable.js';

const full = (): Error =>
  Object.assign(new Error('could not extend file "base/1": No space left on device'), {
    code: '53100',
    severity: 'ERROR',
  });

/** Answers questions, and refuses to write what `error` says. */
function poolOf(error: Error | null = null): pg.Pool {
  const client = { on: () => {}, off: () => {}, release: () => {}, query: async () => ({ rows: [] }) };
  return {
    query: async () => ({ rows: [{}] }),
    connect: async () => ({
      ...client,
      query: async (text: string) => (error && text !== 'ROLLBACK' ? Promise.reject(error) : {}),
    }),
  } as unknown as pg.Pool;
}

describe('a Postgres that answers', () => {
  it('is up', async () => {
    await expect(checkPostgres(poolOf())).resolves.toBeUndefined();
  });

  it('is down for 15 s after it had no room to write, as far as this pool knows', async () => {
    const pool = poolOf(full());
    await expect(withConnection(pool, (client) => client.query('INSERT'))).rejects.toThrow('No space left');
    await expect(checkPostgres(pool)).rejects.toThrow('the disk of Postgres is full: could not extend file');
    await expect(checkPostgres(poolOf())).resolves.toBeUndefined();
    const from = performance.now();
    noteRefusal(pool, full(), from);
    await expect(checkPostgres(pool, () => from + 14_999)).rejects.toThrow('full');
    await expect(checkPostgres(pool, () => from + 15_001)).resolves.toBeUndefined();
  });

  it('is up whatever else it refuses', async () => {
    const pool = poolOf(Object.assign(new Error('duplicate key'), { code: '23505', severity: 'ERROR' }));
    await expect(withConnection(pool, (client) => client.query('INSERT'))).rejects.toThrow('duplicate');
    await expect(checkPostgres(pool)).resolves.toBeUndefined();
  });
});
