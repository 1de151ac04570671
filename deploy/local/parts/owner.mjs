/** Postgres refuses to run as root. This file chooses the user that runs it, and folders that this user can reach. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { say } from '../say.mjs';

/** Folder of this product for programs of the unprivileged user when root's own folders are closed to it. */
const OPEN_PLACE = '/var/lib/troupe';
/** Descriptor of an opened folder that a program of the unprivileged user is given. */
const DOOR = 5;

/** @typedef {{ uid: number, gid: number, name: string }} Owner */

/** @param {string} name @returns {Owner | undefined} */
function findUser(name) {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  if (line === undefined) return undefined;
  const [, , uid, gid] = line.split(':');
  return { uid: Number(uid), gid: Number(gid), name };
}

/** @returns {Owner} */
function createUser() {
  const ways = [
    ['useradd', '--system', '--no-create-home', '--shell', '/usr/sbin/nologin', 'troupe'],
    ['adduser', '-S', '-D', '-H', 'troupe'],
  ];
  for (const [command, ...args] of ways) {
    if (spawnSync(command, args, { stdio: 'ignore' }).status !== 0) continue;
    const user = findUser('troupe');
    if (user === undefined) continue;
    say('created the system user "troupe" to run Postgres, which refuses to run as root');
    return user;
  }
  throw new StartFailure(
    'Postgres refuses to run as root, and no user "troupe" could be created. Create one (useradd --system troupe), start as an ' +
      'ordinary user, or set DATABASE_URL.',
  );
}

/** @returns {Owner | undefined} undefined when this process is not root and no other user is needed */
export function chooseOwner() {
  if (process.getuid?.() !== 0) return undefined;
  return findUser('troupe') ?? findUser('postgres') ?? createUser();
}

/** @param {string} dir @param {Owner | undefined} owner @param {string} test of `test`: `-x`, `-w` */
function can(dir, owner, test) {
  if (owner === undefined) return true;
  return (
    spawnSync('/bin/sh', ['-c', 'test "$1" "$2"', 'sh', test, dir], { uid: owner.uid, gid: owner.gid, cwd: '/' })
      .status === 0
  );
}

/** @param {string} dir @param {Owner} owner */
function giveAway(dir, owner) {
  lchownSync(dir, owner.uid, owner.gid);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) giveAway(full, owner);
    else lchownSync(full, owner.uid, owner.gid);
  }
}

/**
 * Moves data that an earlier version kept outside of the data folder to where it belongs.
 *
 * @param {string} dir
 */
function bringHome(dir) {
  const note = path.join(dir, 'kept-elsewhere');
  if (!existsSync(note)) return;
  const away = path.join(readFileSync(note, 'utf8').trim(), 'data');
  if (existsSync(away) && !existsSync(path.join(dir, 'data'))) {
    const draft = path.join(dir, 'moving');
    rmSync(draft, { recursive: true, force: true });
    cpSync(away, draft, { recursive: true, verbatimSymlinks: true });
    renameSync(draft, path.join(dir, 'data'));
    rmSync(path.dirname(away), { recursive: true });
  }
  rmSync(note);
}

/**
 * @typedef {object} OwnedFolder
 * @property {string} dir as the launcher names it
 * @property {string} seen as programs of the owner name it
 * @property {string | null} door what they must be started with (`withOpenFolder`) to find it by that name
 */

/**
 * A folder that the owner can enter and write. Where folders above are closed to the owner, as below root's home, programs
 * get the folder itself, opened, as descriptor `DOOR`: through it they need no right on what lies above.
 *
 * @param {string} dir
 * @param {Owner | undefined} owner
 * @returns {OwnedFolder}
 */
export function ownedFolder(dir, owner) {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (owner === undefined) return { dir, seen: dir, door: null };
  bringHome(dir);
  giveAway(dir, owner);
  if (can(dir, owner, '-x')) return { dir, seen: dir, door: null };
  if (!existsSync('/proc/self/fd'))
    throw new StartFailure(
      `Postgres refuses to run as root, and the user "${owner.name}" cannot enter ${dir}. Set TROUPE_DATA_DIR to a folder that ` +
        'every user may enter, or DATABASE_URL.',
    );
  return { dir, seen: `/proc/self/fd/${DOOR}`, door: dir };
}

/**
 * Starts a program with the door of an owned folder as its descriptor `DOOR`.
 *
 * @template T
 * @param {string | null} door
 * @param {('ignore' | 'pipe' | number)[]} stdio of the descriptors before it
 * @param {(stdio: ('ignore' | 'pipe' | number)[]) => T} start
 * @returns {T}
 */
export function withOpenFolder(door, stdio, start) {
  if (door === null) return start(stdio);
  const folder = openSync(door, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const between = Array.from({ length: DOOR - stdio.length }, () => /** @type {const} */ ('ignore'));
    return start([...stdio, ...between, folder]);
  } finally {
    closeSync(folder);
  }
}

/** Makes files readable for every user, and runnable where they were. @param {string} dir */
function openToAll(dir) {
  chmodSync(dir, 0o755);
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const full = path.join(dir, entry.name);
    if (entry.isDirectory()) openToAll(full);
    else if (entry.isFile()) chmodSync(full, (statSync(full).mode & 0o111) === 0 ? 0o644 : 0o755);
  }
}

/**
 * A folder of programs that the owner can run: the given one, else a copy in a place that is open to every user.
 *
 * @param {string} dir
 * @param {string} program relative to `dir`
 * @param {string} version part of the copy's name
 * @param {Owner | undefined} owner
 */
export function runnableFolder(dir, program, version, owner) {
  if (can(path.join(dir, program), owner, '-x')) return dir;
  const copy = path.join(OPEN_PLACE, `postgres-${version}`);
  if (!existsSync(copy)) copyForAll(dir, copy, owner);
  return copy;
}

/** @param {string} dir @param {string} copy @param {Owner | undefined} owner */
function copyForAll(dir, copy, owner) {
  say(`copying Postgres to ${copy}, where the user "${owner?.name}" can run it`);
  try {
    mkdirSync(OPEN_PLACE, { recursive: true });
    chmodSync(OPEN_PLACE, 0o755);
    const draft = mkdtempSync(`${copy}.new-`);
    cpSync(dir, draft, { recursive: true, verbatimSymlinks: true });
    openToAll(draft);
    if (existsSync(copy)) rmSync(draft, { recursive: true });
    else renameSync(draft, copy);
  } catch (error) {
    throw new StartFailure(
      `Postgres could not be copied to ${OPEN_PLACE}: ${error instanceof Error ? error.message : error}. Make room there, put the ` +
        'workspace into a folder that every user may enter, or set DATABASE_URL.',
    );
  }
}
