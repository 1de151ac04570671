/**
 * `npm run quality`: converts the labelled pages beside the project, has them scored and compares with the recorded baseline.
 *
 * Exit code 0: as good as recorded (or nothing to measure with, which one sentence says), 1: worse, 2: wrong use.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { buildSources } from '../../deploy/local/prepare.mjs';
import { startTroupe } from '../bench/troupe.mjs';
import { pagesDir, scorer, whyNoKit } from './kit.mjs';

const USAGE = `npm run quality [-- options]

  --api URL --key KEY   score a running cluster through POST /v2/scrape (it must allow loopback targets)
  --cluster             start a cluster for it
  --max-drop N          how much a metric may fall below the baseline (default 0.003)
  --record              write the baseline instead of comparing with it; in process only
  --only SETS           such as wcxb,aeb: a part of the pages, nothing is compared
  --limit N             the first pages only, nothing is compared
  --out DIR             keep predictions, scores per page and metrics there`;

const here = path.dirname(fileURLToPath(import.meta.url));
const baselineFile = path.join(here, 'baseline.json');
const OPTIONS = /** @type {const} */ ({
  api: { type: 'string' },
  key: { type: 'string' },
  cluster: { type: 'boolean', default: false },
  'max-drop': { type: 'string', default: '0.003' },
  record: { type: 'boolean', default: false },
  'no-build': { type: 'boolean', default: false },
  only: { type: 'string' },
  limit: { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', default: false },
});
/** What must not fall. */
const MAIN = [
  'index',
  'index.text',
  'index.structure',
  'index.metadata',
  'wcxb.macroF1',
  'aeb.shingleF1',
  'traf.segF1',
];
/** What the baseline holds beside that, to see where a change comes from. */
const RECORDED = /^(?:index.*|wcxb\.macroF1|wcxb\.[a-z]+\.wordF1|aeb\.shingleF1|traf\.segF1|all\..*|cmark\.cm.*)$/;

function readOptions() {
  try {
    const { values } = parseArgs({ options: OPTIONS });
    const throughApi = values.cluster || values.api !== undefined;
    if (!(Number(values['max-drop']) >= 0)) throw new Error('--max-drop needs a number');
    if (values.record && (throughApi || values.only || values.limit))
      throw new Error('--record goes with all pages, in process');
    return values;
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

/** @param {string[]} args @returns {Promise<string>} standard output; errors of single pages go to ours */
async function runScorer(args) {
  const child = spawn(process.execPath, [scorer, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the scorer ended with exit code ${code}`);
  return output;
}

/** @param {ReturnType<typeof readOptions>} options @param {string[]} part @param {string} out */
async function convertAll(options, part, out) {
  const run = ['run', '--data', pagesDir, '--out', out, ...part];
  if (!options.cluster && options.api === undefined) {
    const program = `"${process.execPath}" "${path.join(here, 'convert.mjs')}"`;
    return JSON.parse(await runScorer([...run, '--cmd', program]));
  }
  const troupe = options.cluster ? await startTroupe({ build: false, keep: false }) : null;
  try {
    const authorization = troupe?.headers.authorization ?? `Bearer ${options.key ?? ''}`;
    const header = ['--header', `authorization: ${authorization}`];
    return JSON.parse(await runScorer([...run, '--api', String(troupe?.url ?? options.api), ...header]));
  } finally {
    await troupe?.stop();
  }
}

/** @param {Record<string, number>} metrics */
function record(metrics) {
  const kept = Object.entries(metrics).filter(([name, value]) => RECORDED.test(name) && typeof value === 'number');
  const lines = Object.fromEntries(kept.map(([name, value]) => [name, Number(value.toFixed(4))]));
  writeFileSync(baselineFile, `${JSON.stringify(lines, null, 2)}\n`);
  console.log(`recorded in ${path.relative(process.cwd(), baselineFile)}`);
}

/**
 * Prints what changed.
 *
 * @param {Record<string, number>} metrics @param {number} maxDrop @returns {string[]} main metrics that fell further
 */
function compare(metrics, maxDrop) {
  const baseline = /** @type {Record<string, number>} */ (JSON.parse(readFileSync(baselineFile, 'utf8')));
  console.log(`\n${'metric'.padEnd(28)}${'baseline'.padStart(10)}${'now'.padStart(10)}${'change'.padStart(10)}`);
  for (const [name, old] of Object.entries(baseline)) {
    const now = metrics[name] ?? 0;
    const cells = [old, now, now - old].map((value) => (100 * value).toFixed(2).padStart(10));
    console.log(`${name.padEnd(28)}${cells.join('')}`);
  }
  return MAIN.filter((name) => name in baseline && (metrics[name] ?? 0) < baseline[name] - maxDrop);
}

/** @param {ReturnType<typeof readOptions>} options @param {string} work @returns {Promise<number>} exit code */
async function measure(options, work) {
  const part = [];
  if (options.only !== undefined) part.push('--only', options.only);
  if (options.limit !== undefined) part.push('--limit', options.limit);
  const predictions = path.join(work, 'predictions.jsonl');
  const metricsFile = path.join(work, 'metrics.json');
  const run = await convertAll(options, part, predictions);
  const files = ['--predictions', predictions, '--json', metricsFile, '--pages', path.join(work, 'pages.csv')];
  process.stdout.write(await runScorer(['score', '--data', pagesDir, ...files, ...part]));
  const cpu = run.corePagesPerS ? `, ${(1000 / run.corePagesPerS).toFixed(2)} ms of CPU each` : '';
  console.log(`${run.pages} pages${cpu}`);
  const metrics = JSON.parse(readFileSync(metricsFile, 'utf8'));
  if (options.record) record(metrics);
  if (options.record || part.length > 0) return 0;
  if (!existsSync(baselineFile)) {
    console.log('No baseline is recorded: nothing to compare with.');
    return 0;
  }
  const fallen = compare(metrics, Number(options['max-drop']));
  for (const name of fallen) console.error(`${name} fell by more than ${options['max-drop']}`);
  return fallen.length > 0 ? 1 : 0;
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const missing = whyNoKit();
  if (missing !== null) {
    console.log(missing);
    return 0;
  }
  if (!options['no-build']) await buildSources();
  const work = options.out ?? mkdtempSync(path.join(os.tmpdir(), 'troupe-quality-'));
  mkdirSync(work, { recursive: true });
  try {
    return await measure(options, work);
  } finally {
    if (options.out === undefined) rmSync(work, { recursive: true, force: true });
  }
}

process.exit(await main());
