/** A database of its own for each spec, inside the server of `TEST_DATABASE_URL`; dropped afterwards. */
import { createDataSource, migrate, poolOf } from '@troupe/persistence';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';

export interface TestDatabase {
  url: string;
  dataSource: DataSource;
  pool: pg.Pool;
  drop(): Promise<void>;
}

/** An empty database, not migrated. */
export async function emptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const server = process.env['TEST_DATABASE_URL'];
  if (server === undefined || server === '')
    throw new Error('set TEST_DATABASE_URL to a Postgres on which databases may be created');
  const name = `troupe_test_${randomBytes(6).toString('hex')}`;
  await onServer(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}

export async function testDatabase(): Promise<TestDatabase> {
  const { url, drop } = await emptyDatabase();
  const dataSource = createDataSource({ databaseUrl: url, poolSize: 6, name: 'troupe-test' });
  await dataSource.initialize();
  await migrate(dataSource);
  return {
    url,
    dataSource,
    pool: poolOf(dataSource),
    drop: async () => {
      await dataSource.destroy();
      await drop();
    },
  };
}

async function onServer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
