/** `node libs/persistence/src/migrate.main.js`: migrations and partitions of the database in `DATABASE_URL`. */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { connectionAdvice } from './connection-advice.js';
import { createDataSource, migrate } from './data-source.js';
import type { DatabasePooler } from './pool.js';

const HALFWAY = 'Nothing was half applied: each migration is one transaction. Correct the cause and run this again.';

async function main(databaseUrl: string, databasePooler: DatabasePooler): Promise<void> {
  const dataSource = createDataSource({ databaseUrl, databasePooler, poolSize: 2, name: 'troupe-migrate' });
  await dataSource.initialize();
  try {
    const applied = await migrate(dataSource);
    for (const name of applied) console.log(`applied ${name}`);
    if (applied.length === 0) console.log('the database is up to date');
  } finally {
    await dataSource.destroy();
  }
}

const readSecret = (file: string | undefined): string => (file ? readFileSync(file, 'utf8').trim() : '');

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const databaseUrl = process.env['DATABASE_URL'] || readSecret(process.env['DATABASE_URL_FILE']);
  if (databaseUrl === '') {
    console.error('Migrations did not run. Set DATABASE_URL, e.g. postgres://user:password@127.0.0.1:5432/troupe.');
    process.exitCode = 1;
  } else {
    main(databaseUrl, process.env['DATABASE_POOLER'] === 'transaction' ? 'transaction' : 'none').catch(
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        console.error(`Migrations failed: ${reason}. ${connectionAdvice(error) ?? HALFWAY}`);
        process.exitCode = 1;
      },
    );
  }
}
