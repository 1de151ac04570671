/** The table: medians over the rounds, Troupe beside the peers. */
import { median, round } from './numbers.mjs';

/** @typedef {Record<string, any> & { measure: string, who: string }} Result one line of the result file */

const REFERENCE = 'crawlee';

/** Median over rounds. @param {Result[]} results @param {string} measure @param {string} who @param {(result: Result) => number} figure */
function pick(results, measure, who, figure) {
  const values = results.filter((result) => result.measure === measure && result.who === who).map(figure);
  return values.length === 0 ? Number.NaN : median(values);
}

const pagesPerS = (/** @type {Result} */ result) => result.pages / result.crawlS;
const cpuMsPerPage = (/** @type {Result} */ result) => (result.cpuS * 1000) / result.pages;
const readCpuMsPerPage = (/** @type {Result} */ result) => (result.readCpuS * 1000) / result.pages;
const batchRatio = (/** @type {Result} */ result) => result.oneHost.wallS / result.manyHosts.wallS;

/** @type {[label: string, measure: string, figure: (result: Result) => number, digits: number, target: string][]} */
const CRAWL_ROWS = [
  ['markdown crawl, pages/s', 'crawl-markdown', pagesPerS, 1, '>= 3 x'],
  ['markdown crawl, CPU ms/page', 'crawl-markdown', cpuMsPerPage, 2, '<= 0.55 x'],
  ['  and reading all, CPU ms/page', 'crawl-markdown', (r) => cpuMsPerPage(r) + (readCpuMsPerPage(r) || 0), 2, ''],
  ['markdown crawl, peak PSS MB', 'crawl-markdown', (r) => r.peakPssMb, 0, '<= 1000'],
  ['markdown crawl again, pages/s', 'crawl-again', pagesPerS, 1, ''],
  ['markdown crawl again, CPU ms/page', 'crawl-again', cpuMsPerPage, 2, ''],
  ['rawHtml crawl, pages/s', 'crawl-rawHtml', pagesPerS, 1, ''],
  ['rawHtml crawl, CPU ms/page', 'crawl-rawHtml', cpuMsPerPage, 2, ''],
  ['  and reading all, CPU ms/page', 'crawl-rawHtml', (r) => cpuMsPerPage(r) + readCpuMsPerPage(r), 2, ''],
];

/** @type {[label: string, measure: string, figure: (result: Result) => number, digits: number, target: string][]} */
const TROUPE_ROWS = [
  ['scrape over a bare fetch, p50 ms', 'scrape-overhead', (r) => r.overheadP50Ms, 2, '<= 8'],
  ['scrape over a bare fetch, p95 ms', 'scrape-overhead', (r) => r.overheadP95Ms, 2, '<= 20'],
  ['scrapes/s, 50 at once, one host', 'scrape-rates', (r) => r.oneHost.perS, 1, '>= 150'],
  ['scrapes/s, 50 at once, 50 hosts', 'scrape-rates', (r) => r.manyHosts.perS, 1, '>= 150'],
  ['submit to first page, ms', 'first-page', (r) => r.medianMs, 0, '<= 300'],
  ['batch on one host, pages/s', 'batch', (r) => r.count / r.oneHost.wallS, 1, ''],
  ['batch on many hosts, pages/s', 'batch', (r) => r.count / r.manyHosts.wallS, 1, ''],
  ['  many hosts / one host', 'batch', batchRatio, 2, '>= 0.7'],
  ['idle memory, PSS MB', 'idle', (r) => r.pssMb, 0, '<= 500'],
  ['memory growth, first fifth to all pages', 'crawl-markdown', (r) => r.growth, 3, '<= 0.1'],
];

/** @param {number} value @param {number} digits */
function cell(value, digits) {
  return Number.isFinite(value) ? value.toFixed(digits) : '-';
}

/** @param {number} ours @param {number} theirs */
function ratio(ours, theirs) {
  return Number.isFinite(ours / theirs) ? `${(ours / theirs).toFixed(2)} x` : '-';
}

/** @param {string[][]} rows the first one is the head */
function layOut(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (/** @type {string[]} */ row) =>
    row.map((text, column) => (column === 0 ? text.padEnd(widths[0]) : text.padStart(widths[column]))).join('  ');
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join('\n');
}

/** @param {Result[]} results @param {string[]} peers */
function mainTable(results, peers) {
  const head = ['measure', 'troupe', ...peers, `troupe / ${REFERENCE}`, 'target'];
  const crawls = CRAWL_ROWS.map(([label, measure, figure, digits, target]) => {
    const ours = pick(results, measure, 'troupe', figure);
    // Peers make markdown only; their one crawl stands beside both of ours.
    const theirs = (/** @type {string} */ peer) => pick(results, 'crawl-markdown', peer, figureOfPeer(label, figure));
    const cells = [ours, ...peers.map(theirs)].map((value) => cell(value, digits));
    return [label, ...cells, ratio(ours, theirs(REFERENCE)), target];
  });
  const others = TROUPE_ROWS.map(([label, measure, figure, digits, target]) => {
    const ours = cell(pick(results, measure, 'troupe', figure), digits);
    return [label, ours, ...peers.map(() => ''), '', target];
  });
  return layOut([head, ...crawls, ...others]);
}

/** A peer has written its pages when its crawl ends: nothing is left to be read. @param {string} label @param {(result: Result) => number} figure */
function figureOfPeer(label, figure) {
  return label.includes('reading') ? cpuMsPerPage : figure;
}

/** @param {Result[]} results */
function serviceTable(results) {
  const names = Object.keys(results.find((result) => result.pssPartsMb)?.pssPartsMb ?? {});
  const cpuOf = (/** @type {string} */ measure, /** @type {string} */ name) =>
    pick(results, measure, 'troupe', (r) => (r.cpuPartsS[name] * 1000) / r.pages);
  const launcher = (/** @type {string} */ measure) =>
    pick(results, measure, 'troupe', (r) => {
      const parts = Object.values(r.cpuPartsS).reduce((sum, value) => sum + Number(value), 0);
      return (Math.max(0, r.cpuS - parts) * 1000) / r.pages;
    });
  const rows = names.map((name) => [
    name,
    cell(cpuOf('crawl-markdown', name), 2),
    cell(cpuOf('crawl-rawHtml', name), 2),
    cell(
      pick(results, 'idle', 'troupe', (r) => r.pssPartsMb[name]),
      0,
    ),
    cell(
      pick(results, 'crawl-markdown', 'troupe', (r) => r.peakPssPartsMb[name]),
      0,
    ),
  ]);
  const rest = ['launcher', cell(launcher('crawl-markdown'), 2), cell(launcher('crawl-rawHtml'), 2), '', ''];
  return layOut([['process', 'ms/page md', 'ms/page rawHtml', 'idle MB', 'peak MB'], ...rows, rest]);
}

/** Everything in a result that makes its figures worthless. @param {Result} result @returns {string[]} */
export function faultsOf(result) {
  const parts = [result, result.oneHost, result.manyHosts].filter(Boolean);
  return parts.flatMap((part) => [
    ...(part.outcome && !part.outcome.isRight ? [`wrong pages: ${JSON.stringify(part.outcome)}`] : []),
    ...(part.failed > 0 ? [`${part.failed} scrapes failed or came with the wrong text`] : []),
    ...(part.status && part.status !== 'completed' ? [`the job ended as ${part.status}`] : []),
    ...(part.restarts > 0 ? [`${part.restarts} processes had to be started again`] : []),
  ]);
}

/** The largest share of the machine that others took during a measurement. @param {Result} result */
export function foreignShareOf(result) {
  const shares = [result, result.oneHost, result.manyHosts].map((part) => part?.foreignShare ?? 0);
  return round(Math.max(...shares), 3);
}

/** @param {Result[]} results @param {string[]} peers */
export function describeResults(results, peers) {
  return `${mainTable(results, peers)}\n\n${serviceTable(results)}`;
}
