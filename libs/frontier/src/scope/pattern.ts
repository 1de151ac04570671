/** Patterns of users run in RE2: in linear time, whatever they are. The cost of compiling them is bounded. */
import { TroupeError, type ScopeSpec } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { costBeforeCompiling } from './pattern-cost.js';

const MAX_PATTERN_CHARS = 2000;
/** Limit of one pattern, in instructions of its program; classes that are costly to build count as more (`pattern-cost.ts`). */
export const MAX_PATTERN_COST = 2_000;
/** Limit of all patterns of one request. */
export const MAX_PATTERNS_COST = 20_000;
/** Instructions that every program has. */
const FRAME = 2;
const LOOK_AROUND = /\(\?(?:[=!]|<[=!])/;
const BACK_REFERENCE = /\\(?:[1-9]|k<)/;

type Compiled = { pattern: RE2JS; cost: number; problem: null } | { pattern: null; cost: number; problem: string };

/** Patterns that processes keep: as many as a few hundred crawls have between them. */
const KEPT_PATTERNS = 5_000;

/**
 * States that a pattern remembers. Enough for all that people write; one with ever new states would fill
 * megabytes, and building them costs more than doing without.
 */
const STATE_BYTES = 64 * 1024;
/** Size of a pattern's remembered states, in instructions. */
const INSTRUCTIONS_OF_STATES = 100;

/** The dearest patterns count most: 130 MB at the worst. */
const compiled = new LRUCache<string, RE2JS>({
  max: KEPT_PATTERNS,
  maxSize: 100 * MAX_PATTERN_COST,
  sizeCalculation: (pattern) => INSTRUCTIONS_OF_STATES + pattern.programSize(),
});

/** Error text for a pattern that cannot be used, null for a good one. Busy for up to 50 ms with a good one, longer with others. */
export function checkPattern(pattern: string): string | null {
  return compilePattern(pattern).problem;
}

export interface PatternProblem {
  index: number;
  message: string;
}

/**
 * Faults of the patterns of one request; those after the one that breaks the budget are not looked at.
 * @param onBegin is told the index of each pattern before it is compiled
 */
export function checkPatterns(patterns: readonly string[], onBegin?: (index: number) => void): PatternProblem[] {
  const problems: PatternProblem[] = [];
  let total = 0;
  for (const [index, pattern] of patterns.entries()) {
    onBegin?.(index);
    const { problem, cost } = compilePattern(pattern);
    if (problem !== null) problems.push({ index, message: problem });
    total += cost;
    if (total <= MAX_PATTERNS_COST) continue;
    const message = `The patterns up to this one cost ${total} to compile, at most ${MAX_PATTERNS_COST} are allowed`;
    return [...problems, { index, message }];
  }
  return problems;
}

/** Thrown with `details.path` = [field, index], as the request validation reports it. Each pattern is compiled once, and kept. */
export function compilePatterns(field: 'includePaths' | 'excludePaths', patterns: string[]): RE2JS[] {
  return patterns.map((text, index) => {
    const { pattern, problem } = compilePattern(text);
    if (pattern !== null) return pattern;
    throw new TroupeError('BAD_REQUEST', problem, { details: { path: [field, index], message: problem } });
  });
}

export function hasPatterns({ includePaths, excludePaths }: ScopeSpec): boolean {
  return includePaths.length + excludePaths.length > 0;
}

/** For callers that leave matching to others: the author of the patterns decides how long it takes (docs/adr/0050). */
export function withoutPatterns(scope: ScopeSpec): ScopeSpec {
  return { ...scope, includePaths: [], excludePaths: [] };
}

/** Whether one of them is found in the text; null: there was no time left to find out. */
export function findsOne(patterns: readonly RE2JS[], text: string, isOutOfTime: () => boolean): boolean | null {
  for (const pattern of patterns) {
    if (isOutOfTime()) return null;
    if (pattern.test(text)) return true;
  }
  return false;
}

function compilePattern(text: string): Compiled {
  if (text.length > MAX_PATTERN_CHARS) return refused(`Pattern is longer than ${MAX_PATTERN_CHARS} characters`);
  const extra = costBeforeCompiling(text);
  if (extra.least > MAX_PATTERN_COST) return refused(tooCostly(extra.least));
  try {
    const pattern = compiled.get(text) ?? compileBounded(text);
    const cost = pattern.programSize() - FRAME + extra.classes;
    if (cost > MAX_PATTERN_COST) return refused(tooCostly(cost));
    compiled.set(text, pattern);
    return { pattern, cost, problem: null };
  } catch (error) {
    return refused(`Invalid regular expression: ${explain(text, error)}`);
  }
}

function compileBounded(text: string): RE2JS {
  const pattern = RE2JS.compile(text);
  const { dfa } = pattern.re2();
  dfa.stateBudget = STATE_BYTES;
  dfa.memBudget = STATE_BYTES;
  return pattern;
}

function refused(problem: string): Compiled {
  return { pattern: null, cost: 0, problem };
}

function tooCostly(cost: number): string {
  return `Pattern costs ${cost} to compile, at most ${MAX_PATTERN_COST} are allowed`;
}

function explain(pattern: string, error: unknown): string {
  if (LOOK_AROUND.test(pattern)) return 'look-around is not supported (RE2 syntax)';
  if (BACK_REFERENCE.test(pattern)) return 'back-references are not supported (RE2 syntax)';
  return error instanceof Error ? error.message : String(error);
}
