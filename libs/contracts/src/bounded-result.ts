/** Bounds of what a worker may tell a job about a page: those of the columns that keep it. */
import type { PageResult } from './messages/actor.js';

const INT16 = 32_767;
const INT32 = 2_147_483_647;

const MOST = { statusCode: INT16, credits: INT16, attempt: INT16, depth: INT32, bytes: INT32, ms: INT32 } as const;
const LONGEST = { url: 65_536, finalUrl: 65_536, rule: 65_536, message: 16_384, blob: 1_024 } as const;

/** Why a result cannot be kept, null for one that can. */
export function breachOf(page: PageResult): string | null {
  for (const [name, most] of Object.entries(MOST)) {
    const value = page[name as keyof typeof MOST];
    if (!(Number.isFinite(value) && value >= 0 && value <= most)) return `${name} is ${value}, of at most ${most}`;
  }
  for (const [name, longest] of Object.entries(LONGEST)) {
    const text = page[name as keyof typeof LONGEST];
    if (text !== null && text.length > longest) return `${name} has ${text.length} characters, of at most ${longest}`;
  }
  return null;
}

/** The result itself, or a failure with `RESULT_OUT_OF_RANGE` that can be kept in its place. */
export function boundedResult(page: PageResult): PageResult {
  const breach = breachOf(page);
  if (breach === null) return page;
  return {
    ...page,
    outcome: 'failed',
    rule: 'RESULT_OUT_OF_RANGE',
    message: `The result of the page cannot be kept: ${breach}`,
    url: page.url.slice(0, LONGEST.url),
    finalUrl: page.url.slice(0, LONGEST.url),
    finalH: null,
    retryable: false,
    retryAfterMs: null,
    statusCode: within(page.statusCode, MOST.statusCode),
    depth: within(page.depth, MOST.depth),
    attempt: within(page.attempt, MOST.attempt),
    ms: within(page.ms, MOST.ms),
    credits: 0,
    bytes: 0,
    inline: null,
    blob: null,
    outlinks: [],
    excluded: null,
  };
}

function within(value: number, most: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.min(most, Math.round(value))) : 0;
}
