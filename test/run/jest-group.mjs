/** One run of jest. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataFolders, root } from '../../deploy/local/places.mjs';
import { addUp } from './report.mjs';

/** The end of what a group wrote is kept. */
const MAX_OUTPUT = 2_000_000;
const CLUSTER_END_MS = 60_000;
/** Lines of jest that say nothing when it runs many times. */
const NOISE = /^(Ran all test suites|Test results written to|Snapshots: |Test Suites: .* passed, .* total$)/;

/** Result of a run that told nothing. */
const LOST = { tally: { passed: 0, failed: 1, skipped: 0, ok: false }, files: [] };

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();

let isStopping = false;

/** Ends what runs; what has not begun fails at once. */
export function stopRuns() {
  isStopping = true;
  for (const child of running) child.kill('SIGTERM');
}

/**
 * @param {import('./groups.mjs').SpecGroup} group
 * @param {object} how
 * @param {string[]} how.flags of the caller
 * @param {NodeJS.ProcessEnv} how.env
 * @param {string} how.work folder of the run
 * @param {boolean} how.live whether its output is shown as it comes, or in one piece at its end
 * @returns {Promise<Omit<import('./report.mjs').GroupResult, 'startMs'>>}
 */
export async function runGroup(group, { flags, env, work, live }) {
  if (isStopping) return { group, wallMs: 0, cpuS: null, ...LOST };
  const folder = path.join(work, group.name.replaceAll(/[^\w.-]+/g, '-'));
  mkdirSync(folder);
  const [output, cost] = [path.join(folder, 'jest.json'), path.join(folder, 'cpu')];
  const startedMs = performance.now();
  const child = spawn(process.execPath, jestArguments(group, flags, output), {
    cwd: root,
    env: { ...env, TROUPE_TEST_COST: cost, ...(group.shares ? { TROUPE_TEST_SHARED: folder } : {}) },
    stdio: ['ignore', 'ignore', live ? 'inherit' : 'pipe'],
  });
  running.add(child);
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (piece) => (text = (text + piece).slice(-MAX_OUTPUT)));
  const code = await new Promise((resolve) => child.once('close', resolve));
  running.delete(child);
  if (group.shares) await untilGone(dataFolders(path.join(folder, 'data')).lockFile);
  if (!live) process.stderr.write(tidy(text));
  return {
    group,
    wallMs: performance.now() - startedMs,
    cpuS: group.shares ? null : readCost(cost),
    ...readResults(output, code === 0),
  };
}

/** @param {import('./groups.mjs').SpecGroup} group @param {string[]} flags @param {string} output */
function jestArguments(group, flags, output) {
  return [
    // Four threads of V8 would wait for one another on few cores.
    ...['--v8-pool-size=1', '--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    path.join(root, 'node_modules/jest/bin/jest.js'),
    ...['--reporters=default', `--reporters=${path.join(root, 'test/run/cost-reporter.mjs')}`],
    ...['--verbose=false', '--json', `--outputFile=${output}`],
    ...[...group.flags, ...flags, '--runTestsByPath', ...group.specs],
  ];
}

/** A shared cluster ends by itself, some time after its last user. @param {string} lockFile of its launcher */
async function untilGone(lockFile) {
  const deadlineMs = performance.now() + CLUSTER_END_MS;
  while (existsSync(lockFile) && performance.now() < deadlineMs) await sleep(100);
}

/** @param {string} file @returns {number | null} */
function readCost(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** @param {string} file @param {boolean} ok @returns {Pick<import('./report.mjs').GroupResult, 'tally' | 'files'>} */
function readResults(file, ok) {
  let result;
  try {
    result = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return LOST;
  }
  const files = result.testResults.map(readFile);
  const tally = addUp(files.map((/** @type {import('./report.mjs').FileResult} */ { tally }) => tally));
  return { tally: { ...tally, ok: ok && tally.ok }, files };
}

/** @param {any} result of jest @returns {import('./report.mjs').FileResult} */
function readFile({ name, status, startTime, endTime, message, assertionResults }) {
  const count = (/** @type {string[]} */ ...kinds) =>
    assertionResults.filter((/** @type {any} */ test) => kinds.includes(test.status)).length;
  // A spec file that could not even be loaded has no failed test to count.
  const failed = status === 'failed' ? Math.max(1, count('failed')) : count('failed');
  const tally = { passed: count('passed'), failed, skipped: count('pending', 'todo'), ok: failed === 0 };
  const failures = failed === 0 ? [] : failuresOf(message, assertionResults);
  return { spec: name, ms: endTime - startTime, tally, failures };
}

/** @param {string} message of a file that could not be loaded @param {any[]} tests @returns {string[]} */
function failuresOf(message, tests) {
  const failed = tests.filter(({ status }) => status === 'failed');
  const texts = failed.map(({ fullName, failureMessages }) => `${fullName}\n${failureMessages.join('\n')}`);
  return texts.length > 0 ? texts : [message];
}

/** @param {string} text */
function tidy(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !NOISE.test(line));
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}
