import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { say } from '../say.mjs';

function isDebianRoot() {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  return /^ID(_LIKE)?=.*(debian|ubuntu)/m.test(
    existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '',
  );
}

/** Runs apt-get and shows its output when it fails. @param {string[]} args @returns {Promise<boolean>} */
function aptGet(args) {
  const quick = ['-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=15'];
  return new Promise((resolve) => {
    const child = spawn('apt-get', ['-y', '-qq', ...quick, ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
    child.once('error', () => resolve(false));
    child.once('close', (code) => {
      if (code !== 0) process.stderr.write(said);
      resolve(code === 0);
    });
  });
}

/** In the lists that were fetched before; false where this user may install nothing. @param {string} name */
export function knowsPackage(name) {
  if (!isDebianRoot()) return false;
  return spawnSync('apt-cache', ['show', name], { stdio: 'ignore' }).status === 0;
}

/** Debian starts a server of its own for every Postgres it installs, unless told so before. */
function forbidMainCluster() {
  const file = '/etc/postgresql-common/createcluster.conf';
  if (existsSync(file)) return;
  mkdirSync('/etc/postgresql-common', { recursive: true });
  writeFileSync(file, 'create_main_cluster = false\n');
}

/**
 * Installs distribution packages, on Debian and Ubuntu as root only.
 *
 * @param {string[]} packages
 * @param {string} what in words
 * @param {{ listsAreNew?: boolean }} [options] `listsAreNew`: they need not be fetched again
 * @returns {Promise<boolean>}
 */
export async function installWithApt(packages, what, { listsAreNew = false } = {}) {
  if (!isDebianRoot()) return false;
  say(`installing ${what} with apt-get (${packages.join(' ')}) …`);
  if (packages.includes('postgresql')) forbidMainCluster();
  const install = ['install', '--no-install-recommends', '-o', 'Dpkg::Options::=--force-confold', ...packages];
  if ((listsAreNew || (await aptGet(['update']))) && (await aptGet(install))) return true;
  say(`apt-get could not install ${what}`);
  return false;
}
