/** Processors that this process may use, and how busy they are: by the limit of its control group (Linux, version 2) and by the machine. */
import { readFileSync } from 'node:fs';
import os from 'node:os';

const GROUPS = '/sys/fs/cgroup';

/**
 * Number of usable processors; a limit may allow a part of one. @param groups where the kernel shows control groups
 */
export function usableProcessors(groups = GROUPS): number {
  return Math.min(os.availableParallelism(), readLimit(groups) ?? Infinity);
}

/** Share of the processors in use since it was asked last: of the machine or of what the limit allows, the larger one; 1: all of it. */
export function loadReader(groups = GROUPS): () => number {
  let last = readTimes(groups);
  return () => {
    const now = readTimes(groups);
    const since = last;
    last = now;
    const all = now.busyMs - since.busyMs + now.idleMs - since.idleMs;
    const ofMachine = all > 0 ? (now.busyMs - since.busyMs) / all : 0;
    if (now.limit === null || now.ownMs === null || since.ownMs === null || now.atMs <= since.atMs) return ofMachine;
    return Math.max(ofMachine, (now.ownMs - since.ownMs) / (now.atMs - since.atMs) / now.limit);
  };
}

interface Times {
  atMs: number;
  /** Busy time of all processors of the machine together. */
  busyMs: number;
  idleMs: number;
  /** Processors that the control group may use; null: as many as there are. */
  limit: number | null;
  /** Processor time that the control group used. */
  ownMs: number | null;
}

function readTimes(groups: string): Times {
  let busyMs = 0;
  let idleMs = 0;
  for (const { times } of os.cpus()) {
    busyMs += times.user + times.nice + times.sys + times.irq;
    idleMs += times.idle;
  }
  const limit = readLimit(groups);
  return { atMs: performance.now(), busyMs, idleMs, limit, ownMs: limit === null ? null : readOwnMs(groups) };
}

/** `max 100000`, or the time that may be used of a period, both in microseconds. */
function readLimit(groups: string): number | null {
  const [most = '', period = ''] = (readOfGroup(groups, 'cpu.max') ?? '').trim().split(' ');
  const limit = Number(most) / Number(period);
  return Number.isFinite(limit) && limit > 0 ? limit : null;
}

function readOwnMs(groups: string): number | null {
  const used = /^usage_usec (\d+)$/m.exec(readOfGroup(groups, 'cpu.stat') ?? '');
  return used === null ? null : Number(used[1]) / 1000;
}

/** Reads a file of this process's control group. In a container its group is the root of the visible groups. */
function readOfGroup(groups: string, file: string): string | null {
  const own = /^0::(\/.*)$/m.exec(readText('/proc/self/cgroup') ?? '')?.[1] ?? '/';
  return readText(`${groups}${own}/${file}`) ?? readText(`${groups}/${file}`);
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
