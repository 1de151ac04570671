/**
 * `npm test [-- pattern …]`: sets up everything it needs, as `npm start` does, and runs all specs.
 *
 * What runs beside what is said in `run/groups.mjs`; where the time went is printed at the end. Adapter specs find a throwaway
 * Postgres and NATS in TEST_DATABASE_URL and TEST_NATS_URL, and the program of NATS in TEST_NATS_SERVER.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { EXIT, StartFailure } from '../deploy/local/failure.mjs';
import { findBrowsers } from '../deploy/local/parts/chromium.mjs';
import { findNatsServer } from '../deploy/local/parts/nats.mjs';
import { ensureNode } from '../deploy/local/parts/node.mjs';
import { dataFolders, root } from '../deploy/local/places.mjs';
import { buildSources, installPackages } from '../deploy/local/prepare.mjs';
import { say } from '../deploy/local/say.mjs';
import { Cluster } from '../deploy/local/supervisor.mjs';
import { runGroup, stopRuns } from './run/jest-group.mjs';
import { runInPlaces } from './run/places.mjs';
import { failureLines, timeTable } from './run/report.mjs';
import { flakyLine, groupOfSecondLook, pickSecondLooks, settleLooks } from './run/second-look.mjs';
import { makeGroups, PLACES } from './run/groups.mjs';

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

/** @param {string} work */
async function startParts(work) {
  const folders = dataFolders(path.join(work, 'parts'));
  return new Cluster({ folders, services: [], onLine: () => undefined, logFormat: 'json' });
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
  const env = {
    ...process.env,
    ...(await findBrowsers()),
    TEST_DATABASE_URL: held.cluster.addresses.postgres,
    TEST_NATS_URL: held.cluster.addresses.nats,
    TEST_NATS_SERVER: await findNatsServer(),
  };
  return runGroups(makeGroups(wanted), flags, env, work);
}

/** @param {import('./run/groups.mjs').SpecGroup[]} groups @param {string[]} flags @param {NodeJS.ProcessEnv} env @param {string} work */
async function runGroups(groups, flags, env, work) {
  const startedMs = performance.now();
  const run = async (/** @type {import('./run/groups.mjs').SpecGroup} */ group) => {
    const startMs = performance.now() - startedMs;
    if (groups.length > 1) say(`${group.name} …`);
    const result = await runGroup(group, { flags, env, work, live: groups.length === 1 });
    return { ...result, startMs };
  };
  const results = await runInPlaces(groups, PLACES, run);
  const looks = [];
  for (const spec of pickSecondLooks(results)) looks.push(await run(groupOfSecondLook(spec)));
  const wallMs = performance.now() - startedMs;
  for (const line of timeTable([...results, ...looks], { places: PLACES, wallMs })) say(line);
  const failures = failureLines([...results, ...looks]);
  for (const line of failures) say(line);
  return { ...settleLooks(results, looks), failures };
}

async function main() {
  await ensureNode();
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-test-'));
  chmodSync(work, 0o755); // as root, Postgres runs as another user that must get in
  const held = { cluster: /** @type {Cluster | null} */ (null) };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stopRuns());
  try {
    const tally = await runTests(process.argv.slice(2), work, held);
    if (process.env.TROUPE_TEST_TALLY) writeFileSync(process.env.TROUPE_TEST_TALLY, JSON.stringify(tally));
    say(flakyLine(tally.flaky));
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
