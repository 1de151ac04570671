/**
 * `npm run quality:train`: makes the forests of libs/main-content/src/block-model.data.ts again from the labelled pages.
 *
 * Exit code 0: made (or nothing to train with, which one sentence says), 1: failed, or `--check` found another model, 2: wrong use.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../../deploy/local/places.mjs';
import { buildSources } from '../../deploy/local/prepare.mjs';
import { contradictionReport, findContradictions } from './contradictions.mjs';
import { labelledPages, runTrainer, whyNoTraining } from './training.mjs';

const MODEL = path.join(root, 'libs/main-content/src/block-model.data.ts');
const USAGE = `npm run quality:train [-- options]

Reads the blocks of all labelled pages (TROUPE_QUALITY_KIT), labels each by how much of it lies in the checked text, trains
a forest per page type and one for blocks, and writes them to ${path.relative(root, MODEL)}. The same pages give the same
bytes on every run. A minute on two cores, 1 GB of memory; the first run also installs Python packages (600 MB, cache folder).

  --out FILE         write the model there instead
  --check            write nothing: exit code 1 unless the model that comes out is the one in the tree, byte for byte
  --work DIR         keep what lies between there, such as the forests of each fold for cross-validate.mjs
  --contradictions   train nothing: list labels that contradict the page's structure, with page ids
  --report FILE      with --contradictions: also each of these blocks, as JSON lines
  --help`;
const OPTIONS = /** @type {const} */ ({
  out: { type: 'string' },
  check: { type: 'boolean', default: false },
  work: { type: 'string' },
  contradictions: { type: 'boolean', default: false },
  report: { type: 'string' },
  help: { type: 'boolean', default: false },
});

function readOptions() {
  try {
    const { values } = parseArgs({ options: OPTIONS });
    if (values.check && values.out !== undefined) throw new Error('--check writes nothing: leave --out away');
    if (values.contradictions && (values.check || values.out !== undefined))
      throw new Error('--contradictions trains nothing: leave --check and --out away');
    if (values.report !== undefined && !values.contradictions) throw new Error('--report goes with --contradictions');
    return values;
  } catch (error) {
    console.error(`${/** @type {Error} */ (error).message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

/** @param {string} work @param {string | undefined} report */
async function listContradictions(work, report) {
  await runTrainer(work, ['--labels-only']);
  const all = [];
  for await (const { page, own } of labelledPages(work)) all.push(...findContradictions(page, own));
  console.log(contradictionReport(all));
  if (report !== undefined) writeFileSync(report, all.map((one) => `${JSON.stringify(one)}\n`).join(''));
}

/** @param {ReturnType<typeof readOptions>} options @param {string} work @returns {Promise<number>} exit code */
async function train({ check, out }, work) {
  const file = check ? path.join(work, 'model.ts') : path.resolve(out ?? MODEL);
  const old = existsSync(MODEL) ? readFileSync(MODEL) : Buffer.alloc(0);
  await runTrainer(work, ['--model', file]);
  const isSame = readFileSync(file).equals(old);
  console.log(
    isSame ? 'The model is the one in the tree, byte for byte.' : 'The model is another than the one in the tree.',
  );
  if (!isSame && !check) console.log('Is it better? npm run quality and node test/quality/cross-validate.mjs tell.');
  return check && !isSame ? 1 : 0;
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const missing = whyNoTraining();
  if (missing !== null) {
    console.error(`SKIPPED: ${missing}`);
    return 0;
  }
  await buildSources();
  const work = options.work ?? mkdtempSync(path.join(os.tmpdir(), 'troupe-train-'));
  try {
    if (!options.contradictions) return await train(options, work);
    await listContradictions(work, options.report);
    return 0;
  } finally {
    if (options.work === undefined) rmSync(work, { recursive: true, force: true });
  }
}

process.exitCode = await main();
