/**
 * TypeORM's side of the adapter. TypeORM is loaded when a data source is made, not when this library is imported:
 * a scheduler or fetcher that needs only a pool does not pay for it.
 */
import { createRequire } from 'node:module';
import type pg from 'pg';
import type * as TypeOrm from 'typeorm';
import type { DataSource, DataSourceOptions, EntityManager } from 'typeorm';
import { ENTITIES } from './entities.js';
import { MIGRATIONS, MIGRATIONS_TABLE } from './migrations/index.js';
import { Housekeeping } from './housekeeping.js';
import { ignoreLostConnection, poolConfig, withTransaction, type PoolOptions } from './pool.js';

const require = createRequire(import.meta.url);
const MIGRATION_LOCK = 7_361_001;

/** Not connected yet: call `initialize()`. Migrations run only through `migrate`. */
export function createDataSource(options: PoolOptions): DataSource {
  const max = Math.max(2, options.poolSize);
  return sourceWith({ url: options.databaseUrl, extra: { ...poolConfig(options), max } });
}

/** On the connections of `pool`, which its maker ends: nothing of this is to be destroyed. */
export function dataSourceOn(pool: pg.Pool): Promise<DataSource> {
  return sourceWith({
    driver: {
      Pool: class {
        constructor() {
          return pool;
        }
      },
    },
  }).initialize();
}

function sourceWith(options: Partial<Extract<DataSourceOptions, { type: 'postgres' }>>): DataSource {
  const typeorm = require('typeorm') as typeof TypeOrm;
  return new typeorm.DataSource({
    type: 'postgres',
    entities: ENTITIES.map((entity) => new typeorm.EntitySchema(entity)),
    migrations: [...MIGRATIONS],
    migrationsTableName: MIGRATIONS_TABLE,
    synchronize: false,
    installExtensions: false,
    logging: false,
    poolErrorHandler: ignoreLostConnection,
    ...options,
  });
}

/** The one pool behind an initialised data source. */
export function poolOf(dataSource: DataSource): pg.Pool {
  return (dataSource.driver as unknown as { master: pg.Pool }).master;
}

/**
 * `withTransaction` for TypeORM's repositories (`manager.withRepository`). It throws the errors of node-postgres: those of
 * TypeORM would tell logs the values of a statement, secrets among them.
 */
export async function inTransaction<T>(
  dataSource: DataSource,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  try {
    return await withTransaction(poolOf(dataSource), (databaseConnection) =>
      // Who runs queries on a connection takes no other from the pool, and gives none back.
      work(Object.assign(dataSource.createQueryRunner(), { databaseConnection }).manager),
    );
  } catch (error) {
    throw (error as { driverError?: unknown }).driverError ?? error;
  }
}

/**
 * Brings the database up to this version and makes today's partitions; returns the names of what it applied.
 * Safe when several processes start at once: the others wait and find nothing left to do.
 */
export function migrate(dataSource: DataSource): Promise<string[]> {
  const pool = poolOf(dataSource);
  return withTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    const applied = await dataSource.runMigrations({ transaction: 'each' });
    await new Housekeeping(pool).ensurePartitions();
    return applied.map((migration) => migration.name);
  });
}
