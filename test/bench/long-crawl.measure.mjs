/**
 * Whether a long crawl is as fast as a short one, and needs no more memory: 2,000 pages against 50,000.
 *
 * `node test/bench/long-crawl.measure.mjs [long] [short]`, after a build. The exit code is 1 when the long one has less than
 * 0.9 of the short one's pages per second, when a service holds more than 1.1 times as much, or when a page is missing.
 * Postgres and NATS are listed only: what they keep in memory grows with what they were given to keep.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { root } from '../../deploy/local/places.mjs';
import { round } from './numbers.mjs';
import { readProcesses, treePssMb } from './proc.mjs';

const LONG = Number(process.argv[2] ?? 50_000);
const SHORT = Number(process.argv[3] ?? 2_000);
/** Crawled first and not counted: code that has never run is compiled. */
const WARM_UP = Math.min(SHORT, 2_000);
/**
 * Short crawls, one after the other. The heap goes up and down by some 20 MB between two collections; a peak is the highest of
 * what was seen, and a single crawl of three seconds shows too few of them to be compared with a minute.
 */
const SHORT_CRAWLS = 16;
const SAMPLE_MS = 500;
const LEAST_RATE = 0.9;
const MOST_MEMORY = 1.1;
const PARTS = new Set(['postgres', 'nats-server']);

/** @param {string} file */
const load = (file) => import(pathToFileURL(path.join(root, 'dist/test', file)).href);
const { startCluster } = await load('support/cluster.js');
const { KnownSite } = await load('chaos/known-site.js');
const { ApiClient } = await load('support/api-client.js');

const cluster = await startCluster({
  env: {
    ALLOW_PRIVATE_TARGETS: '127.0.0.1',
    HOST_GAP_MS: '0',
    HOST_MAX_CONN: '32',
    TEAM_CONCURRENCY: '100',
    LOG_FORMAT: 'json',
  },
});
const api = new ApiClient(cluster.url, cluster.apiKey);

/** Memory of each process now, in MB. @returns {Promise<Record<string, number>>} */
async function memory() {
  const table = readProcesses();
  const known = new Map();
  const processes = await cluster.processes();
  return Object.fromEntries(processes.map(({ name, pid }) => [name, treePssMb(table, pid ?? 0, known)]));
}

/** @param {number} pages @returns {Promise<{ rate: number, peaks: Record<string, number>, completed: number }>} */
async function crawl(pages) {
  const site = await KnownSite.start({ pages, islands: 0, everyRedirect: 1e9, everyMissing: 1e9, latencyMs: 0 });
  /** @type {Record<string, number>} */
  const peaks = {};
  try {
    const startedAt = performance.now();
    // Redirects and missing pages hang on page 0: three addresses more.
    const body = {
      url: site.startUrl('long'),
      limit: pages,
      scrapeOptions: { formats: ['markdown'], timeout: 20_000 },
    };
    const { body: job } = await api.post('/v2/crawl', body);
    for (;;) {
      const { body: status } = await api.call(`/v2/crawl/${job.id}?limit=1`);
      for (const [name, mb] of Object.entries(await memory())) peaks[name] = Math.max(peaks[name] ?? 0, mb);
      if (status.status !== 'scraping') {
        const rate = status.completed / ((performance.now() - startedAt) / 1_000);
        return { rate, peaks, completed: status.completed };
      }
      await sleep(SAMPLE_MS);
    }
  } finally {
    await site.stop();
  }
}

/** @param {number} pages @param {number} times @returns {ReturnType<typeof crawl>} the mean rate, the highest peaks, the fewest pages */
async function crawlOften(pages, times) {
  const all = [];
  for (let i = 0; i < times; i++) all.push(await crawl(pages));
  const names = Object.keys(all[0].peaks);
  return {
    rate: times / all.reduce((sum, { rate }) => sum + 1 / rate, 0),
    peaks: Object.fromEntries(names.map((name) => [name, Math.max(...all.map(({ peaks }) => peaks[name] ?? 0))])),
    completed: Math.min(...all.map(({ completed }) => completed)),
  };
}

try {
  await crawl(WARM_UP);
  const short = await crawlOften(SHORT, SHORT_CRAWLS);
  const long = await crawl(LONG);
  const rate = long.rate / short.rate;
  console.log(`${SHORT} pages: ${round(short.rate, 1)} pages/s; ${LONG} pages: ${round(long.rate, 1)} pages/s`);
  console.log(`rate x ${round(rate, 2)} (must ${LEAST_RATE})`);
  let isRight = rate >= LEAST_RATE && short.completed === SHORT && long.completed === LONG;
  for (const [name, mb] of Object.entries(long.peaks)) {
    const before = short.peaks[name] ?? mb;
    const growth = mb / before;
    const isOurs = !PARTS.has(name);
    if (isOurs && growth > MOST_MEMORY) isRight = false;
    const bound = isOurs ? `(must ${MOST_MEMORY})` : '(for information)';
    console.log(`${name}: ${round(before, 1)} MB, then ${round(mb, 1)} MB: x ${round(growth, 2)} ${bound}`);
  }
  const restarts = (await cluster.processes()).reduce((sum, { restarts }) => sum + restarts, 0);
  console.log(JSON.stringify({ completed: [short.completed, long.completed], restarts }));
  process.exitCode = isRight && restarts === 0 ? 0 : 1;
} finally {
  await cluster.stop();
}
