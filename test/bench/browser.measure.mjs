/**
 * `node test/bench/browser.measure.mjs [--pages 200] [--scrapes 15] [--rounds 1] [--kit DIR]`, on the compiled sources:
 * pages that scripts make, beside Crawlee's browser crawler in the same run, in turns.
 *
 * - a crawl of the script-rendered site: CPU and memory of everything per page, every page checked by its mark. Of both
 *   sides all CPU of the machine counts but the site's, the bench's and what the idle machine used just before, because
 *   processes of browsers are left that no tree shows; with other work on the machine there is no verdict
 * - a batch in which one page of ten is made by scripts, engine `auto`: pages/s
 * - single scrapes with contexts opened ahead of need: what the API adds to the same page's own load in a fresh context
 */
import { chromium } from 'playwright-core';
import { findBrowsers } from '../../deploy/local/parts/chromium.mjs';
import { MAX_IDLE_SHARE, measureIdle } from './machine.mjs';
import { Meter } from './meter.mjs';
import { median, percentile, round } from './numbers.mjs';
import { parseOptions, reasonToSkip } from './options.mjs';
import { OutcomeCheck } from './outcome.mjs';
import { crawlWithPeer, installPeer } from './peers.mjs';
import { startSite } from './site.mjs';
import { startTroupe } from './troupe.mjs';

const PEER = 'crawlee';
const CONCURRENCY = 4;
const SCRIPT_SHARE = 10;
/** Between two scrapes, in which the next context is opened. */
const PAUSE_MS = 2_500;
const TARGETS = { cpu: 0.67, memory: 1, rate: 5, overheadMs: 120 };

/** @typedef {import('./crawl.measure.mjs').Setting & { idleShare: number }} Setting */

/** @param {Setting} setting @param {'crawl' | 'batch/scrape'} kind @param {object} body @param {number} wanted */
async function runJob({ troupe, site, idleShare }, kind, body, wanted) {
  const meter = new Meter({ pid: troupe.pid, parts: troupe.processes(), sitePid: site.pid, idleShare });
  const job = await troupe.submit(kind, body);
  await troupe.waitForEnd(job, () => undefined);
  meter.sampleMemory();
  const reading = meter.stop();
  const check = new OutcomeCheck(site, wanted);
  for await (const document of troupe.documents(job)) check.add(document.metadata?.sourceURL, document.markdown);
  return { ...reading, trace: [], pages: wanted, outcome: check.result() };
}

/** @param {Setting} setting */
function crawlScripts(setting) {
  const { start, pages } = setting.site;
  const scrapeOptions = { formats: ['markdown'], maxAge: 0 };
  const body = {
    url: `${start}j/0`,
    limit: pages,
    sitemap: 'skip',
    crawlEntireDomain: true,
    includePaths: ['^/j/'],
    scrapeOptions,
  };
  return runJob(setting, 'crawl', body, pages);
}

/** @param {Setting} setting */
function batchMixed(setting) {
  const { start, pages } = setting.site;
  const count = pages - 1;
  const urls = Array.from({ length: count }, (_, i) => `${start}${i % SCRIPT_SHARE === 4 ? 'j' : 'p'}/${i + 1}`);
  return runJob(setting, 'batch/scrape', { urls, formats: ['markdown'], maxAge: 0 }, count);
}

/** @param {import('playwright-core').Browser} browser @param {string} url @returns {Promise<number>} in ms, in a context opened before */
async function loadBare(browser, url) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const startedMs = performance.now();
  await page.goto(url);
  await page.waitForSelector('main');
  const ms = performance.now() - startedMs;
  await context.close();
  return ms;
}

/** @param {Setting} setting @param {number} count */
async function scrapeSingly({ troupe, site }, count) {
  const { CHROMIUM_PATH: executablePath } = await findBrowsers();
  if (executablePath === undefined) throw new Error('there is no Chromium here');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] });
  const bareMs = [];
  const scrapeMs = [];
  let failed = 0;
  try {
    for (let i = -3; i < count; i++) {
      const url = `${site.start}j/${i + 4}`;
      const bare = await loadBare(browser, url);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      const body = { url, formats: ['markdown'], maxAge: 0, waitFor: 1 };
      const answer = await troupe.client.ask(`${troupe.url}/v2/scrape`, body);
      if (answer.status !== 200 || !answer.text.includes(site.identify(url)?.mark ?? '?')) failed++;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (i < 0) continue;
      bareMs.push(bare);
      scrapeMs.push(answer.ms);
    }
  } finally {
    await browser.close();
  }
  const overheadMs = scrapeMs.map((ms, i) => ms - bareMs[i]);
  const [bareP50Ms, scrapeP50Ms] = [bareMs, scrapeMs].map((values) => round(percentile(values, 0.5), 1));
  return { count, failed, bareP50Ms, scrapeP50Ms, overheadP50Ms: round(percentile(overheadMs, 0.5), 1) };
}

/** @typedef {{ machineCpuS: number, cpuS: number, idleShare: number, pages: number }} Crawl */

const perPage = (/** @type {Crawl} */ crawl) => (crawl.machineCpuS * 1000) / crawl.pages;
const treePerPage = (/** @type {Crawl} */ crawl) => (crawl.cpuS * 1000) / crawl.pages;

/**
 * @param {string} label @param {number} value @param {number} limit @param {boolean} atMost
 * @param {boolean} [counts] false: others disturbed it
 */
function judge(label, value, limit, atMost, counts = true) {
  const isMet = atMost ? value <= limit : value >= limit;
  const verdict = !counts ? 'VOID  ' : isMet ? 'met   ' : 'MISSED';
  console.log(`${verdict}  ${label}: ${round(value, 2)} (${atMost ? 'at most' : 'at least'} ${limit})`);
}

/** Says what the figures of CPU are made of. @param {Record<string, any>[]} rounds @returns {boolean} whether they count */
function reportCpu(rounds) {
  const crawls = rounds.flatMap(({ peer, crawl }) => [
    [PEER, peer],
    ['Troupe', crawl],
  ]);
  for (const [name, crawl] of crawls) {
    const ms = [perPage(crawl), treePerPage(crawl)].map(Math.round);
    const idle = `${round(crawl.idleShare * 100, 1)} % of the machine was in use before`;
    console.log(`${name}: ${ms[0]} ms CPU a page, of which its tree accounts for ${ms[1]}; ${idle}`);
  }
  const isQuiet = crawls.every(([, { idleShare }]) => idleShare <= MAX_IDLE_SHARE);
  if (!isQuiet) {
    const limit = `${MAX_IDLE_SHARE * 100} %`;
    console.log(`THE MACHINE WAS NOT IDLE: more than ${limit} of it was in use before a crawl. CPU DOES NOT COUNT.`);
  }
  return isQuiet;
}

/** @param {Record<string, any>[]} rounds */
function report(rounds) {
  const figure = (/** @type {(round: Record<string, any>) => number} */ of) => median(rounds.map(of));
  const cpuCounts = reportCpu(rounds);
  judge(
    'CPU per page, Troupe / Crawlee',
    figure((r) => perPage(r.crawl) / perPage(r.peer)),
    TARGETS.cpu,
    true,
    cpuCounts,
  );
  judge(
    'peak memory of the whole, Troupe / Crawlee',
    figure((r) => r.crawl.peakPssMb / r.peer.peakPssMb),
    TARGETS.memory,
    true,
  );
  judge(
    'pages/s of the mixed batch / Crawlee in the browser',
    figure((r) => r.mixed.pages / r.mixed.wallS / (r.peer.pages / r.peer.crawlS)),
    TARGETS.rate,
    false,
  );
  judge(
    'single scrape over the page itself, p50 ms',
    figure((r) => r.single.overheadP50Ms),
    TARGETS.overheadMs,
    true,
  );
}

/** @param {import('./options.mjs').Options} options */
async function measureRound(options) {
  const site = await startSite({ ...options, hosts: 1 });
  try {
    const browser = { concurrency: CONCURRENCY };
    const idleShare = await measureIdle(site.pid);
    const peer = await crawlWithPeer({ kit: options.kit, peer: PEER, site, browser, idleShare });
    // It follows links to the plain pages of the site as well, and shows them in the browser like the others.
    peer.pages = peer.outcome.documents;
    const idleNow = await measureIdle(site.pid);
    const troupe = await startTroupe({ ...options, build: false });
    try {
      const setting = { troupe, site, idleShare: idleNow };
      const crawl = await crawlScripts(setting);
      const mixed = await batchMixed(setting);
      return { peer: { ...peer, trace: [] }, crawl, mixed, single: await scrapeSingly(setting, options.scrapes) };
    } finally {
      await troupe.stop();
    }
  } finally {
    site.stop();
  }
}

/** @returns {Promise<number>} exit code */
async function main() {
  const given = process.argv.slice(2);
  const options = parseOptions(['--pages', '200', '--scrapes', '15', '--rounds', '1', ...given]);
  if ('help' in options) return 0;
  const reason = reasonToSkip({ ...options, peers: [PEER] });
  if (reason !== null) {
    console.log(`BENCH SKIPPED, nothing was measured: ${reason}.`);
    return 0;
  }
  await installPeer(options.kit, PEER);
  const rounds = [];
  for (let i = 0; i < options.rounds; i++) {
    const result = await measureRound(options);
    console.log(JSON.stringify(result));
    rounds.push(result);
  }
  report(rounds);
  const isRight = rounds.every(
    ({ peer, crawl, mixed, single }) =>
      [crawl, mixed].every(({ outcome }) => outcome.isRight) &&
      peer.outcome.good >= options.pages &&
      single.failed === 0,
  );
  if (!isRight) console.log('FAULT: pages were wrong or missing; the figures do not count.');
  return isRight ? 0 : 1;
}

process.exit(await main());
