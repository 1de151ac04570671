/** Days in running text: numeric forms, and day, month name and year in the order of any of a dozen languages. */
import { monthOf } from './months.js';

export interface FoundDay {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  /** Characters of the text that it takes. */
  readonly from: number;
  readonly to: number;
}

const MAX_CHARS = 400;
const MIN_YEAR = 1990;
const MAX_YEAR = 2099;
const ASCII = /^[\x00-\x7f]*$/;
const TOKEN = /\d+|[\p{L}\p{M}]+/gu;
const NINE = 57;
const ZERO = 48;
/** The least that a day and a year need. */
const MIN_DIGITS = 3;
const COMPACT_DIGITS = 8;
const LINKING_WORDS: ReadonlySet<string> = new Set(
  'st nd rd th er ère de del of den d le el the e º ª o a г года м'.split(' '),
);
const ISO = /^\s{0,50}(\d{4})-?(\d{2})-?(\d{2})(?!\d)/;
const MONTH_FIRST_COUNTRIES = /^en(?:-(?:us|ca|ph))?$/i;

interface Reading {
  readonly monthFirst: boolean;
  /** Numbers before it are no years. */
  readonly earliest: number;
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly end: number;
  /** Value of a number of one to four digits, else -1. */
  readonly number: number;
  readonly month: number;
}

/** True when `3/4/2020` is read as March 4 in this language (`en`, `en-US`, none given). */
export function isMonthFirst(language: string | null): boolean {
  return language === null || MONTH_FIRST_COUNTRIES.test(language.replace('_', '-').slice(0, 20));
}

/** Day of a machine-readable value: `2020-03-04T…`, `20200304`; null when it is none. */
export function isoDay(value: string): string | null {
  const parts = ISO.exec(value);
  return parts === null ? null : dayOf(Number(parts[1]), Number(parts[2]), Number(parts[3]));
}

/**
 * First day that the text (its first 400 characters) names, null when it names none.
 * @param earliest year: a page is younger than the events it tells of
 */
export function findDay(text: string, monthFirst: boolean, earliest = MIN_YEAR): FoundDay | null {
  if (!mayHoldDay(text)) return null;
  const tokens = tokensOf(text.slice(0, MAX_CHARS));
  for (let i = 0; i < tokens.length; i++) {
    const found = readAt(tokens, i, text, { monthFirst, earliest });
    if (found !== null) return found;
  }
  return null;
}

/** Whether there are two numbers, or one that is a whole date, and a year among them. */
function mayHoldDay(text: string): boolean {
  let numbers = 0;
  let digits = 0;
  let longest = 0;
  for (let i = 0, run = 0, to = Math.min(text.length, MAX_CHARS); i <= to; i++) {
    const c = i < to ? text.charCodeAt(i) : 0;
    if (isDigit(c)) {
      if (run++ === 0) numbers++;
      digits++;
      if (run > longest) longest = run;
    } else run = 0;
  }
  return longest >= COMPACT_DIGITS || (numbers >= 2 && longest >= 2 && digits >= MIN_DIGITS);
}

function tokensOf(text: string): Token[] {
  if (ASCII.test(text)) return asciiTokens(text);
  const tokens: Token[] = [];
  for (const { 0: word, index } of text.matchAll(TOKEN))
    addToken(tokens, word.toLowerCase(), index, isDigit(word.charCodeAt(0)));
  return tokens;
}

function addToken(tokens: Token[], text: string, at: number, isNumber: boolean): void {
  if (!isNumber && LINKING_WORDS.has(text)) return;
  tokens.push({
    text,
    at,
    end: at + text.length,
    number: isNumber && text.length <= 4 ? Number(text) : -1,
    month: isNumber ? 0 : monthOf(text),
  });
}

function asciiTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (let i = 0; i < text.length;) {
    const at = i;
    const isNumber = isDigit(text.charCodeAt(i));
    if (isNumber) while (isDigit(text.charCodeAt(i))) i++;
    else while (isLetter(text.charCodeAt(i))) i++;
    if (i === at) i++;
    else addToken(tokens, text.slice(at, i).toLowerCase(), at, isNumber);
  }
  return tokens;
}

function isDigit(c: number): boolean {
  return c >= ZERO && c <= NINE;
}

function isLetter(c: number): boolean {
  return (c | 32) >= 97 && (c | 32) <= 122;
}

function readAt(tokens: readonly Token[], i: number, text: string, reading: Reading): FoundDay | null {
  const a = tokens[i]!;
  const b = tokens[i + 1];
  const c = tokens[i + 2];
  const eastern = readEastern(tokens, i, reading);
  if (eastern !== null) return eastern;
  if (b === undefined || c === undefined || c.at - a.at > 30) return a.text.length === 8 ? compact(a) : null;
  const found = readNamed([a, b, c], reading) ?? readNumeric([a, b, c], text, reading);
  if (found !== null) return { day: found, from: a.at, to: c.end };
  return a.text.length === 8 ? compact(a) : null;
}

/** `20200304`, alone. */
function compact(token: Token): FoundDay | null {
  const day = /^\d{8}$/.test(token.text) ? isoDay(token.text) : null;
  return day === null ? null : { day, from: token.at, to: token.end };
}

/** `2020年3月4日`, and the Korean form. */
function readEastern(tokens: readonly Token[], i: number, { earliest }: Reading): FoundDay | null {
  const y = tokens[i + 1];
  if (y === undefined || !(y.text === '年' || y.text === '년')) return null;
  const [year, , month, m, day] = tokens.slice(i, i + 5);
  if (year === undefined || month === undefined || m === undefined || day === undefined) return null;
  if (m.text !== '月' && m.text !== '월') return null;
  const found = dayOf(year.number, month.number, day.number, earliest);
  return found === null ? null : { day: found, from: year.at, to: day.end };
}

function readNamed([a, b, c]: readonly [Token, Token, Token], { earliest }: Reading): string | null {
  if (b.month > 0 && a.number > 0 && c.number > 0) {
    if (a.text.length <= 2) return dayOf(fullYear(c), b.month, a.number, earliest);
    if (a.text.length === 4 && c.text.length <= 2) return dayOf(a.number, b.month, c.number, earliest);
  }
  if (a.month > 0 && b.number > 0 && b.text.length <= 2 && c.text.length === 4)
    return dayOf(c.number, a.month, b.number, earliest);
  return null;
}

// eslint-disable-next-line complexity -- one line a form that is refused
function readNumeric(
  tokens: readonly [Token, Token, Token],
  text: string,
  { monthFirst, earliest }: Reading,
): string | null {
  const [a, b, c] = tokens;
  if (a.number < 0 || b.number < 0 || c.number < 0) return null;
  const separator = text.slice(a.end, b.at).trim();
  if (text.slice(b.end, c.at).trim() !== separator || b.at - a.end > 2 || c.at - b.end > 2) return null;
  if (separator !== '-' && separator !== '/' && separator !== '.') return null;
  if (a.text.length === 4) return c.text.length <= 2 ? dayOf(a.number, b.number, c.number, earliest) : null;
  if (a.text.length > 2 || b.text.length > 2 || (c.text.length !== 4 && c.text.length !== 2)) return null;
  const year = fullYear(c);
  const isMonthDay = b.number > 12 || (a.number <= 12 && monthFirst && separator !== '.');
  return isMonthDay ? dayOf(year, a.number, b.number, earliest) : dayOf(year, b.number, a.number, earliest);
}

function fullYear(token: Token): number {
  return token.text.length === 2 ? 2000 + token.number : token.number;
}

/** `YYYY-MM-DD` of a day that exists, else null. */
export function dayOf(year: number, month: number, day: number, earliest = MIN_YEAR): string | null {
  if (year < earliest || year > MAX_YEAR || month < 1 || month > 12 || day < 1) return null;
  if (day > 28 && day > daysIn(year, month)) return null;
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
