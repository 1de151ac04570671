/** What is done to the processes of a cluster, and when: drawn from a seed, so that a failure can be had again. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '@troupe/actors';
import type { TestCluster } from '../support/cluster.js';
import { commitHash } from '../simulation/seeds.js';

export interface Blow {
  atMs: number;
  victim: string;
  /** How long the process stands still; null: it is killed. */
  stillMs: number | null;
}

export interface SchedulePlan {
  victims: readonly string[];
  totalMs: number;
  /** From one blow to the next. */
  everyMs: [number, number];
  stillMs: [number, number];
}

/** Of the blows, those that are a standstill. */
const STILL_SHARE = 0.35;

/** `TROUPE_CHAOS_SEED`, else one that the commit chooses; without a repository another one each time. */
export function chaosSeed(): number {
  const text = process.env.TROUPE_CHAOS_SEED ?? '';
  if (text === '')
    return createHash('sha256')
      .update(commitHash() ?? randomBytes(32))
      .digest()
      .readUInt32BE(0);
  if (!/^\d{1,10}$/.test(text) || Number(text) >= 2 ** 32)
    throw new Error(`TROUPE_CHAOS_SEED is a whole number below 4294967296, not ${text}`);
  return Number(text);
}

/** Everybody is hit once before anybody is hit again. */
export function drawSchedule(seed: number, { victims, totalMs, everyMs, stillMs }: SchedulePlan): Blow[] {
  const random = new Random(seed);
  const between = ([from, to]: [number, number]): number => random.int(from, to);
  const blows: Blow[] = [];
  let left: string[] = [];
  for (let atMs = between(everyMs); atMs < totalMs; atMs += between(everyMs)) {
    if (left.length === 0) left = [...victims];
    const [victim] = left.splice(random.int(0, left.length - 1), 1);
    blows.push({ atMs, victim: victim!, stillMs: random.chance(STILL_SHARE) ? between(stillMs) : null });
  }
  return blows;
}

/**
 * Carries blows of a schedule out that began at `startedAt` (`performance.now()`); resolves when everybody that stood still has
 * been woken. A process that is being restarted at its time is passed over.
 *
 * @param say hears of every blow
 */
export async function carryOut(
  { cluster, startedAt }: { cluster: TestCluster; startedAt: number },
  blows: readonly Blow[],
  say: (text: string) => void,
): Promise<void> {
  const standstills: Promise<void>[] = [];
  for (const { atMs, victim, stillMs } of blows) {
    await sleep(Math.max(0, startedAt + atMs - performance.now()));
    const { pid } = (await cluster.processes()).find(({ name }) => name === victim)!;
    if (pid === null) say(`${atMs} ms: ${victim} is being restarted`);
    else if (stillMs === null) {
      say(`${atMs} ms: kill -9 ${victim}`);
      signal(pid, 'SIGKILL');
    } else {
      say(`${atMs} ms: ${victim} stands still for ${stillMs} ms`);
      standstills.push(standStill(pid, stillMs));
    }
  }
  await Promise.all(standstills);
}

/** With its children: Postgres works in processes of its own for each connection. */
async function standStill(pid: number, forMs: number): Promise<void> {
  const pids = [pid, ...childrenOf(pid)];
  for (const each of pids) signal(each, 'SIGSTOP');
  await sleep(forMs);
  for (const each of pids) signal(each, 'SIGCONT');
}

function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** It may have been killed while it stood still. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
