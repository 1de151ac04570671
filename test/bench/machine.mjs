/**
 * CPU of the whole machine from one moment to another, without that of the site and of the bench itself.
 *
 * Processes that nobody reaps, as those that a browser leaves behind, are in no tree and in no parent's account: only the
 * machine's own count has them. It has everything else as well, hence the idle machine is measured first and taken off.
 */
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineBusyS, readProcesses, treeCpuS } from './proc.mjs';

const IDLE_MS = 5_000;
/** Share of the machine that an idle one may use before figures of CPU mean nothing. */
export const MAX_IDLE_SHARE = 0.05;

/**
 * @typedef {object} Look
 * @property {number} atMs
 * @property {number} busyS of the whole machine since it booted
 * @property {number} siteS
 * @property {number} benchS
 */

/** @param {number} sitePid @param {import('./proc.mjs').ProcessTable} [table] @returns {Look} */
export function lookAtMachine(sitePid, table = readProcesses()) {
  const { user, system } = process.cpuUsage();
  return {
    atMs: performance.now(),
    busyS: machineBusyS(),
    siteS: treeCpuS(table, sitePid),
    benchS: (user + system) / 1e6,
  };
}

/** What the site, the bench and all others used in between. @param {Look} from @param {Look} to */
export function cpuBetween(from, to) {
  const siteS = Math.max(0, to.siteS - from.siteS);
  const benchS = to.benchS - from.benchS;
  return { siteS, benchS, othersS: to.busyS - from.busyS - siteS - benchS, machineS: machineSeconds(from, to) };
}

/**
 * CPU seconds of all others above what the idle machine uses.
 * @param {Look} from @param {Look} to @param {number} idleShare 0 … 1
 */
export function cpuAboveIdleS(from, to, idleShare) {
  const { othersS, machineS } = cpuBetween(from, to);
  return Math.max(0, othersS - idleShare * machineS);
}

/** Share of the machine, 0 … 1, that others use while nothing is measured. @param {number} sitePid @param {number} [forMs] */
export async function measureIdle(sitePid, forMs = IDLE_MS) {
  const from = lookAtMachine(sitePid);
  await sleep(forMs);
  const { othersS, machineS } = cpuBetween(from, lookAtMachine(sitePid));
  return Math.max(0, othersS / machineS);
}

/** CPU seconds that the machine had. @param {Look} from @param {Look} to */
function machineSeconds(from, to) {
  return ((to.atMs - from.atMs) / 1000) * os.cpus().length;
}
