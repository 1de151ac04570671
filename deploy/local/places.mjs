/** Where things are: the workspace, the cache of downloads, the data folder of a cluster. */
import { createHash } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Home of this user, told by HOME or the system; empty where neither knows one. */
export function homeDir() {
  try {
    return process.env.HOME || os.userInfo().homedir;
  } catch {
    return '';
  }
}

/** @param {string} dir */
function canWrite(dir) {
  try {
    accessSync(dir, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Downloads that several clusters share. `TROUPE_CACHE_DIR`, else the user's cache folder, else one of this workspace. */
export function cacheDir() {
  if (process.env.TROUPE_CACHE_DIR) return path.resolve(process.env.TROUPE_CACHE_DIR);
  if (process.env.XDG_CACHE_HOME) return path.join(process.env.XDG_CACHE_HOME, 'troupe');
  return canWrite(homeDir()) ? path.join(homeDir(), '.cache/troupe') : path.join(root, '.troupe/cache');
}

/**
 * The folders of one cluster.
 *
 * @param {string} [dir] relative to where the command was given, not to the workspace
 */
export function dataFolders(dir = process.env.TROUPE_DATA_DIR || path.join(root, '.troupe')) {
  const data = path.resolve(dir);
  return {
    data,
    run: path.join(data, 'run'),
    logs: path.join(data, 'logs'),
    nats: path.join(data, 'nats'),
    postgres: path.join(data, 'postgres'),
    secrets: path.join(data, 'secrets.json'),
    clusterFile: path.join(data, 'run/cluster.json'),
    lockFile: path.join(data, 'run/launcher.lock'),
  };
}

/** Short stable name of a path, for a folder that stands in for it elsewhere. @param {string} text */
export function shortHash(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
