/** Patterns of users run in RE2: linear time whatever they write. */
import { TroupeError } from '@troupe/contracts';
import { RE2JS } from 're2js';

const MAX_PATTERN_CHARS = 2000;
const LOOK_AROUND = /\(\?(?:[=!]|<[=!])/;
const BACK_REFERENCE = /\\(?:[1-9]|k<)/;

/** Error text for a pattern that cannot be used, null for a good one. */
export function checkPattern(pattern: string): string | null {
  if (pattern.length > MAX_PATTERN_CHARS) return `Pattern is longer than ${MAX_PATTERN_CHARS} characters`;
  try {
    RE2JS.compile(pattern);
    return null;
  } catch (error) {
    return `Invalid regular expression: ${explain(pattern, error)}`;
  }
}

/** Thrown with `details.path` = [field, index], as the request validation reports it. */
export function compilePatterns(field: 'includePaths' | 'excludePaths', patterns: string[]): RE2JS[] {
  return patterns.map((pattern, index) => {
    const problem = checkPattern(pattern);
    if (problem === null) return RE2JS.compile(pattern);
    throw new TroupeError('BAD_REQUEST', problem, { details: { path: [field, index], message: problem } });
  });
}

function explain(pattern: string, error: unknown): string {
  if (LOOK_AROUND.test(pattern)) return 'look-around is not supported (RE2 syntax)';
  if (BACK_REFERENCE.test(pattern)) return 'back-references are not supported (RE2 syntax)';
  return error instanceof Error ? error.message : String(error);
}
