/** `node libs/persistence/src/migrate.main.js`: migrations and partitions of the database in `DATABASE_URL`. */
import { pathToFileURL } from 'node:url';
import { createDataSource, migrate } from './data-source.js';

async function main(databaseUrl: string): Promise<void> {
  const dataSource = createDataSource({ databaseUrl, poolSize: 2, name: 'troupe-migrate' });
  await dataSource.initialize();
  try {
    const applied = await migrate(dataSource);
    for (const name of applied) console.log(`applied ${name}`);
    if (applied.length === 0) console.log('the database is up to date');
  } finally {
    await dataSource.destroy();
  }
}

/** What an operator can do about a failure, by its code. */
function adviceFor(error: unknown): string {
  const code = (error as { code?: string }).code ?? '';
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || code === 'ETIMEDOUT') {
    return 'Postgres does not answer at DATABASE_URL: start it, or correct host and port.';
  }
  if (code.startsWith('28')) return 'Postgres refuses the user or password of DATABASE_URL: correct them.';
  if (code === '3D000') return 'The database of DATABASE_URL does not exist: create it with createdb.';
  if (code === '42501')
    return 'The user of DATABASE_URL may not create tables: grant it CREATE on the database and its schema.';
  return 'Nothing was half applied: each migration is one transaction. Correct the cause and run this again.';
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const databaseUrl = process.env['DATABASE_URL'] ?? '';
  if (databaseUrl === '') {
    console.error('Migrations did not run. Set DATABASE_URL, e.g. postgres://user:password@127.0.0.1:5432/troupe.');
    process.exitCode = 1;
  } else {
    main(databaseUrl).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`Migrations failed: ${reason}. ${adviceFor(error)}`);
      process.exitCode = 1;
    });
  }
}
