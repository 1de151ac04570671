/**
 * `node test/bench/polling.mjs`: what clients that ask for results cost a crawl, in about two minutes.
 *
 * 200 clients ask for the first page of 50 finished jobs of 1,000 small documents every two seconds, while a crawl runs;
 * then 200 clients wait, as the official ones do, for jobs in which nothing happens. See README.md.
 */
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Meter } from './meter.mjs';
import { percentile, round } from './numbers.mjs';
import { parseOptions, reasonToSkip, UsageError } from './options.mjs';
import { PollingClient } from './polling-client.mjs';
import { startSilentSite } from './silent-site.mjs';
import { startSite } from './site.mjs';
import { startTroupe } from './troupe.mjs';

const CLIENTS = 200;
const POLL_MS = 2_000;
const FINISHED_JOBS = 50;
const DOCUMENTS = 1_000;
const DOCUMENT_BYTES = 2_048;
const WAITED_FOR = 20;
/** The crawl has to outlast its windows. */
const CRAWL_PAGES = 150_000;
const WARM_UP_MS = 4_000;
const ALONE_MS = 10_000;
/** Long enough that the answers of the first two seconds, for which nothing is at hand yet, are less than one in twenty. */
const POLLED_MS = 60_000;
const HELD_MS = 12_000;

const say = (/** @type {string} */ text) => process.stderr.write(`polling | ${text}\n`);

/** Marks of a small document: what a page of this size leaves after conversion. @param {number} ord */
function documentOf(ord) {
  const metadata = { sourceURL: `http://127.0.0.1/${ord}`, statusCode: 200, scrapeId: `document-${ord}` };
  const bare = JSON.stringify({ markdown: '', metadata });
  const words = `word${ord} lies among others. `.repeat(Math.ceil(DOCUMENT_BYTES / 20));
  return JSON.stringify({ markdown: words.slice(0, DOCUMENT_BYTES - bare.length), metadata });
}

const MAKE_JOB = `INSERT INTO job SELECT (j).* FROM (SELECT json_populate_record(job, json_build_object(
    'job_no', $2::bigint, 'id', $3::uuid, 'status', 'completed', 'total', $4::int, 'completed', $4::int, 'credits', $4::int,
    'finished_at', now(), 'expires_at', now() + interval '1 day')) AS j FROM job WHERE id = $1) made`;
const MAKE_ID = `INSERT INTO job_id (id, job_no, team_id, kind, expires_at)
  SELECT $3, $2, team_id, kind, expires_at FROM job_id WHERE id = $1`;
const MAKE_PAGES = `INSERT INTO page (job_no, shard, ord, item, url, final_url, status, depth, bytes, inline, credits, finished_at)
  SELECT $1, 0, ord, ord, 'http://127.0.0.1/', 'http://127.0.0.1/', 200, 1, bytes, gzip, 1, now()
  FROM unnest($2::bytea[], $3::int[]) WITH ORDINALITY AS x(gzip, bytes, ord)`;

/**
 * Finished jobs as the cluster would leave them, written straight into its tables: crawling them takes minutes.
 * @param {pg.Client} database @param {string} like id of a job of the same team @returns {Promise<string[]>} ids
 */
async function makeFinishedJobs(database, like) {
  const { gzipSync } = await import('node:zlib');
  const { randomUUID } = await import('node:crypto');
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => Buffer.from(documentOf(i + 1)));
  const gzips = documents.map((document) => gzipSync(document));
  const sizes = documents.map((document) => document.byteLength);
  const first = BigInt((await database.query('SELECT job_no FROM job_id WHERE id = $1', [like])).rows[0].job_no);
  const ids = [];
  for (let i = 1; i <= FINISHED_JOBS; i++) {
    const [id, jobNo] = [randomUUID(), (first + 1_000_000n + BigInt(i)).toString()];
    await database.query(MAKE_ID, [like, jobNo, id]);
    await database.query(MAKE_JOB, [like, jobNo, id, DOCUMENTS]);
    await database.query(MAKE_PAGES, [jobNo, gzips, sizes]);
    ids.push(id);
  }
  return ids;
}

/** @typedef {import('./crawl.measure.mjs').Setting} Setting */

/** Pages a second of a running crawl, and what the gateway used. @param {Setting} setting @param {string} crawl @param {number} ms */
async function watchCrawl({ troupe, site }, crawl, ms) {
  const { gateway } = troupe.processes();
  const meter = new Meter({ pid: troupe.pid, parts: { gateway }, sitePid: site.pid, withMemory: false });
  const before = await troupe.read(`${crawl}?limit=1`);
  const startedMs = performance.now();
  await sleep(ms);
  const after = await troupe.read(`${crawl}?limit=1`);
  if (after.status !== 'scraping') throw new Error(`the crawl ended too early: ${after.completed} pages`);
  const seconds = (performance.now() - startedMs) / 1000;
  const { cpuPartsS, foreignShare, benchCpuS } = meter.stop();
  return {
    pagesPerS: round((after.completed - before.completed) / seconds, 1),
    gatewayCores: round(cpuPartsS.gateway / seconds, 3),
    clientCores: round(benchCpuS / seconds, 3),
    foreignShare,
  };
}

/** Every client asks for one job, at its own moment. @param {Setting} setting @param {string[]} jobs */
function startPolling({ troupe }, jobs) {
  const clients = Array.from({ length: CLIENTS }, () => new PollingClient(troupe.url, troupe.headers));
  const answers = /** @type {{ atMs: number, ms: number, bytes: number }[]} */ ([]);
  let isOver = false;
  const poll = async (/** @type {PollingClient} */ client, /** @type {number} */ i) => {
    await sleep((i / CLIENTS) * POLL_MS);
    while (!isOver) {
      const atMs = performance.now();
      const bytes = await client.get(`/v2/crawl/${jobs[i % jobs.length]}`);
      const ms = performance.now() - atMs;
      answers.push({ atMs, ms, bytes });
      await sleep(Math.max(0, POLL_MS - ms));
    }
  };
  const running = Promise.all(clients.map(poll));
  const stop = async () => {
    isOver = true;
    await running;
    for (const client of clients) client.close();
    return answers;
  };
  return { stop };
}

/** @param {Setting} setting @param {string} crawl @param {string[]} jobs */
async function measurePolling(setting, crawl, jobs) {
  const alone = await watchCrawl(setting, crawl, ALONE_MS);
  const polling = startPolling(setting, jobs);
  const startedMs = performance.now();
  const polled = await watchCrawl(setting, crawl, POLLED_MS);
  const answers = await polling.stop();
  const after = await watchCrawl(setting, crawl, ALONE_MS);
  const times = answers.map(({ ms }) => ms);
  const cold = answers.filter(({ atMs }) => atMs <= startedMs + POLL_MS).map(({ ms }) => ms);
  return {
    alone,
    polled,
    after,
    crawlShare: round((2 * polled.pagesPerS) / (alone.pagesPerS + after.pagesPerS), 3),
    polls: answers.length,
    mbPerPoll: round(answers.reduce((sum, { bytes }) => sum + bytes, 0) / answers.length / 1e6, 2),
    p50Ms: round(percentile(times, 0.5), 1),
    p95Ms: round(percentile(times, 0.95), 1),
    firstAnswersP95Ms: round(percentile(cold, 0.95), 1),
    maxMs: round(Math.max(...times), 1),
  };
}

/** Waiters ask again as soon as they are answered, with the cursor they have. @param {Setting} setting */
async function measureHeld(setting) {
  const { troupe, site } = setting;
  const silent = await startSilentSite();
  const body = (/** @type {number} */ i) => ({
    url: `${silent.url}/${i}`,
    scrapeOptions: { maxAge: 0, timeout: 120_000 },
  });
  const jobs = await Promise.all(Array.from({ length: WAITED_FOR }, (_, i) => troupe.submit('crawl', body(i))));
  const clients = Array.from({ length: CLIENTS }, () => new PollingClient(troupe.url, troupe.headers));
  let isOver = false;
  let answers = 0;
  const waiting = clients.map(async (client, i) => {
    await sleep((i / CLIENTS) * POLL_MS);
    for (; !isOver; answers++) await client.get(`${jobs[i % jobs.length]}?skip=0`);
  });
  await sleep(WARM_UP_MS);
  const [before, startedMs] = [answers, performance.now()];
  const { gateway } = troupe.processes();
  const meter = new Meter({ pid: troupe.pid, parts: { gateway }, sitePid: site.pid, withMemory: false });
  await sleep(HELD_MS);
  const { cpuPartsS, foreignShare } = meter.stop();
  const seconds = (performance.now() - startedMs) / 1000;
  const perS = round((answers - before) / seconds, 1);
  isOver = true;
  await Promise.all(waiting);
  for (const client of clients) client.close();
  silent.stop();
  return {
    waiters: CLIENTS,
    jobs: jobs.length,
    answersPerS: perS,
    gatewayCores: round(cpuPartsS.gateway / seconds, 3),
    foreignShare,
  };
}

/** @param {Setting} setting */
async function measureAll(setting) {
  const { troupe, site } = setting;
  const like = await troupe.submit('crawl', { url: site.start, limit: 1, sitemap: 'skip' });
  await troupe.waitForEnd(like, () => undefined);
  const database = new pg.Client(troupe.databaseUrl());
  await database.connect();
  say(`writing ${FINISHED_JOBS} finished jobs of ${DOCUMENTS} documents …`);
  const jobs = await makeFinishedJobs(database, like.split('/').at(-1) ?? '').finally(() => database.end());
  const crawl = await troupe.submit('crawl', {
    url: site.start,
    limit: CRAWL_PAGES,
    scrapeOptions: { formats: ['markdown'], maxAge: 0 },
  });
  await sleep(WARM_UP_MS);
  say(`a crawl alone, with ${CLIENTS} clients that poll, and alone again …`);
  const polling = await measurePolling(setting, crawl, jobs);
  await fetch(troupe.url + crawl, { method: 'DELETE', headers: troupe.headers });
  say(`${CLIENTS} clients wait for ${WAITED_FOR} jobs …`);
  const held = await measureHeld(setting);
  return { load: os.loadavg().map((value) => round(value, 2)), polling, held };
}

/** @param {string[]} argv @returns {Promise<number>} exit code */
async function main(argv) {
  const options = parseOptions([...argv, '--pages', String(CRAWL_PAGES)]);
  if ('help' in options) {
    console.log('node test/bench/polling.mjs [--kit DIR] [--no-build]');
    return 0;
  }
  const reason = reasonToSkip({ ...options, peers: [] });
  if (reason !== null) {
    console.log(`BENCH SKIPPED, nothing was measured: ${reason}.`);
    return 0;
  }
  const site = await startSite({ ...options, hosts: 1 });
  const troupe = await startTroupe(options).catch((error) => {
    site.stop();
    throw error;
  });
  try {
    console.log(JSON.stringify(await measureAll({ troupe, site }), null, 2));
    return 0;
  } finally {
    await troupe.stop();
    site.stop();
  }
}

/** @param {unknown} error @returns {number} exit code */
function explain(error) {
  say(error instanceof UsageError ? error.message : String(error instanceof Error ? error.stack : error));
  return error instanceof UsageError ? 2 : 1;
}

process.exit(await main(process.argv.slice(2)).catch(explain));
