/** Disk, open files and memory that the machine, or the container, lets a process have. */
import { findBrowsers } from '@troupe/chromium';
import { readFile, statfs } from 'node:fs/promises';
import os from 'node:os';
import { failure, fine, skipped, warning, type Finding } from '../finding.js';
import type { Installation } from '../installation.js';
import { existingParent } from './folders.js';

const GB = 1_000_000_000;
const MIB = 1024 * 1024;

export interface Space {
  freeBytes: number;
  sizeBytes: number;
  /** Number of files (inodes) that can still be made; null where the file system does not count them. */
  freeFiles: { free: number; all: number } | null;
}

export async function checkDisk({ config }: Installation): Promise<Finding[]> {
  const folders = { 'disk (data)': config.troupeDataDir, 'disk (temporary files)': os.tmpdir() };
  return Promise.all(
    Object.entries(folders).map(async ([about, folder]) => judgeSpace(about, folder, await readSpace(folder))),
  );
}

async function readSpace(folder: string): Promise<Space> {
  const { bavail, blocks, bsize, files, ffree } = await statfs(await existingParent(folder));
  return {
    freeBytes: bavail * bsize,
    sizeBytes: blocks * bsize,
    freeFiles: files === 0 ? null : { free: ffree, all: files },
  };
}

export function judgeSpace(about: string, folder: string, { freeBytes, sizeBytes, freeFiles }: Space): Finding {
  const found = `${folder}: ${(freeBytes / GB).toFixed(1)} of ${(sizeBytes / GB).toFixed(1)} GB free`;
  const mend = 'Make room or the volume larger; RESULT_TTL_HOURS and CACHE_MAX_MB say how much is kept.';
  if (freeBytes < 0.2 * GB) return failure(about, found, mend);
  if (freeFiles !== null && freeFiles.free < 0.02 * freeFiles.all) {
    const inodes = `${found}, ${freeFiles.free} of ${freeFiles.all} inodes`;
    return warning(about, inodes, 'Remove small files, or make the file system with more inodes.');
  }
  if (freeBytes < 2 * GB || freeBytes < 0.05 * sizeBytes) return warning(about, found, mend);
  return fine(about, found);
}

export async function checkOpenFiles(): Promise<Finding[]> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => null);
  const soft = text === null ? undefined : /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (soft === undefined) return [skipped('open files', 'this system does not tell')];
  return [judgeOpenFiles(soft === 'unlimited' ? Infinity : Number(soft))];
}

export function judgeOpenFiles(limit: number): Finding {
  const found = `${limit === Infinity ? 'any number' : limit} per process`;
  const mend = 'Raise it: ulimit -n 65536, LimitNOFILE= of the unit, or --ulimit nofile of the container.';
  if (limit < 512) return failure('open files', found, mend);
  return limit < 4096 ? warning('open files', found, mend) : fine('open files', found);
}

export async function checkMemory({ config }: Installation): Promise<Finding[]> {
  const limit = process.constrainedMemory();
  const isLimited = limit > 0 && limit < os.totalmem();
  const memory = judgeMemory(isLimited ? limit : os.totalmem(), isLimited);
  const shared = findBrowsers(config) === null ? null : await statfs('/dev/shm').catch(() => null);
  return shared === null ? [memory] : [memory, judgeShared(shared.blocks * shared.bsize)];
}

export function judgeMemory(bytes: number, isLimited: boolean): Finding {
  const found = `${Math.round(bytes / MIB)} MiB${isLimited ? ', the limit of the container' : ''}`;
  const mend =
    'Give it more: a service takes up to 512 MiB, a fetcher 768 MiB, and 200 MiB more for each page in its browser.';
  if (bytes < 256 * MIB) return failure('memory', found, mend);
  return bytes < 768 * MIB ? warning('memory', found, mend) : fine('memory', found);
}

export function judgeShared(bytes: number): Finding {
  const found = `/dev/shm has ${Math.round(bytes / MIB)} MiB`;
  if (bytes >= 256 * MIB) return fine('shared memory', found);
  const mend =
    'Large pages crash Chromium: give the container --shm-size=512m, or a pod an emptyDir with medium Memory.';
  return warning('shared memory', found, mend);
}
