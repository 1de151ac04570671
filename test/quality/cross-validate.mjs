/**
 * How good the converter is on sites that its forests have never seen: five parts of the labelled pages by site, each
 * converted by forests trained on the other four.
 *
 *   node test/quality/cross-validate.mjs [--work DIR] [--check]
 *
 * DIR is one that `npm run quality:train -- --work DIR` has filled; without it the trainer runs first, nothing in the tree is
 * written. `--check`: exit code 1 where a target is missed. A minute and a half. Settings of main-content.ts were chosen on
 * all pages: it is the forests alone that are held back.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildSources } from '../../deploy/local/prepare.mjs';
import { pagesDir, scorer } from './kit.mjs';
import { runTrainer, whyNoTraining } from './training.mjs';

const TARGETS = /** @type {const} */ ([
  { metric: 'wcxb.macroF1', least: 0.85 },
  { metric: 'aeb.shingleF1', least: 0.96 },
  { metric: 'traf.segF1', least: 0.94 },
]);
/** Seen pages minus unseen ones. */
const MOST_DIFFERENCE = 0.025;
const converter = path.join(import.meta.dirname, 'convert-unseen.mjs');
const { values: options } = parseArgs({
  options: { work: { type: 'string' }, check: { type: 'boolean', default: false } },
});

/** @param {string[]} args */
async function runScorer(args) {
  const child = spawn(process.execPath, [scorer, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the scorer ended with exit code ${code}`);
}

/** @param {string} work @param {string | null} folds folder of the forests @returns {Promise<Record<string, number>>} */
async function measure(work, folds) {
  const predictions = path.join(work, 'predictions.jsonl');
  const metrics = path.join(work, 'metrics.json');
  const program = [process.execPath, converter, ...(folds === null ? [] : [path.resolve(folds)])];
  const part = ['--data', pagesDir, '--only', 'wcxb,aeb,traf'];
  const command = program.map((word) => `"${word}"`).join(' ');
  await runScorer(['run', ...part, '--cmd', command, '--out', predictions]);
  await runScorer(['score', ...part, '--predictions', predictions, '--json', metrics]);
  return JSON.parse(readFileSync(metrics, 'utf8'));
}

/** @param {Record<string, number>} seen @param {Record<string, number>} unseen @returns {string[]} what misses its target */
function report(seen, unseen) {
  const types = Object.keys(seen).filter((name) => /^wcxb\.[a-z]+\.wordF1$/.test(name));
  const names = [...TARGETS.map(({ metric }) => metric), ...types];
  console.log(
    `${'metric'.padEnd(28)}${'dev'.padStart(9)}${'unseen'.padStart(9)}${'dev-unseen'.padStart(12)}${'target'.padStart(9)}`,
  );
  for (const name of names) {
    const target = TARGETS.find(({ metric }) => metric === name);
    const cells = [seen[name], unseen[name], Number(seen[name]) - Number(unseen[name])].map((x) =>
      (100 * Number(x)).toFixed(2),
    );
    const wanted = target === undefined ? '' : String(100 * target.least);
    console.log(
      `${name.padEnd(28)}${cells[0]?.padStart(9)}${cells[1]?.padStart(9)}${cells[2]?.padStart(12)}${wanted.padStart(9)}`,
    );
  }
  return TARGETS.flatMap(({ metric, least }) => {
    const now = Number(unseen[metric]);
    const difference = Number(seen[metric]) - now;
    const low = now < least ? [`${metric} of unseen sites is below ${100 * least}`] : [];
    const far =
      difference > MOST_DIFFERENCE ? [`${metric} of unseen sites is more than ${100 * MOST_DIFFERENCE} lower`] : [];
    return [...low, ...far];
  });
}

async function main() {
  const missing = whyNoTraining();
  if (missing !== null) {
    console.error(`SKIPPED: ${missing}`);
    return 0;
  }
  await buildSources();
  const own = mkdtempSync(path.join(os.tmpdir(), 'troupe-unseen-'));
  try {
    if (options.work === undefined) await runTrainer(own, ['--model', path.join(own, 'model.ts')]);
    const unseen = await measure(own, options.work ?? own);
    const missed = report(await measure(own, null), unseen);
    for (const line of missed) console.log(line);
    return options.check && missed.length > 0 ? 1 : 0;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

process.exitCode = await main();
