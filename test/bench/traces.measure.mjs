/**
 * `node test/bench/traces.measure.mjs [rounds = 5] [crawls = 100] [pages = 100]`, on the compiled sources: what traces cost. Two
 * clusters take turns on the same work, so that a busy machine hits both: one without traces, one that records 1 % of its
 * calls, in which one crawl of a hundred is sure to be. Then the same with every crawl recorded, for comparison.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { Meter } from './meter.mjs';
import { median, round } from './numbers.mjs';
import { parseOptions, reasonToSkip } from './options.mjs';
import { startSite } from './site.mjs';
import { startTroupe } from './troupe.mjs';

const MAX_COST = 0.05;
const AT_ONCE = 8;
/** Of a hundred crawls the one that is recorded, past the warming up. */
const RECORDED_OF_100 = 50;
const [rounds = 5, crawls = 100, pages = 100] = process.argv.slice(2).map(Number);

/** @typedef {{ pagesPerS: number, cpuMsPerPage: number, foreignShare: number }} Figures */
/** @typedef {(crawl: number) => boolean} Recorded which crawls ask to be recorded */
/** @typedef {{ troupe: import('./troupe.mjs').Troupe, site: import('./site.mjs').Site }} Setting */

/** Takes whatever comes and counts its bytes. */
async function startSink() {
  const seen = { requests: 0, bytes: 0 };
  const server = createServer((request, response) => {
    request.on('data', (/** @type {Buffer} */ chunk) => (seen.bytes += chunk.length));
    request.on('end', () => {
      seen.requests++;
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${address.port}`, seen, close: () => server.closeAllConnections() ?? server.close() };
}

/** @param {Setting} setting @param {boolean} isRecorded */
async function crawlOnce({ troupe, site }, isRecorded) {
  const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
  const response = await fetch(`${troupe.url}/v2/crawl`, {
    method: 'POST',
    headers: { ...troupe.headers, 'content-type': 'application/json', ...(isRecorded ? { traceparent } : {}) },
    body: JSON.stringify({ url: site.start, limit: pages, scrapeOptions: { formats: ['markdown'], maxAge: 0 } }),
  });
  if (!response.ok) throw new Error(`a crawl was answered with ${response.status}: ${await response.text()}`);
  const { id } = /** @type {{ id: string }} */ (await response.json());
  const { status, completed } = await troupe.waitForEnd(`/v2/crawl/${id}`, () => undefined);
  if (status !== 'completed' || completed !== pages) throw new Error(`crawl ${id}: ${status} with ${completed} pages`);
}

/** @param {Setting} setting @param {Recorded} isRecorded @returns {Promise<Figures>} */
async function measureRound(setting, isRecorded) {
  const { troupe, site } = setting;
  const meter = new Meter({ pid: troupe.pid, sitePid: site.pid, withMemory: false });
  let next = 0;
  const work = async () => {
    while (next < crawls) await crawlOnce(setting, isRecorded(next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const { wallS, cpuS, foreignShare } = meter.stop();
  const done = crawls * pages;
  return { pagesPerS: done / wallS, cpuMsPerPage: (cpuS * 1000) / done, foreignShare };
}

/** @param {string} name @param {Figures[]} taken @param {Figures[]} base */
function describe(name, taken, base) {
  const of = (/** @type {Figures[]} */ list, /** @type {keyof Figures} */ key) => median(list.map((one) => one[key]));
  const rate = of(taken, 'pagesPerS');
  const cpu = of(taken, 'cpuMsPerPage');
  const less = 1 - rate / of(base, 'pagesPerS');
  const more = cpu / of(base, 'cpuMsPerPage') - 1;
  console.log(
    `${name.padEnd(16)} ${round(rate, 1)} pages/s (${round(-less * 100, 1)} %), ` +
      `${round(cpu, 3)} ms CPU a page (${round(more * 100, 1)} %)`,
  );
  return less;
}

const options = parseOptions([
  '--pages',
  String(Math.max(1_000, pages)),
  '--batch',
  '1',
  '--peers',
  'none',
  '--no-build',
]);
if ('help' in options) throw new Error(options.help);
const reason = reasonToSkip(options);
if (reason !== null) {
  console.log(`BENCH SKIPPED, nothing was measured: ${reason}.`);
  process.exit(0);
}
const site = await startSite(options);
const sink = await startSink();
const start = (/** @type {Record<string, string>} */ settings) => startTroupe({ build: false, keep: false, settings });
const off = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: '' });
const on = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: sink.url, OTEL_TRACES_SAMPLER_ARG: '0.01' });

/** @type {Record<'off' | 'some' | 'all', Figures[]>} */
const figures = { off: [], some: [], all: [] };
/** @type {Recorded} */
const oneOf100 = (crawl) => crawl % 100 === Math.min(RECORDED_OF_100, crawls - 1);
try {
  for (let n = 0; n <= rounds; n++) {
    /** @type {[keyof typeof figures, () => Promise<Figures>][]} */
    const turns = [
      ['off', () => measureRound({ troupe: off, site }, () => false)],
      ['some', () => measureRound({ troupe: on, site }, oneOf100)],
      ['all', () => measureRound({ troupe: on, site }, () => true)],
    ];
    // Who comes first changes; the first round warms up and does not count.
    for (const [name, take] of n % 2 === 0 ? turns : turns.reverse()) {
      const taken = await take();
      if (n > 0) figures[name].push(taken);
      process.stderr.write(
        `bench | round ${n}: ${name} ${round(taken.pagesPerS, 1)} pages/s, ${round(taken.cpuMsPerPage, 3)} ms, others ${taken.foreignShare}\n`,
      );
    }
  }
  describe('no traces', figures.off, figures.off);
  const cost = describe('1 % recorded', figures.some, figures.off);
  describe('all recorded', figures.all, figures.off);
  console.log(`collector: ${sink.seen.requests} batches, ${round(sink.seen.bytes / 2 ** 20, 1)} MB`);
  console.log(`1 % recorded costs ${round(cost * 100, 1)} % of the speed; at most ${MAX_COST * 100} % is wanted`);
  process.exitCode = cost <= MAX_COST ? 0 : 1;
} finally {
  await Promise.all([off.stop(), on.stop()]);
  site.stop();
  sink.close();
}
