/**
 * `npm test [-- pattern …]`: sets up everything it needs, as `npm start` does, and runs all specs.
 *
 * Unit and adapter specs run side by side, specs with a whole cluster two at a time or alone. Adapter specs find a throwaway
 * Postgres and NATS in TEST_DATABASE_URL and TEST_NATS_URL, and the program of NATS in TEST_NATS_SERVER.
 */
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { EXIT, StartFailure } from '../deploy/local/failure.mjs';
import { findChromium } from '../deploy/local/parts/chromium.mjs';
import { findNatsServer } from '../deploy/local/parts/nats.mjs';
import { dataFolders, root } from '../deploy/local/places.mjs';
import { buildSources, installPackages } from '../deploy/local/prepare.mjs';
import { say } from '../deploy/local/say.mjs';
import { Cluster } from '../deploy/local/supervisor.mjs';

/** Specs that start clusters of their own. They wait more than they work, so two run at a time … */
const HEAVY = /\/test\/(e2e|chaos|contract|clients)\//;
const CLUSTERS = 2;
/** … but for those that measure times or need all of the machine. */
const ALONE = /\/test\/(chaos\/|e2e\/(politeness|browser|webhooks|watch)\.)/;
const WORKERS = Math.max(1, Math.min(4, os.availableParallelism()));

/** @param {string} dir @returns {string[]} */
function listSpecs(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : listSpecs(full);
    return entry.name.endsWith('.spec.js') ? [full] : [];
  });
}

/** @param {string[]} argv @returns {{ patterns: RegExp[], flags: string[] }} a flag and what follows it goes to jest */
function splitArguments(argv) {
  const firstFlag = argv.findIndex((arg) => arg.startsWith('-'));
  const words = firstFlag === -1 ? argv : argv.slice(0, firstFlag);
  return { patterns: words.map((word) => new RegExp(word)), flags: firstFlag === -1 ? [] : argv.slice(firstFlag) };
}

/** @typedef {{ passed: number, failed: number, skipped: number, ok: boolean }} Tally */

/** @param {string} file @param {boolean} ok @returns {Tally} */
function readTally(file, ok) {
  const result = JSON.parse(readFileSync(file, 'utf8'));
  // A spec file that could not even be loaded has no failed test to count.
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  return {
    passed: result.numPassedTests,
    failed,
    skipped: result.numPendingTests + result.numTodoTests,
    ok: ok && failed === 0,
  };
}

/** @type {import('node:child_process').ChildProcess | null} */
let jest = null;

/** @param {string[]} specs @param {string[]} flags @param {NodeJS.ProcessEnv} env @param {string} work @returns {Promise<Tally>} */
async function runJest(specs, flags, env, work) {
  if (specs.length === 0) return { passed: 0, failed: 0, skipped: 0, ok: true };
  const outputFile = path.join(work, `jest-${specs.length}-${Date.now()}.json`);
  const program = path.join(root, 'node_modules/jest/bin/jest.js');
  const nodeFlags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const args = [...nodeFlags, program, '--json', `--outputFile=${outputFile}`, ...flags, '--runTestsByPath', ...specs];
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] });
  jest = child;
  const code = await new Promise((resolve) => child.once('exit', resolve));
  jest = null;
  try {
    return readTally(outputFile, code === 0);
  } catch {
    return { passed: 0, failed: 1, skipped: 0, ok: false };
  }
}

/** @param {string} work */
async function startParts(work) {
  const folders = dataFolders(path.join(work, 'parts'));
  return new Cluster({ folders, services: [], onLine: () => undefined, logFormat: 'json' });
}

/** @param {Tally[]} tallies @returns {Tally} */
function addUp(tallies) {
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ key) =>
    tallies.reduce((total, tally) => total + tally[key], 0);
  return {
    passed: sum('passed'),
    failed: sum('failed'),
    skipped: sum('skipped'),
    ok: tallies.every((tally) => tally.ok),
  };
}

/** @param {string[]} argv @param {string} work @param {{ cluster: Cluster | null }} held */
async function runTests(argv, work, held) {
  const { patterns, flags } = splitArguments(argv);
  await installPackages();
  await buildSources();
  const all = listSpecs(path.join(root, 'dist'));
  const wanted = all.filter(
    (spec) => patterns.length === 0 || patterns.some((pattern) => pattern.test(path.relative(root, spec))),
  );
  if (wanted.length === 0) throw new StartFailure(`No spec matches ${argv.join(' ')}.`, EXIT.usage);
  say('starting a throwaway Postgres and NATS …');
  delete process.env.DATABASE_URL;
  delete process.env.NATS_URL;
  held.cluster = await startParts(work);
  await held.cluster.start();
  const chromium = await findChromium();
  const env = {
    ...process.env,
    ...(chromium === null ? {} : { CHROMIUM_PATH: chromium }),
    TEST_DATABASE_URL: held.cluster.addresses.postgres,
    TEST_NATS_URL: held.cluster.addresses.nats,
    TEST_NATS_SERVER: await findNatsServer(),
  };
  const light = wanted.filter((spec) => !HEAVY.test(spec));
  const heavy = wanted.filter((spec) => HEAVY.test(spec) && !ALONE.test(spec));
  const alone = wanted.filter((spec) => ALONE.test(spec));
  const sideBySide = [`--maxWorkers=${WORKERS}`, '--workerIdleMemoryLimit=512MB'];
  return addUp([
    await runJest(light, [...sideBySide, ...flags], env, work),
    await runJest(heavy, [`--maxWorkers=${CLUSTERS}`, ...flags], env, work),
    await runJest(alone, ['--runInBand', ...flags], env, work),
  ]);
}

async function main() {
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-test-'));
  chmodSync(work, 0o755); // as root, Postgres runs as another user that must get in
  const held = { cluster: /** @type {Cluster | null} */ (null) };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest?.kill('SIGTERM'));
  try {
    const tally = await runTests(process.argv.slice(2), work, held);
    if (process.env.TROUPE_TEST_TALLY) writeFileSync(process.env.TROUPE_TEST_TALLY, JSON.stringify(tally));
    say(`tests: ${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
    return tally.ok ? 0 : 1;
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    say(error.message);
    return error.exitCode;
  } finally {
    await held.cluster?.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

process.exit(await main());
