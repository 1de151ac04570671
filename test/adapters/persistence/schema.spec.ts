/** Entities say what the migrations made. Each case adds a difference of its own to those before it. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from './database.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

/** What TypeORM would do to the database for the entities. */
async function differences(): Promise<string[]> {
  const { upQueries } = await db.dataSource.driver.createSchemaBuilder().log();
  return upQueries.map(({ query }) => query);
}

it('the entities and the migrated schema are the same', async () => {
  expect(db.dataSource.entityMetadatas.map(({ tableName }) => tableName).sort()).toEqual([
    'api_key',
    'blocked_host',
    'team',
  ]);
  expect(await differences()).toEqual([]);
});

it.each([
  ['a column more', 'ALTER TABLE team ADD COLUMN more text', /DROP COLUMN "more"/],
  ['one that may be null', 'ALTER TABLE api_key ALTER COLUMN name DROP NOT NULL', /"name" SET NOT NULL/],
  ['one of another type', 'ALTER TABLE team ALTER COLUMN concurrency TYPE bigint', /"concurrency"/],
  ['another default', `ALTER TABLE api_key ALTER COLUMN prefix SET DEFAULT 'x'`, /"prefix" SET DEFAULT ''/],
  ['a name twice', 'ALTER TABLE team DROP CONSTRAINT team_name_key', /UNIQUE \("name"\)/],
  ['an index less', 'DROP INDEX api_key_team', /CREATE INDEX "api_key_team"/],
  ['keys of no team', 'ALTER TABLE api_key DROP CONSTRAINT api_key_team_id_fkey', /FOREIGN KEY \("team_id"\)/],
])('%s is a difference', async (_what, change, told) => {
  await db.pool.query(change);
  expect((await differences()).join(';\n')).toMatch(told);
});
