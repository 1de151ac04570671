import type { ScopeRuleFactory } from './rule.js';

const MAX_REPEATS = 4;
/** Longest repeated sequence that is looked for, in segments. It keeps the check linear in the URL. */
const MAX_PERIOD = 16;

/** Rule `trap`: one sequence of path segments four times in a row, as broken relative links produce without end. */
export const trapRule: ScopeRuleFactory =
  () =>
  ({ pathname }) =>
    isPathTrap(pathname) ? 'trap' : null;

export function isPathTrap(pathname: string): boolean {
  if (!hasSegments(pathname, MAX_REPEATS)) return false;
  const segments = pathname.split('/').slice(1);
  const longest = Math.min(MAX_PERIOD, Math.floor(segments.length / MAX_REPEATS));
  for (let period = 1; period <= longest; period++) {
    if (hasRepeats(segments, period)) return true;
  }
  return false;
}

function hasSegments(pathname: string, count: number): boolean {
  let at = -1;
  for (let found = 0; found < count; found++) {
    at = pathname.indexOf('/', at + 1);
    if (at < 0) return false;
  }
  return true;
}

function hasRepeats(segments: string[], period: number): boolean {
  let run = 0;
  for (let i = period; i < segments.length; i++) {
    run = segments[i] === segments[i - period] ? run + 1 : 0;
    if (run >= (MAX_REPEATS - 1) * period) return true;
  }
  return false;
}
