/** Postgres refuses to run as root: whom to run it as, and where that user can reach files. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { say } from '../say.mjs';

/** Folder of this product for data of the unprivileged user when root's own folders are closed to it. */
const OPEN_PLACE = '/var/lib/troupe';

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
 * The stand-in of a closed folder. Its name is noted in the folder itself: when that is removed, the next start begins
 * afresh as one expects, and does not meet old data.
 *
 * @param {string} wished
 */
function placeElsewhere(wished) {
  const note = path.join(wished, 'kept-elsewhere');
  if (existsSync(note)) return readFileSync(note, 'utf8').trim();
  const place = path.join(OPEN_PLACE, `data-${randomBytes(6).toString('hex')}`);
  writeFileSync(note, `${place}\n`);
  return place;
}

/**
 * A folder that the owner can enter and write: the wished one, else one in a place that is open to it.
 *
 * @param {string} wished
 * @param {Owner | undefined} owner
 */
export function ownedFolder(wished, owner) {
  mkdirSync(wished, { recursive: true, mode: 0o700 });
  if (owner === undefined) return wished;
  giveAway(wished, owner);
  if (can(wished, owner, '-x')) return wished;
  const open = placeElsewhere(wished);
  say(`the user "${owner.name}" cannot enter ${wished}; Postgres keeps its data in ${open}`);
  mkdirSync(open, { recursive: true, mode: 0o700 });
  chmodSync(OPEN_PLACE, 0o755);
  giveAway(open, owner);
  return open;
}

/**
 * A folder of programs that the owner can run: the given one, else a copy in a place that is open to it.
 *
 * @param {string} dir
 * @param {string} program relative to `dir`
 * @param {string} version part of the copy's name
 * @param {Owner | undefined} owner
 */
export function runnableFolder(dir, program, version, owner) {
  if (can(path.join(dir, program), owner, '-x')) return dir;
  const copy = path.join(OPEN_PLACE, `postgres-${version}`);
  if (!existsSync(path.join(copy, program))) {
    say(`copying Postgres to ${copy}, where the user "${owner?.name}" can run it`);
    mkdirSync(OPEN_PLACE, { recursive: true });
    cpSync(dir, copy, { recursive: true, verbatimSymlinks: true });
    chmodSync(OPEN_PLACE, 0o755);
  }
  return copy;
}
