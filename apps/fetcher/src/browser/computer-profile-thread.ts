import { Worker } from 'node:worker_threads';
import type { ComputerProfiles } from './computer-profile.js';

const KILL_MS = 20_000;

/** Profiles to choose from, made once in a thread of their own. None when that fails: a page can do without. */
export function readProfiles(): Promise<ComputerProfiles> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('./computer-profile.worker.js', import.meta.url));
    const timer = setTimeout(() => void worker.terminate(), KILL_MS);
    worker.once('message', resolve);
    // The `exit` event follows every error.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      clearTimeout(timer);
      resolve({ desktop: [], phone: [] });
    });
  });
}
