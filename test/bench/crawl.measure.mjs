/** Jobs of many pages: how fast, at what cost, in how much memory, and whether everything came out. */
import { Meter, memoryNow } from './meter.mjs';
import { median, round } from './numbers.mjs';
import { OutcomeCheck } from './outcome.mjs';

/** Memory up to this share of the pages is compared with the whole: 2,000 of 10,000. */
const EARLY_SHARE = 0.2;

/**
 * @typedef {object} Setting
 * @property {import('./troupe.mjs').Troupe} troupe
 * @property {import('./site.mjs').Site} site
 */

/** @param {Setting} setting @param {() => number} [pagesSoFar] */
function meterOf({ troupe, site }, pagesSoFar) {
  return new Meter({ pid: troupe.pid, parts: troupe.processes(), sitePid: site.pid, pagesSoFar });
}

/** Runs a job to its end. @param {Setting} setting @param {'crawl' | 'batch/scrape'} kind @param {object} body */
async function runJob(setting, kind, body) {
  let completed = 0;
  const restartsBefore = setting.troupe.restarts();
  const meter = meterOf(setting, () => completed);
  const job = await setting.troupe.submit(kind, body);
  const end = await setting.troupe.waitForEnd(job, (pages) => (completed = pages));
  meter.sampleMemory();
  const reading = meter.stop();
  return { job, reading: { ...reading, ...end, restarts: setting.troupe.restarts() - restartsBefore } };
}

/** @param {Setting} setting @param {string} job @param {string} format @param {number} wanted */
async function readDocuments(setting, job, format, wanted) {
  const check = new OutcomeCheck(setting.site, wanted);
  const meter = meterOf(setting);
  for await (const document of setting.troupe.documents(job)) check.add(document.metadata?.sourceURL, document[format]);
  const { wallS, cpuS } = meter.stop();
  return { readWallS: wallS, readCpuS: cpuS, outcome: check.result() };
}

/** Peak while at most a fifth of the pages was done, and the peak of all. @param {import('./meter.mjs').Reading['trace']} trace @param {number} pages */
function memoryGrowth(trace, pages) {
  const early = trace.filter((sample) => sample.pages <= pages * EARLY_SHARE).map((sample) => sample.pssMb);
  const late = trace.map((sample) => sample.pssMb);
  const earlyPeakMb = Math.max(...early);
  return { earlyPeakMb, growth: round(Math.max(...late) / earlyPeakMb - 1, 3) };
}

/** Crawls the whole site and reads all of it back. @param {Setting} setting @param {'markdown' | 'rawHtml'} format */
export async function measureCrawl(setting, format) {
  const { start, pages } = setting.site;
  const body = { url: start, limit: pages, scrapeOptions: { formats: [format], maxAge: 0 } };
  const { job, reading } = await runJob(setting, 'crawl', body);
  const documents = await readDocuments(setting, job, format, pages);
  return { format, pages, crawlS: reading.wallS, ...reading, ...memoryGrowth(reading.trace, pages), ...documents };
}

/** @param {Setting} setting @param {string[]} urls */
async function runBatch(setting, urls) {
  const { job, reading } = await runJob(setting, 'batch/scrape', { urls, formats: ['markdown'], maxAge: 0 });
  return { ...reading, ...(await readDocuments(setting, job, 'markdown', urls.length)) };
}

/** The same number of URLs on one host and spread over many. @param {Setting} setting @param {number} count */
export async function measureBatch(setting, count) {
  const { start, wideHosts } = setting.site;
  const urls = Array.from({ length: count }, (_, i) => i);
  const oneHost = await runBatch(
    setting,
    urls.map((i) => `${start}p/${i + 1}`),
  );
  const wide = urls.map((i) => `${wideHosts[i % wideHosts.length]}p/${Math.floor(i / wideHosts.length)}`);
  const manyHosts = await runBatch(setting, wide);
  return { count, hosts: Math.min(count, wideHosts.length), oneHost, manyHosts };
}

/** Milliseconds from the submission of a crawl until its first page can be read. @param {Setting} setting */
async function firstPageMs(setting) {
  const startedMs = performance.now();
  const body = { url: setting.site.start, limit: 20, scrapeOptions: { formats: ['markdown'], maxAge: 0 } };
  const job = await setting.troupe.submit('crawl', body);
  for (;;) {
    const { data, status } = await setting.troupe.read(`${job}?limit=1`);
    if (data.length > 0) {
      const elapsedMs = performance.now() - startedMs;
      await setting.troupe.waitForEnd(job, () => undefined);
      return elapsedMs;
    }
    if (status !== 'scraping') throw new Error(`${job} is ${status} without a page`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** @param {Setting} setting */
export async function measureFirstPage(setting) {
  const samplesMs = [];
  const meter = meterOf(setting);
  for (let i = 0; i < 5; i++) samplesMs.push(round(await firstPageMs(setting), 1));
  const { foreignShare } = meter.stop();
  return { samplesMs, medianMs: median(samplesMs), foreignShare };
}

/** Memory of a cluster that has nothing to do. @param {Setting} setting */
export async function measureIdle({ troupe }) {
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  return memoryNow(troupe.pid, troupe.processes());
}
