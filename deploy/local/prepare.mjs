/** Makes the workspace runnable: packages installed, sources compiled. A stamp tells when there is nothing to do. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StartFailure } from './failure.mjs';
import { npmCall } from './npm.mjs';
import { root } from './places.mjs';
import { say } from './say.mjs';

const INSTALL_STAMP = path.join(root, 'node_modules/.troupe-stamp');
const BUILD_STAMP = path.join(root, 'dist/.troupe-stamp');

/** @param {string} file */
function readOr(file, otherwise = '') {
  return existsSync(file) ? readFileSync(file, 'utf8') : otherwise;
}

/**
 * Runs a command with its output on standard error.
 *
 * @param {string} command
 * @param {string[]} args
 * @param {{ errorsOnly?: boolean }} [options] `errorsOnly`: what it writes to its standard output is dropped
 * @returns {Promise<number>} exit code
 */
export function run(command, args, { errorsOnly = false } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', errorsOnly ? 'ignore' : 2, 2] });
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

function lockHash() {
  const lock = readFileSync(path.join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(`${process.platform} ${process.arch}`).digest('hex');
}

/** True when node_modules holds every required package in the version of the lock file. */
function isInstalledByHand() {
  const hidden = path.join(root, 'node_modules/.package-lock.json');
  if (!existsSync(hidden)) return false;
  const wanted = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(hidden, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([name, entry]) => name === '' || entry.optional || entry.devOptional || present[name]?.version === entry.version,
  );
}

export async function installPackages() {
  const stamp = lockHash();
  if (readOr(INSTALL_STAMP) === stamp) return;
  if (!isInstalledByHand()) {
    say('installing packages (npm ci) …');
    const { command, args } = npmCall(['ci', '--loglevel=error', '--no-update-notifier']);
    const code = await run(command, args, { errorsOnly: true });
    if (code !== 0) {
      throw new StartFailure(
        `npm ci failed (exit code ${code}); its own message stands above. Check the network or the registry that npm uses ` +
          '(npm config get registry), then try again.',
      );
    }
  }
  writeFileSync(INSTALL_STAMP, stamp);
}

/** @param {string} dir @returns {string[]} */
function listSources(dir) {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) return entry.name === 'files' && dir.includes('sites') ? [] : listSources(full);
    return /\.(?:ts|txt)$/.test(entry.name) ? [full] : [];
  });
}

/** Changes when a source is added, removed, renamed or written. */
function sourceStamp() {
  const hash = createHash('sha256').update(lockHash());
  const sources = ['apps', 'libs', 'test'].flatMap((dir) => listSources(path.join(root, dir)));
  for (const file of [...sources.sort(), path.join(root, 'tsconfig.json'), path.join(root, 'deploy/local/build.mjs')]) {
    const { mtimeMs, size } = statSync(file);
    hash.update(`${path.relative(root, file)} ${mtimeMs} ${size}\n`);
  }
  return hash.digest('hex');
}

export async function buildSources() {
  const stamp = sourceStamp();
  if (readOr(BUILD_STAMP) === stamp) return;
  say('building (tsc) …');
  const startedMs = performance.now();
  const code = await run(process.execPath, [path.join(root, 'deploy/local/build.mjs')]);
  if (code !== 0) throw new StartFailure('The build failed; the messages of the compiler stand above.');
  mkdirSync(path.dirname(BUILD_STAMP), { recursive: true });
  writeFileSync(BUILD_STAMP, stamp);
  say(`built in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
}
