/**
 * A test double of a disk, put under a service by `node --import`: what was written below `LOSSY_DIR` really is there, and beside it,
 * in `DURABLE_DIR`, is kept what a disk would still hold when the power fails at this moment: bytes that were synced, under
 * names whose folders were synced since. Nothing else survives, as POSIX allows.
 */
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  existsSync,
} from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

/** Entries of a folder by name. */
type Names = Record<string, { inode: number; isFolder: boolean }>;

const lossy = process.env.LOSSY_DIR;
const durable = process.env.DURABLE_DIR;

if (lossy !== undefined && durable !== undefined) watch(lossy, durable);

function watch(root: string, kept: string): void {
  mkdirSync(path.join(kept, 'bytes'), { recursive: true });
  mkdirSync(path.join(kept, 'names'), { recursive: true });
  const open = promises.open.bind(promises);
  promises.open = async (...args: Parameters<typeof open>): Promise<FileHandle> => {
    const handle = await open(...args);
    const place = path.resolve(String(args[0]));
    if (place !== root && !place.startsWith(root + path.sep)) return handle;
    const { ino } = await handle.stat();
    // The number of a file that is gone may be given to a new one.
    if (typeof args[1] === 'string' && /^[wa]/.test(args[1]))
      rmSync(path.join(kept, 'bytes', String(ino)), { force: true });
    return watched(handle, () => keep(kept, place));
  };
  syncBuiltinESMExports();
}

/** Both kinds of sync make the bytes, or the names, of what is open outlive the power. */
function watched(handle: FileHandle, onSynced: () => void): FileHandle {
  for (const name of ['sync', 'datasync'] as const) {
    const sync = handle[name].bind(handle);
    handle[name] = async () => {
      await sync();
      onSynced();
    };
  }
  return handle;
}

function keep(kept: string, place: string): void {
  const { ino } = statSync(place);
  if (statSync(place).isDirectory()) replace(path.join(kept, 'names', String(ino)), JSON.stringify(namesIn(place)));
  else copyFileSync(place, path.join(kept, 'bytes', String(ino)));
}

function namesIn(folder: string): Names {
  const names: Names = {};
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const stat = statSync(path.join(folder, entry.name), { throwIfNoEntry: false });
    if (stat !== undefined) names[entry.name] = { inode: stat.ino, isFolder: stat.isDirectory() };
  }
  return names;
}

function replace(file: string, text: string): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
}

/** Puts what survived of `folder` in its place below `target`. A name without synced bytes is an empty file. */
export function restoreSurvivors(folder: string, kept: string, target: string, name: string): void {
  const names = readNames(kept, statSync(folder).ino);
  const found = names[name];
  if (found !== undefined) restore(kept, found, path.join(target, name));
}

function restore(kept: string, { inode, isFolder }: Names[string], target: string): void {
  const bytes = path.join(kept, 'bytes', String(inode));
  if (!isFolder && existsSync(bytes)) return linkSync(bytes, target);
  if (!isFolder) return writeFileSync(target, '');
  mkdirSync(target, { recursive: true });
  for (const [name, entry] of Object.entries(readNames(kept, inode))) restore(kept, entry, path.join(target, name));
}

function readNames(kept: string, inode: number): Names {
  const file = path.join(kept, 'names', String(inode));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Names) : {};
}
