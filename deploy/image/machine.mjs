/** What the proof needs of the machine: rights, programs, a clean root of Debian with Node. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { installWithApt } from '../local/parts/apt.mjs';
import { say } from '../local/say.mjs';

const IN_ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), 'in-root.sh');
/** What a container has of its own. */
const SPACES = ['--mount', '--pid', '--fork', '--kill-child', '--ipc', '--uts'];
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TOOLS = ['unshare', 'nsenter', 'pivot_root', 'debootstrap', 'npm', 'tar'];
const MIRROR = 'http://deb.debian.org/debian';
/** Where the machine's own packages come from; a mirror that is configured there is used. */
const SOURCES = '/etc/apt/sources.list.d/debian.sources';

/** Thrown when the proof cannot be made on this machine. */
export class CannotProve extends Error {}

/** @throws CannotProve with what is missing */
export async function checkMachine() {
  if (process.platform !== 'linux') throw new CannotProve('only Linux has the namespaces that are needed');
  if (process.getuid?.() !== 0) throw new CannotProve('only root may make a root file system: run it with sudo');
  if (!isThere('debootstrap')) await installWithApt(['debootstrap'], 'debootstrap');
  const missing = TOOLS.filter((tool) => !isThere(tool));
  if (missing.length > 0) throw new CannotProve(`${missing.join(', ')} cannot be found`);
  const probe = spawnSync('unshare', ['--mount', '--pid', '--fork', '--ipc', '--uts', 'true'], { encoding: 'utf8' });
  if (probe.status !== 0) throw new CannotProve(`namespaces are not permitted here: ${probe.stderr.trim()}`);
}

/** @param {string} program */
function isThere(program) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => existsSync(path.join(folder, program)));
}

/** Rejects when it fails; its output goes to standard error. @param {string} command @param {string[]} args @param {import('node:child_process').SpawnOptions} [options] */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 2, 2], ...options });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0
        ? resolve(undefined)
        : reject(new Error(`${command} ${args.join(' ').slice(0, 200)}: ended with ${code ?? signal}`)),
    );
  });
}

/** `RUN` of a build: as root, in a writable root, with what the machine needs to reach its registries. @param {string} root @param {string} text @param {Record<string, string>} env @param {string} cwd */
export async function runInBuild(root, text, env, cwd) {
  const caFile = process.env.NODE_EXTRA_CA_CERTS ?? '';
  const registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim();
  const network = {
    ...pick(process.env, ['http_proxy', 'https_proxy', 'no_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']),
    ...(caFile === '' ? {} : { NODE_EXTRA_CA_CERTS: '/dev/ca.crt' }),
    npm_config_registry: registry,
  };
  const own = { PATH: DEFAULT_PATH, HOME: '/root', DEBIAN_FRONTEND: 'noninteractive', ...network, ...env };
  const words = Object.entries(own).map(([name, value]) => `${name}=${value}`);
  const command = ['env', '-i', ...words, '/bin/sh', '-c', `mkdir -p "$0" && cd "$0" && ${text}`, cwd];
  await run('unshare', [...SPACES, 'sh', IN_ROOT, 'build', root, ...command], {
    env: { ...process.env, CA_FILE: caFile },
  });
}

/** The command of a container. @param {string} root @param {string} data @param {{ user: string, env: Record<string, string>, cwd: string, command: string[] }} what */
export function containerCommand(root, data, what) {
  return ['unshare', ...SPACES, 'sh', IN_ROOT, 'run', root, data, ...asProcess(what)];
}

/** Joins a running container. @param {number} pid of its first process @param {Parameters<typeof containerCommand>[2]} what */
export function joinCommand(pid, what) {
  return ['nsenter', `--target=${pid}`, '--mount', '--pid', '--ipc', '--uts', '--', ...asProcess(what)];
}

/** @param {Parameters<typeof containerCommand>[2]} what */
function asProcess({ user, env, cwd, command }) {
  return [...asUser(user), 'env', '-i', `--chdir=${cwd}`, ...pairs(env), ...command];
}

/** As a restricted pod: no capability, and none to be had. @param {string} user `uid:gid` */
function asUser(user) {
  const [uid, gid = uid] = user.split(':');
  return [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set=-all',
    '--inh-caps=-all',
    '--',
  ];
}

/** @param {Record<string, string>} env */
const pairs = (env) => Object.entries({ PATH: DEFAULT_PATH, ...env }).map(([name, value]) => `${name}=${value}`);

/** @param {NodeJS.ProcessEnv} env @param {string[]} names @returns {Record<string, string>} */
function pick(env, names) {
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/**
 * A root as the official image `node:<version>-<suite>-slim` has it: Debian's smallest system and Node in /usr/local, from the
 * packages `node-linux-<arch>` and `npm` of npm. Made once per version.
 *
 * @param {string} image @param {string} cache folder
 */
export async function baseRoot(image, cache) {
  const [, version, suite] = /^node:(\d+\.\d+\.\d+)-([a-z]+)-slim(?:@sha256:[0-9a-f]{64})?$/.exec(image) ?? [];
  if (version === undefined || suite === undefined)
    throw new CannotProve(`${image} is not node:<version>-<Debian's name>-slim, of which a root can be made here`);
  const root = path.join(cache, `base-${version}-${suite}`);
  if (existsSync(root)) return root;
  say(`making the root of ${image} from Debian's packages …`);
  const draft = `${root}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  await run('debootstrap', ['--variant=minbase', suite, draft, mirror()]);
  for (const left of ['var/lib/apt/lists', 'var/cache/apt/archives'])
    rmSync(path.join(draft, left), { recursive: true, force: true });
  if (existsSync(SOURCES) && readFileSync(SOURCES, 'utf8').includes(suite)) {
    cpSync(SOURCES, path.join(draft, 'etc/apt/sources.list.d/debian.sources'));
    rmSync(path.join(draft, 'etc/apt/sources.list'), { force: true });
  }
  for (const name of proxyFiles())
    cpSync(path.join('/etc/apt/apt.conf.d', name), path.join(draft, 'etc/apt/apt.conf.d', name));
  for (const name of ['resolv.conf', 'hosts']) writeFileSync(path.join(draft, 'etc', name), '', { flag: 'a' });
  await addNode(draft, version);
  renameSync(draft, root);
  return root;
}

function mirror() {
  const sources = existsSync(SOURCES) ? readFileSync(SOURCES, 'utf8') : '';
  return /^URIs:\s*(\S+)/m.exec(sources)?.[1] ?? MIRROR;
}

function proxyFiles() {
  const folder = '/etc/apt/apt.conf.d';
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.includes('proxy')) : [];
}

/** @param {string} root @param {string} version */
async function addNode(root, version) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-node-'));
  const npmMajor = Number(version.split('.')[0]) >= 24 ? 11 : 10;
  try {
    const node = await unpackFromNpm(work, `node-linux-${process.arch}@${version}`);
    cpSync(path.join(node, 'bin/node'), path.join(root, 'usr/local/bin/node'));
    const npm = await unpackFromNpm(work, `npm@${npmMajor}`);
    cpSync(npm, path.join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, path.join(root, 'usr/local/bin', name));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {string} work @param {string} what @returns {Promise<string>} folder of the package */
async function unpackFromNpm(work, what) {
  const folder = path.join(work, what.replaceAll(/\W+/g, '-'));
  mkdirSync(folder);
  await run('npm', ['pack', '--silent', '--pack-destination', folder, what], { cwd: work });
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack ${what} left no archive`);
  await run('tar', ['-xzf', path.join(folder, archive), '-C', folder]);
  return path.join(folder, 'package');
}

/** @param {unknown} what */
export function hashOf(what) {
  return createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 16);
}
