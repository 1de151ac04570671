/**
 * What pages leave behind: bytes in Postgres by table, in its log, in NATS and in the blob store, and the memory of each process.
 *
 * `node test/bench/footprint.measure.mjs [pages = 2000]`, after a build. Needs the bench kit: TROUPE_BENCH_KIT, else ../shared/bench.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { root } from '../../deploy/local/places.mjs';
import { Meter, memoryNow } from './meter.mjs';
import { startSite } from './site.mjs';
import { startTroupe } from './troupe.mjs';

const IDLE_MS = 5_000;
/** Tables smaller than this are not worth a line. */
const SMALL_BYTES = 100_000;
const pages = Number(process.argv[2] ?? 2_000);
const kit = process.env.TROUPE_BENCH_KIT ?? path.join(root, '../shared/bench');

/** Partitions of a table count as the table. */
const TABLES = `SELECT regexp_replace(relname, '_d[0-9]+$', '') AS name, sum(pg_total_relation_size(oid))::float8 AS bytes
  FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace GROUP BY 1 ORDER BY 2 DESC`;
const WHOLE = `SELECT pg_database_size(current_database())::float8 AS database, (pg_current_wal_lsn() - '0/0')::float8 AS wal`;

/** @param {import('./troupe.mjs').Troupe} troupe */
async function bytesOf(troupe) {
  const client = new pg.Client({ connectionString: troupe.databaseUrl() });
  await client.connect();
  try {
    const { rows } = await client.query(TABLES);
    const { rows: whole } = await client.query(WHOLE);
    return {
      database: whole[0].database,
      wal: whole[0].wal,
      tables: Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes])),
      nats: folderBytes(path.join(troupe.dataDir, 'nats')),
      blobs: folderBytes(path.join(troupe.dataDir, 'blobs')),
      cache: folderBytes(path.join(troupe.dataDir, 'blobs/cache')),
    };
  } finally {
    await client.end();
  }
}

/** @param {string} folder */
function folderBytes(folder) {
  return existsSync(folder) ? Number(execFileSync('du', ['-sb', folder], { encoding: 'utf8' }).split('\t')[0]) : 0;
}

/** @param {import('./troupe.mjs').Troupe} troupe @param {import('./site.mjs').Site} site */
async function crawl(troupe, site) {
  let done = 0;
  const meter = new Meter({ pid: troupe.pid, parts: troupe.processes(), sitePid: site.pid, pagesSoFar: () => done });
  const body = { url: site.start, limit: site.pages, scrapeOptions: { formats: ['markdown'], maxAge: 0 } };
  const job = await troupe.submit('crawl', body);
  const { status, completed } = await troupe.waitForEnd(job, (n) => (done = n));
  if (status !== 'completed' || completed !== site.pages)
    throw new Error(`the crawl is ${status} with ${completed} pages`);
  return meter.stop();
}

const mb = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
const perThousand = (/** @type {number} */ bytes) => mb((bytes / pages) * 1_000);

if (!existsSync(kit)) {
  console.log(`there is no bench kit at ${kit}; nothing is measured (TROUPE_BENCH_KIT)`);
  process.exit(0);
}
const site = await startSite({ kit, pages, hosts: 1 });
const troupe = await startTroupe({ build: false, keep: false });
try {
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = memoryNow(troupe.pid, troupe.processes());
  const before = await bytesOf(troupe);
  const reading = await crawl(troupe, site);
  const after = await bytesOf(troupe);
  console.log(
    `${pages} pages, ${(pages / reading.wallS).toFixed(0)} pages/s, ${((reading.cpuS / pages) * 1000).toFixed(2)} ms CPU a page`,
  );
  console.log(
    `per 1,000 pages: Postgres ${perThousand(after.database - before.database)}, written to its log ${perThousand(after.wal - before.wal)}, NATS ${perThousand(after.nats - before.nats)}, blobs ${perThousand(after.blobs - before.blobs)}, of which the cache ${perThousand(after.cache - before.cache)}`,
  );
  console.log(`NATS has ${mb(after.nats)} in all`);
  for (const [name, bytes] of Object.entries(after.tables)) {
    const grown = bytes - (before.tables[name] ?? 0);
    if (grown > SMALL_BYTES) console.log(`  table ${name}: ${perThousand(grown)}`);
  }
  console.log(
    `memory idle ${idle.pssMb} MB, at most ${reading.peakPssMb} MB; machine used by others ${(reading.foreignShare * 100).toFixed(0)} %`,
  );
  for (const [name, peak] of Object.entries(reading.peakPssPartsMb))
    console.log(`  ${name}: ${idle.pssPartsMb[name]} MB idle, ${peak} MB at most, ${reading.cpuPartsS[name]} s CPU`);
} finally {
  await troupe.stop();
  site.stop();
}
