/**
 * Cost of compiling a pattern, as far as its text tells: some patterns of a few instructions take seconds. The unit is
 * the time of one instruction, some 5 µs; the figures were measured, and err on the dear side.
 */

/** One Unicode class: hundreds of ranges, which are sorted again with each neighbour. */
const UNICODE_CLASS = 100;
/** One named class of ASCII: negated ones are quite large, too. */
const NAMED_CLASS = 10;
/** All but a few characters, where case does not matter. */
const FOLDED_REST = 20;
/** Where case does not matter each code point of a range is looked up: so many are one unit. */
const FOLDED_CODE_POINTS = 48;
/** No code point above this has another case. */
const LAST_FOLDED = 0x1e943;
/** Groups and repeats are gone through again for each other one: the square of their number by this. */
const OPERATOR_PAIRS = 30;

const IGNORES_CASE = /\(\?[a-zA-Z]*i/;
const ONE = String.raw`\\x\{[0-9a-fA-F]{1,8}\}|\\x[0-9a-fA-F]{2}|\\[0-7]{1,3}|\\?.`;
const RANGE = new RegExp(`(?=(${ONE})-(${ONE}))`, 'gsu');
const COUNTED = /(?<!\\[xpP])\{(\d{1,6})(?:,(\d{0,6}))?\}/g;
const OPERATORS = /[*+?(]|(?<!\\[xpP])\{/g;

export interface CostOfText {
  /** On top of the instructions. */
  classes: number;
  /** The least value of the whole cost. */
  least: number;
}

export function costBeforeCompiling(pattern: string): CostOfText {
  const operators = count(pattern, OPERATORS);
  const classes =
    UNICODE_CLASS * count(pattern, /\\[pP]/g) +
    NAMED_CLASS * count(pattern, /\[:/g) +
    Math.ceil(operators ** 2 / OPERATOR_PAIRS) +
    (IGNORES_CASE.test(pattern) ? foldedCost(pattern) : 0);
  return { classes, least: classes + repeats(pattern) };
}

/** The program holds a repeated part as often as it may be found. */
function repeats(pattern: string): number {
  let sum = 0;
  for (const [, from, to] of pattern.matchAll(COUNTED)) sum += Number(to) || Number(from);
  return sum;
}

function foldedCost(pattern: string): number {
  return FOLDED_REST * count(pattern, /\\[WDS]/g) + Math.ceil(foldedCodePoints(pattern) / FOLDED_CODE_POINTS);
}

/** In everything that looks like a range, wherever it stands. */
function foldedCodePoints(pattern: string): number {
  let sum = 0;
  for (const [, from = '', to = ''] of pattern.matchAll(RANGE)) {
    sum += Math.max(0, Math.min(codePointOf(to), LAST_FOLDED) - codePointOf(from) + 1);
  }
  return sum;
}

function codePointOf(text: string): number {
  const hex = /^\\x\{?([0-9a-fA-F]+)/.exec(text)?.[1];
  if (hex !== undefined) return Number.parseInt(hex, 16);
  const octal = /^\\([0-7]+)$/.exec(text)?.[1];
  if (octal !== undefined) return Number.parseInt(octal, 8);
  return (text.length > 1 && text.startsWith('\\') ? text.slice(1) : text).codePointAt(0) ?? 0;
}

function count(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}
