/** Limits of a browser's open pages and memory, and how its program is started. */
import os from 'node:os';
import { usableProcessors } from './processors.js';

export { CHROMIUM_ARGS, findBrowsers, NO_BROWSER, type Browsers } from '@troupe/chromium';

const BYTES_PER_PAGE = 200 * 1024 * 1024;

/** Pages open at once. */
export interface BrowserConcurrency {
  /** Pages open at once, however busy the processors are. */
  least: number;
  /** Pages open at once while processors are idle. */
  concurrency: number;
}

/** `BROWSER_CONCURRENCY`, or one page a core and up to two, as far as half of the memory carries them. */
export function browserConcurrency(configured: number): BrowserConcurrency {
  if (configured > 0) return { least: configured, concurrency: configured };
  const cores = Math.max(1, Math.round(usableProcessors()));
  const concurrency = Math.max(1, Math.min(cores * 2, Math.floor(usableMemory() / 2 / BYTES_PER_PAGE)));
  return { least: Math.min(cores, concurrency), concurrency };
}

/**
 * Memory that a browser may hold before it is replaced: the estimate for its pages, and some for itself. Browsers of
 * all programs together get half of the machine.
 */
export function browserMemoryBytes(concurrency: number, programs: number): number {
  return Math.min(Math.max(4, concurrency) * BYTES_PER_PAGE * 1.5, browsersMemoryBytes() / programs);
}

/** Memory that all browsers may hold together before only the least number of pages is shown. */
export function browsersMemoryBytes(): number {
  return usableMemory() / 2;
}

/** Memory of the container where it has a limit, else of the machine. */
function usableMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem();
}
