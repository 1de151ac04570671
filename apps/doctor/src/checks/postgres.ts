import { connectionAdvice, examineDatabase, type DatabaseReport } from '@troupe/persistence';
import { failure, fine, reasonOf, skipped, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';
import { compareClocks } from './clock.js';
import { isLoopback } from './loopback.js';

const ASK_MS = 10_000;
/**
 * The most connections that one of each service opens: gateway 8, extractor 8, scheduler, fetcher and dispatcher 4
 * each.
 */
const ONE_OF_EACH = 28;
const LAST_ONES = 3;

export async function checkPostgres({ config, isSet, isEmbedded, now }: Installation): Promise<Finding[]> {
  if (!isSet('DATABASE_URL')) {
    return isEmbedded ? [skipped('postgres', 'no DATABASE_URL and no running cluster: npm start brings its own')] : [];
  }
  const host = new URL(config.databaseUrl).host;
  let report: DatabaseReport;
  try {
    report = await examineDatabase(config, ASK_MS);
  } catch (error) {
    const mend = connectionAdvice(error) ?? 'Look into the log of Postgres.';
    return [failure('postgres', `${host}: ${reasonOf(error)}`, mend)];
  }
  // The report compares with the system's clock; `now` may be another one.
  const skewMs = report.skewMs + Date.now() - now();
  return [
    checkVersion(report, host),
    ...checkWay(report, config.databasePooler, host),
    checkRights(report),
    checkMigrations(report.migrations),
    checkConnections(report.connections),
    compareClocks('Postgres', skewMs),
  ];
}

function checkVersion({ version, oldest, isNewEnough, encoding, isReadOnly }: DatabaseReport, host: string): Finding {
  const found = `Postgres ${version} at ${host}`;
  if (!isNewEnough) return failure('postgres', found, `Troupe needs ${oldest} or newer: upgrade Postgres.`);
  if (encoding !== 'UTF8')
    return failure('postgres', `${found}, encoding ${encoding}`, 'Make the database anew with ENCODING UTF8.');
  if (isReadOnly)
    return failure('postgres', `${found} takes no writes`, 'Let DATABASE_URL lead to the primary, not to a standby.');
  return fine('postgres', found);
}

function checkWay({ isEncrypted, isPooled }: DatabaseReport, pooler: string, host: string): Finding[] {
  const findings: Finding[] = [];
  if (!isEncrypted && !isLoopback(host)) {
    const mend = 'Add sslmode=verify-full (and sslrootcert=<file>) to DATABASE_URL.';
    findings.push(warning('postgres tls', 'passwords and pages travel in the clear', mend));
  } else {
    findings.push(fine('postgres tls', isEncrypted ? 'on' : 'off, on this machine'));
  }
  if (isPooled && pooler === 'none') {
    const mend = 'If it pools by transaction, set DATABASE_POOLER=transaction; by session it is fine as it is.';
    findings.push(warning('postgres pooler', 'a pooler answers in the place of Postgres', mend));
  } else if (!isPooled && pooler === 'transaction') {
    const mend = 'Set DATABASE_POOLER=none: prepared statements then save work.';
    findings.push(warning('postgres pooler', 'DATABASE_POOLER=transaction, but Postgres itself answers', mend));
  } else {
    findings.push(fine('postgres pooler', pooler));
  }
  return findings;
}

function checkRights({ canCreate, user }: DatabaseReport): Finding {
  if (canCreate) return fine('postgres rights', `${user} may make tables`);
  const mend = `GRANT CREATE, USAGE ON SCHEMA public TO ${user}: tables are made for every day.`;
  return failure('postgres rights', `${user} may not make tables`, mend);
}

function checkMigrations(migrations: DatabaseReport['migrations']): Finding {
  if (migrations === 'not readable')
    return failure(
      'migrations',
      'the list of migrations may not be read',
      'Let the user that ran them own the tables.',
    );
  const { pending, unknown } = migrations;
  if (pending.length > 0) {
    const mend = 'Run them: troupe migrate (npm start and the chart do so by themselves).';
    return failure('migrations', `not applied: ${pending.join(', ')}`, mend);
  }
  if (unknown.length > 0) {
    const mend = 'The database belongs to a newer version: start that one.';
    return warning('migrations', `of a newer version: ${unknown.join(', ')}`, mend);
  }
  return fine('migrations', 'all applied');
}

function checkConnections({ used, max }: DatabaseReport['connections']): Finding {
  const left = Math.max(0, max - used);
  const found = `${left} of ${max} left`;
  const mend = `Raise max_connections, or put a pooler in front: one of each service opens up to ${ONE_OF_EACH}.`;
  if (left <= LAST_ONES) return failure('postgres connections', found, mend);
  return max < ONE_OF_EACH ? warning('postgres connections', found, mend) : fine('postgres connections', found);
}
