import { getPriority, setPriority } from 'node:os';

/** Steps of niceness: where both want to run, the loop gets two fifths of a thread's time. */
const STEPS = 4;
const NICEST = 19;

/**
 * The event loop, which only feeds the conversion threads, gives way to them: where processors are scarce it interrupts
 * them less often and does more at each turn (docs/adr/0038). Threads keep the priority with which they have begun, and
 * programs that are started later get that of the loop.
 *
 * Nothing happens where the system knows priorities of whole processes only.
 */
export function giveWayToThreads(): void {
  if (process.platform !== 'linux') return;
  // This sets the main thread's priority alone: on Linux its number is that of the process.
  setPriority(process.pid, Math.min(NICEST, getPriority(process.pid) + STEPS));
}
