/** `npm run bench`: Troupe and its peers on one site, interleaved, as a table with ratios. See README.md. */
import { appendFileSync, mkdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { measureBatch, measureCrawl, measureFirstPage, measureIdle } from './crawl.measure.mjs';
import { parseOptions, reasonToSkip, UsageError } from './options.mjs';
import { crawlWithPeer, installPeer } from './peers.mjs';
import { describeResults, faultsOf, foreignShareOf } from './report.mjs';
import { measureOverhead, measureRates } from './scrape.measure.mjs';
import { startSite } from './site.mjs';
import { startTroupe } from './troupe.mjs';

const FOREIGN_LIMIT = 0.1;
/** Thrown when somebody stopped the bench. */
class Interrupted extends Error {}

const say = (/** @type {string} */ text) => process.stderr.write(`bench | ${text}\n`);

/** Rejects on Ctrl-C, so that what was started is stopped in order. */
const interrupted = new Promise((_resolve, reject) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Interrupted()));
});
interrupted.catch(() => undefined);

/** Runs measurements one by one, keeps their results, and tells what makes them doubtful. */
class Notebook {
  /** @type {import('./report.mjs').Result[]} */
  results = [];
  faults = 0;
  round = 1;

  /** @param {string} dir */
  constructor(dir) {
    mkdirSync(dir, { recursive: true });
    this.file = path.join(dir, `${new Date().toISOString().replaceAll(':', '-')}.jsonl`);
  }

  /** @param {string} who @param {string} measure @param {() => Promise<object>} run */
  async take(who, measure, run) {
    const load = os.loadavg().map((value) => Number(value.toFixed(2)));
    say(`round ${this.round}: ${who} ${measure} (load before: ${load.join(' ')} on ${os.cpus().length} cores)`);
    const result = {
      measure,
      who,
      round: this.round,
      at: new Date().toISOString(),
      load,
      ...(await Promise.race([run(), interrupted])),
    };
    this.results.push(result);
    appendFileSync(this.file, `${JSON.stringify(result)}\n`);
    this.#judge(result);
  }

  /** @param {import('./report.mjs').Result} result */
  #judge(result) {
    const foreign = foreignShareOf(result);
    if (foreign > FOREIGN_LIMIT)
      say(`  WARNING: others took ${(foreign * 100).toFixed(0)} % of the machine; do not quote rates and times`);
    for (const fault of faultsOf(result)) {
      this.faults++;
      say(`  FAULT: ${fault}`);
    }
  }
}

/** @param {Notebook} notebook @param {import('./options.mjs').Options} options @param {import('./site.mjs').Site} site */
async function measureTroupe(notebook, options, site) {
  const troupe = await startTroupe(options);
  const setting = { troupe, site };
  const take = (/** @type {string} */ measure, /** @type {() => Promise<object>} */ run) =>
    notebook.take('troupe', measure, run);
  try {
    await take('idle', () => measureIdle(setting));
    await take('crawl-markdown', () => measureCrawl(setting, 'markdown'));
    await take('crawl-rawHtml', () => measureCrawl(setting, 'rawHtml'));
    await take('first-page', () => measureFirstPage(setting));
    await take('scrape-overhead', () => measureOverhead(setting, options.scrapes));
    await take('scrape-rates', () => measureRates(setting, options.scrapes));
    await take('batch', () => measureBatch(setting, options.batch));
    await take('crawl-again', () => measureCrawl(setting, 'markdown'));
  } finally {
    await troupe.stop();
  }
}

/** @param {Notebook} notebook @param {import('./options.mjs').Options} options */
async function measureAll(notebook, options) {
  for (const peer of options.peers) {
    say(`installing ${peer} when it is missing …`);
    await installPeer(options.kit, peer);
  }
  const site = await startSite(options);
  try {
    for (notebook.round = 1; notebook.round <= options.rounds; notebook.round++) {
      for (const peer of options.peers)
        await notebook.take(peer, 'crawl-markdown', () => crawlWithPeer({ kit: options.kit, peer, site }));
      await measureTroupe(notebook, options, site);
    }
  } finally {
    site.stop();
  }
}

/** @param {string} text @returns {number} exit code */
function print(text) {
  console.log(text);
  return 0;
}

/** @param {string[]} argv @returns {Promise<number>} exit code */
async function main(argv) {
  const options = parseOptions(argv);
  if ('help' in options) return print(options.help);
  const reason = reasonToSkip(options);
  if (reason !== null) return print(`BENCH SKIPPED, nothing was measured: ${reason}.`);
  const notebook = new Notebook(options.out);
  await measureAll(notebook, options);
  console.log(`\n${options.pages} pages, medians of ${options.rounds} round(s)\n`);
  console.log(describeResults(notebook.results, options.peers));
  console.log(`\n${path.relative(process.cwd(), notebook.file)}`);
  const worst = Math.max(...notebook.results.map(foreignShareOf));
  if (worst > FOREIGN_LIMIT) console.log(`WARNING: others took up to ${(worst * 100).toFixed(0)} % of the machine.`);
  if (notebook.faults > 0) console.log(`${notebook.faults} FAULT(S): see above; the figures do not count.`);
  return notebook.faults === 0 ? 0 : 1;
}

/** @param {unknown} error @returns {number} exit code */
function explain(error) {
  if (error instanceof Interrupted) return 130;
  say(error instanceof UsageError ? error.message : String(error instanceof Error ? error.stack : error));
  return error instanceof UsageError ? 2 : 1;
}

process.exit(await main(process.argv.slice(2)).catch(explain));
