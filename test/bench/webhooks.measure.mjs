/**
 * What a webhook costs: the time of a crawl alone, and of the same crawl until its last event has arrived.
 *
 * `node test/bench/webhooks.measure.mjs [pages]`, after a build. Site, receiver and cluster share this machine.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { root } from '../../deploy/local/places.mjs';

const PAGES = Number(process.argv[2] ?? 10_000);
const POLL_MS = 100;

/** @param {string} file */
const load = (file) => import(pathToFileURL(path.join(root, 'dist/test', file)).href);
const { startCluster } = await load('support/cluster.js');
const { KnownSite } = await load('chaos/known-site.js');
const { ApiClient } = await load('support/api-client.js');

let events = 0;
let ended = () => {};
const receiver = createServer((request, response) => {
  let head = '';
  request.on('data', (part) => (head ||= part.toString('latin1', 0, 100)));
  request.on('end', () => {
    events++;
    response.writeHead(200).end();
    if (/"type":"crawl\.(completed|failed)"/.test(head)) ended();
  });
});
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', () => resolve(null)));
const { port } = /** @type {import('node:net').AddressInfo} */ (receiver.address());
const site = await KnownSite.start({
  pages: PAGES - 2,
  islands: 0,
  everyRedirect: 1e6,
  everyMissing: 1e6,
  latencyMs: 0,
});
const cluster = await startCluster({
  env: {
    ALLOW_PRIVATE_TARGETS: '127.0.0.1',
    ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
    HOST_GAP_MS: '0',
    HOST_MAX_CONN: '16',
    TEAM_CONCURRENCY: '50',
  },
});

/** CPU seconds that each service has used. @returns {Promise<Record<string, number>>} */
async function cpuOf() {
  const processes = await cluster.processes();
  const entries = processes.map(({ name, pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ');
    return [name, (Number(fields[11]) + Number(fields[12])) / 100];
  });
  return Object.fromEntries(entries);
}

/** @param {string} folder @param {string} [webhook] @returns {Promise<{ crawlMs: number, ms: number }>} */
async function crawl(folder, webhook) {
  const api = new ApiClient(cluster.url, cluster.apiKey);
  const last = new Promise((resolve) => (ended = () => resolve(null)));
  const startedAt = performance.now();
  const body = { url: site.startUrl(folder), limit: PAGES, webhook, scrapeOptions: { formats: ['markdown'] } };
  const { body: job } = await api.post('/v2/crawl', body);
  for (;;) {
    const { body: status } = await api.call(`/v2/crawl/${job.id}?limit=1`);
    if (status.status !== 'scraping') break;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const crawlMs = performance.now() - startedAt;
  if (webhook !== undefined) await last;
  return { crawlMs, ms: performance.now() - startedAt };
}

try {
  await crawl('warm');
  const before = await cpuOf();
  const alone = await crawl('alone');
  const between = await cpuOf();
  const together = await crawl('together', `http://127.0.0.1:${port}/`);
  const after = await cpuOf();
  const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
  console.log(
    `${PAGES} pages: ${seconds(alone.ms)} alone; with a webhook ${seconds(together.crawlMs)}, its ${events} events ${seconds(together.ms)}: ratio ${(together.ms / alone.ms).toFixed(2)}`,
  );
  for (const name of Object.keys(after)) {
    const [a, b] = [between[name] - before[name], after[name] - between[name]].map((cpu) => cpu.toFixed(1));
    console.log(`  CPU of ${name}: ${a} s alone, ${b} s with a webhook`);
  }
} finally {
  await cluster.stop();
  await site.stop();
  receiver.closeAllConnections();
  receiver.close();
}
