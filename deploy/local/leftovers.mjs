import { startTimeOf, readRecord } from './records.mjs';
import { say } from './say.mjs';

const GRACE_MS = 10_000;

/** @param {number} pid @param {NodeJS.Signals} signal */
function signal(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    return;
  }
}

/**
 * Ends processes that an earlier launcher left behind when it and a guard were killed together. A process counts only when its
 * start time is the recorded one, so a reused process id is safe.
 *
 * @param {string} clusterFile
 */
export async function endLeftovers(clusterFile) {
  const recorded = readRecord(clusterFile)?.processes ?? [];
  const isAlive = (/** @type {any} */ entry) =>
    entry.pid > 0 && entry.birth !== null && startTimeOf(entry.pid) === entry.birth;
  const left = recorded.filter(isAlive);
  for (const entry of left) {
    say(`${entry.name} of an earlier start still runs (pid ${entry.pid}); stopping it`);
    signal(entry.pid, entry.name === 'postgres' ? 'SIGINT' : 'SIGTERM');
  }
  const deadlineMs = performance.now() + GRACE_MS;
  while (left.some(isAlive) && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const entry of left.filter(isAlive)) signal(entry.pid, 'SIGKILL');
}
