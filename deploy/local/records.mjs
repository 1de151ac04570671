/** Small files that must never be seen half written: secrets, ports, the cluster file, the launcher's lock. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { EXIT, StartFailure } from './failure.mjs';

/** @param {string} file @param {unknown} value readable by the owner only */
export function writeRecord(file, value) {
  mkdirSync(path.dirname(file), { recursive: true });
  const draft = draftOf(file);
  writeFileSync(draft, textOf(value), { mode: 0o600 });
  renameSync(draft, file);
}

/**
 * Whatever happens to the power, the file holds its old text or the new one; after this call, the new one. For data that cannot be
 * made again: a file system may keep the name and the length of a new file, or of one that grew, and lose the bytes.
 *
 * @param {string} file in a folder that exists; readable by its owner only
 * @param {string} text
 * @param {{ uid: number, gid: number }} [owner] else this process's
 */
export function writeDurably(file, text, owner) {
  const draft = draftOf(file);
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  if (owner) lchownSync(draft, owner.uid, owner.gid);
  renameSync(draft, file);
  syncFolder(path.dirname(file));
}

/** @param {string} file */
const draftOf = (file) => `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;

/** @param {unknown} value */
const textOf = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** Makes the names in it outlive the power. @param {string} folder */
export function syncFolder(folder) {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** @param {string} file @returns {any} null when absent or unreadable */
export function readRecord(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** A secret that was given, in the environment or in the file that it names. @param {string} name */
export function givenSecret(name) {
  const file = process.env[`${name}_FILE`];
  if (process.env[name] || !file) return process.env[name] || '';
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new StartFailure(`${name}_FILE: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * Secrets of services, each in a file of its name that its owner alone can read. @param {string} folder
 * @param {Record<string, string>} secrets
 */
export function writeSecrets(folder, secrets) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, value] of Object.entries(secrets))
    if (value !== '') writeFileSync(path.join(folder, name), value, { mode: 0o600 });
}

/**
 * @typedef {object} Secrets
 * @property {string} apiKey
 * @property {string} postgresPassword
 * @property {string} natsPassword
 */

/** Made on first start, kept for ever. @param {string} file @returns {Secrets} */
export function loadSecrets(file) {
  const stored = readRecord(file);
  const secrets = {
    apiKey: stored?.apiKey ?? `fc-${randomBytes(16).toString('hex')}`,
    postgresPassword: stored?.postgresPassword ?? randomBytes(24).toString('hex'),
    natsPassword: stored?.natsPassword ?? randomBytes(24).toString('hex'),
  };
  if (stored === null && existsSync(file))
    throw new StartFailure(`${file} is damaged. Restore it, or remove the whole data folder to start afresh.`);
  const folder = path.dirname(file);
  mkdirSync(folder, { recursive: true });
  writeDurably(file, textOf(secrets));
  // The folder may be new itself.
  syncFolder(path.dirname(folder));
  return secrets;
}

/** When a process was started, in the system's unit; null when it does not live. @param {number} pid @returns {string | null} */
export function startTimeOf(pid) {
  if (existsSync('/proc/self/stat')) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return fields[0] === 'Z' ? null : (fields[19] ?? null);
    } catch {
      return null;
    }
  }
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.status === 0 && ps.stdout.trim() !== '' ? ps.stdout.trim() : null;
}

/** The launcher that holds the data folder, if it still lives. @param {string} lockFile @returns {{ pid: number } | null} */
export function lockHolder(lockFile) {
  const lock = readRecord(lockFile);
  return lock !== null && startTimeOf(lock.pid) === lock.birth ? lock : null;
}

/** One launcher per data folder. @param {ReturnType<import('./places.mjs').dataFolders>} folders @returns {() => void} gives the folder free */
export function takeLock(folders) {
  mkdirSync(folders.run, { recursive: true });
  const draft = `${folders.lockFile}.${process.pid}`;
  writeRecord(draft, { pid: process.pid, birth: startTimeOf(process.pid) });
  try {
    for (let attempt = 0; attempt < 3; attempt++) {
      if (tryLink(draft, folders.lockFile)) return () => rmSync(folders.lockFile, { force: true });
      const holder = lockHolder(folders.lockFile);
      if (holder !== null) throw new StartFailure(describeHolder(holder.pid, folders), EXIT.alreadyRunning);
      rmSync(folders.lockFile, { force: true });
    }
    throw new StartFailure(
      `${folders.lockFile} changes hands all the time; two launchers start at once.`,
      EXIT.alreadyRunning,
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @param {string} draft @param {string} file */
function tryLink(draft, file) {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {number} pid @param {ReturnType<import('./places.mjs').dataFolders>} folders */
function describeHolder(pid, folders) {
  const url = readRecord(folders.clusterFile)?.url;
  return (
    `A cluster already runs on ${folders.data}: launcher pid ${pid}${url ? `, ${url}` : ''}. Stop it with Ctrl-C or ` +
    `"kill ${pid}", or give this one its own TROUPE_DATA_DIR and PORT.`
  );
}
