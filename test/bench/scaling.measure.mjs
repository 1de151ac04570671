/**
 * What each further fetcher adds: one crawl of slow hosts, and the pages per second with 1, 2 and 4 fetchers.
 *
 * `node test/bench/scaling.measure.mjs [seconds for each]`, after a build. The exit code is 1 when a fetcher adds less than
 * 0.9 of what the first one does, when a page is missing or asked for twice, or when a host has two requests at once.
 */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { root } from '../../deploy/local/places.mjs';
import { round } from './numbers.mjs';

const SECONDS = Number(process.argv[2] ?? 20);
const HOSTS = 50;
const PAGE_MS = 250;
const CONCURRENCY = 4;
const SETTLE_MS = 2_000;
const STEPS = [1, 2, 4];
const LEAST_SHARE = 0.9;
/** What one fetcher can do at best. */
const CEILING = CONCURRENCY / (PAGE_MS / 1_000);
/** Enough for all steps, and for the time in which fetchers start. */
const PAGES = Math.ceil(STEPS.reduce((sum, count) => sum + count * CEILING * (SECONDS + 15), 0));

/** @param {string} file */
const load = (file) => import(pathToFileURL(path.join(root, 'dist/test', file)).href);
const { startCluster } = await load('support/cluster.js');
const { startService } = await load('support/service-process.js');
const { SlowHosts } = await load('support/slow-hosts.js');
const { ApiClient } = await load('support/api-client.js');

const env = {
  ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
  HOST_MAX_CONN: '1',
  HOST_GAP_MS: '0',
  TEAM_CONCURRENCY: String(HOSTS),
  FETCHER_CONCURRENCY: String(CONCURRENCY),
  FETCHER_CLASSES: 'http',
  CACHE_MAX_MB: '0',
};
const site = await SlowHosts.start({ hosts: HOSTS, pagesPerHost: Math.ceil(PAGES / HOSTS), pageMs: PAGE_MS });
const cluster = await startCluster({ args: ['--fetchers', '0'], env });
const api = new ApiClient(cluster.url, cluster.apiKey);
const fetchers = [];
const rates = [];
try {
  fetchers.push(await startService(cluster, 'fetcher', env));
  const { body: job } = await api.post('/v2/crawl', {
    url: site.startUrl,
    limit: site.pages,
    allowExternalLinks: true,
    sitemap: 'skip',
    scrapeOptions: { formats: ['markdown'], timeout: 20_000 },
  });
  for (const count of STEPS) {
    const missing = Array.from({ length: count - fetchers.length }, () => startService(cluster, 'fetcher', env));
    fetchers.push(...(await Promise.all(missing)));
    await sleep(SETTLE_MS);
    const from = performance.now();
    await sleep(SECONDS * 1_000);
    const to = performance.now();
    const rate = site.pagesPerS(from, to);
    const { mean } = site.inFlight(from, to);
    rates.push(rate);
    const ofFirst = rate / (rates[0] ?? rate) / count;
    console.log(
      `${count} fetchers: ${round(rate, 1)} pages/s, ${round(rate / (count * CEILING), 2)} of what is possible, ` +
        `${round(ofFirst, 2)} of ${count} times one; ${round(mean, 1)} of ${count * CONCURRENCY} places busy`,
    );
  }
  await api.finished(`/v2/crawl/${job.id}?limit=1`, 600_000);
  const { body: end } = await api.call(`/v2/crawl/${job.id}?limit=1`);
  const facts = { completed: end.completed, pages: site.pages, repeats: site.repeats(), busiest: site.busiest() };
  console.log(JSON.stringify(facts));
  const added = rates.slice(1).map((rate, i) => (rate - rates[0]) / rates[0] / (STEPS[i + 1] - 1));
  console.log(`added per replica: ${added.map((share) => round(share, 3)).join(', ')} (must ${LEAST_SHARE})`);
  const isRight = facts.completed === facts.pages && facts.repeats === 0 && facts.busiest === 1;
  process.exitCode = isRight && added.every((share) => share >= LEAST_SHARE) ? 0 : 1;
} finally {
  await Promise.all(fetchers.map((fetcher) => fetcher.stop()));
  await cluster.stop();
  await site.stop();
}
