/**
 * How many series each process shows after pages of many hosts: no label may take the name of a host for good.
 *
 * `node test/bench/series.measure.mjs [hosts]`, after a build. The exit code is 1 when a page is missing, or when a process
 * shows 3,000 series or more.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../deploy/local/places.mjs';

const HOSTS = Number(process.argv[2] ?? 10_000);
const MAX_SERIES = 3_000;
const JOB_MS = 1_800_000;

/** @param {string} file */
const load = (file) => import(pathToFileURL(path.join(root, 'dist', file)).href);
const { startCluster } = await load('test/support/cluster.js');
const { ApiClient } = await load('test/support/api-client.js');
const { startDns, startSite } = await load('@troupe/testing');

const names = Array.from({ length: HOSTS }, (_, i) => `h${i}.many.test`);
const dns = await startDns(Object.fromEntries(names.map((name) => [name, ['127.0.0.1']])));
const site = await startSite((request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<html><body><main><h1>${request.headers.host}</h1><p>A page of its own.</p></main></body></html>`);
});
const env = {
  ALLOW_PRIVATE_TARGETS: '127.0.0.1',
  DNS_SERVERS: dns.address,
  HOST_GAP_MS: '0',
  TEAM_CONCURRENCY: '100',
  MAX_BATCH_URLS: String(HOSTS),
};
const cluster = await startCluster({ env });
try {
  const api = new ApiClient(cluster.url, cluster.apiKey);
  const startedMs = performance.now();
  const urls = names.map((name) => `http://${name}:${site.port}/`);
  const { body: job } = await api.post('/v2/batch/scrape', { urls, formats: ['markdown'] });
  const { completed } = await api.finished(`/v2/batch/scrape/${job.id}?limit=1`, JOB_MS);
  console.log(`${completed} pages of ${HOSTS} hosts in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  let most = 0;
  for (const { name, health } of await cluster.processes()) {
    if (health === null) continue;
    const text = await (await fetch(`${health}/metrics`)).text();
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
    console.log(`${name}: ${series} series (must be below ${MAX_SERIES})`);
    most = Math.max(most, series);
  }
  process.exitCode = completed === HOSTS && most < MAX_SERIES ? 0 : 1;
} finally {
  await cluster.stop();
  await site.close();
  dns.close();
}
