/** Single scrapes: what the API adds to a bare fetch of the same page, and how many it serves at once. */
import { HttpClient } from './http.mjs';
import { Meter } from './meter.mjs';
import { percentile, round } from './numbers.mjs';

const CONCURRENCY = 50;
const WARM_UP = 20;
/** A rate needs more requests than a percentile: 500 are over in two seconds. */
const REQUESTS_OF_A_RATE = 5;

/** @typedef {import('./crawl.measure.mjs').Setting} Setting */

/** @param {Setting} setting @param {HttpClient} client @param {string} url */
async function scrape({ troupe, site }, client, url) {
  const answer = await client.ask(`${troupe.url}/v2/scrape`, { url, formats: ['markdown'], maxAge: 0 });
  const mark = site.identify(url)?.mark ?? '';
  return { ...answer, isRight: answer.status === 200 && mark !== '' && answer.text.includes(mark) };
}

/** One at a time, each URL bare first and then through the API. @param {Setting} setting @param {number} count */
export async function measureOverhead(setting, count) {
  const { troupe, site } = setting;
  const client = new HttpClient({ sockets: 1, headers: troupe.headers });
  const bare = new HttpClient({ sockets: 1 });
  const bareMs = [];
  const scrapeMs = [];
  let failed = 0;
  const meter = new Meter({ pid: troupe.pid, sitePid: site.pid, withMemory: false });
  for (let i = 0; i < WARM_UP + count; i++) {
    const url = `${site.start}p/${(i % (site.pages - 1)) + 1}`;
    const { ms } = await bare.ask(url);
    const answer = await scrape(setting, client, url);
    if (!answer.isRight) failed++;
    if (i < WARM_UP) continue;
    bareMs.push(ms);
    scrapeMs.push(answer.ms);
  }
  const { foreignShare } = meter.stop();
  for (const used of [client, bare]) used.close();
  return { count, failed, foreignShare, ...overheadFigures(bareMs, scrapeMs) };
}

/** @param {number[]} bareMs @param {number[]} scrapeMs of the same URLs in the same order */
function overheadFigures(bareMs, scrapeMs) {
  const overheadMs = scrapeMs.map((ms, i) => ms - bareMs[i]);
  const figure = (/** @type {number[]} */ values, /** @type {number} */ share) => round(percentile(values, share), 2);
  return {
    bareP50Ms: figure(bareMs, 0.5),
    scrapeP50Ms: figure(scrapeMs, 0.5),
    scrapeP95Ms: figure(scrapeMs, 0.95),
    overheadP50Ms: figure(overheadMs, 0.5),
    overheadP95Ms: figure(overheadMs, 0.95),
  };
}

/** @param {string[]} urls @param {(url: string) => Promise<void>} visit */
async function visitAtOnce(urls, visit) {
  let next = 0;
  const visitor = async () => {
    while (next < urls.length) await visit(urls[next++]);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, visitor));
}

/** @param {Setting} setting @param {string[]} urls each host's first one is asked for before the clock starts */
async function measureRate(setting, urls) {
  const { troupe, site } = setting;
  const client = new HttpClient({ sockets: CONCURRENCY, headers: troupe.headers });
  const times = /** @type {number[]} */ ([]);
  const statuses = /** @type {Record<string, number>} */ ({});
  let failed = 0;
  const visit = async (/** @type {string} */ url) => {
    const { ms, status, isRight } = await scrape(setting, client, url);
    times.push(ms);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (!isRight) failed++;
  };
  await visitAtOnce([...new Map(urls.map((url) => [new URL(url).host, url])).values()], visit);
  times.length = 0;
  const meter = new Meter({ pid: troupe.pid, parts: troupe.processes(), sitePid: site.pid, withMemory: false });
  await visitAtOnce(urls, visit);
  const reading = meter.stop();
  client.close();
  const perS = round(urls.length / reading.wallS, 1);
  const p95Ms = round(percentile(times, 0.95), 1);
  return { perS, p50Ms: round(percentile(times, 0.5), 1), p95Ms, failed, statuses, ...reading, trace: [] };
}

/** Fifty requests at once, on one host and on fifty. @param {Setting} setting @param {number} scrapes as the other measures */
export async function measureRates(setting, scrapes) {
  const count = REQUESTS_OF_A_RATE * scrapes;
  const { start, pages, wideHosts } = setting.site;
  const numbers = Array.from({ length: count }, (_, i) => i);
  const hosts = wideHosts.slice(0, CONCURRENCY);
  const oneHost = await measureRate(
    setting,
    numbers.map((i) => `${start}p/${(i % (pages - 1)) + 1}`),
  );
  const spread = numbers.map((i) => `${hosts[i % hosts.length]}p/${Math.floor(i / hosts.length) % 100}`);
  return {
    count,
    concurrency: CONCURRENCY,
    hosts: hosts.length,
    oneHost,
    manyHosts: await measureRate(setting, spread),
  };
}
