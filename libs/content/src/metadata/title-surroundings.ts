/** Short texts around a page's title and elsewhere, where bylines and dates stand that no markup names. */
import { F, flagsOf, TEXT, type Tree } from '@troupe/html';
import { collapsed, isSpace } from './white-space.js';

export interface Surroundings {
  /** Texts with digits, nearest first. */
  readonly dated: readonly string[];
  /** Texts that begin as a byline does, document order. */
  readonly bylines: readonly string[];
}

const NODES_BEFORE = 40;
const NODES_AFTER = 120;
const MAX_CHARS = 160;
const MAX_TEXTS = 12;
const MAX_BYLINES = 8;
const MAX_DATE_CHARS = 40;
const BYLINE =
  /^(?:(?:written|posted|published|reviewed|words|text|verfasst|geschrieben|publié|écrit|escrito|scritto|geschreven)\s)?(?:by|von|par|por|di|door|av|af|przez|autor(?:in|a)?|author|auteur|autore|автор|yazan|text|words|foto|作者|文|撰文|記者|著者)(?:\s?[:：]\s?|\s|$)/i;
const LABELLED =
  /^(?:autor(?:in|en)?|verfasser(?:in)?|redaktion|redakteur(?:in)?|author|written by|auteur|autore|autora?|text|von|posted by|автор|责任编辑|作者|撰文|記者)\s{0,3}[:：]|^posted by\s/i;
const WHOLE_BYLINE = /^(?:by|von|par|por|door|przez)\s\p{Lu}[\p{L}'’.-]{1,20}(?:\s[\p{L}'’.-]{1,20}){1,3}$/iu;
const DATE_LIKE = /\d{1,2}.{1,20}(?:19|20)\d{2}|(?:19|20)\d{2}.{1,3}\d{1,2}/;
const LEADING = /^[\s\-–—|•·:/]{1,40}/;
const ONLY_PREFIX = /^[\p{L}\s]{2,20}[:：]?$/u;
/** First two letters of the words that bylines begin with. */
const STARTS = startsOf('wr po pu re wo te ve ge es sc by vo pa do di av af pr au ya fo');
/** Those words, as far as they tell them from most others. */
const FIRST_WORD =
  /aut|verfass|reda[kc]|geschr|writt|posted|publi|review|escrito|scritto|przez|yazan|(?:text|words|foto|by|von|par|por|di|door|av|af)(?![a-z])/iy;
/** First characters of bylines that are no ASCII letters, and that of an entity. */
const OTHER_STARTS = '&аАéÉ作责撰記文著';
/** ASCII characters that may stand before a byline: white space and the marks of lists. */
const IS_LEADING = new Uint8Array(128);
for (const c of ' \t\n\v\f\r-|:/') IS_LEADING[c.charCodeAt(0)] = 1;
const OTHER_LEADING = '–—•·';
const ZERO = 48;
const ONE = 49;
const TWO = 50;
const NINE = 57;
const AMPERSAND = 38;
const NO_BREAK_SPACE = '&nbsp;';
const DIGIT = /\d/;
const LAST_ASCII = 127;
const SHORTEST_DATE = 6;
const YEAR_DIGITS = 4;

function startsOf(list: string): Uint8Array {
  const starts = new Uint8Array(26 * 26);
  for (const start of list.split(' ')) starts[startAt(start, 0)] = 1;
  return starts;
}

/** Index of two ASCII letters at a place, -1 when there are none. */
function startAt(source: string, at: number): number {
  const first = (source.charCodeAt(at) | 32) - 97;
  const second = (source.charCodeAt(at + 1) | 32) - 97;
  return first >= 0 && first < 26 && second >= 0 && second < 26 ? first * 26 + second : -1;
}

/** @param heading node of the title's heading, -1 when there is none. */
export function readSurroundings(tree: Tree, heading: number): Surroundings {
  if (heading < 0) return { dated: [], bylines: [] };
  const last = Math.min(tree.end[heading]! + NODES_AFTER, tree.count);
  return { dated: datedAround(tree, heading, last), bylines: bylinesAround(tree, heading, last) };
}

/** Nodes before the heading are twice as far as those after it begins. */
function datedAround(tree: Tree, heading: number, last: number): string[] {
  const texts: string[] = [];
  const first = Math.max(1, heading - NODES_BEFORE);
  let before = heading - 1;
  let after = tree.end[heading]!;
  while ((before >= first || after < last) && texts.length < MAX_TEXTS) {
    const isBefore = before >= first && (after >= last || 2 * (heading - before) <= after - heading);
    const node = isBefore ? before-- : after++;
    if (!mayHoldDigit(tree, node)) continue;
    const text = visibleText(tree, node, MAX_CHARS);
    if (DIGIT.test(text)) texts.push(text);
  }
  return texts;
}

/** Whether a text node, as written, is not too long and may hold a digit. */
function mayHoldDigit({ tag, source, from, to }: Tree, node: number): boolean {
  if (tag[node] !== TEXT) return false;
  const length = to[node]! - from[node]!;
  return length <= MAX_CHARS * 3 && DIGIT.test(source.slice(from[node], to[node]));
}

function bylinesAround(tree: Tree, heading: number, last: number): string[] {
  const bylines: string[] = [];
  const end = tree.end[heading]!;
  let node = Math.max(1, heading - NODES_BEFORE);
  for (; node < last && bylines.length < MAX_BYLINES; node = node + 1 === heading ? end : node + 1)
    if (tree.tag[node] === TEXT && mayBeByline(tree.source, tree.from[node]!, tree.to[node]!))
      addByline(bylines, tree, node, heading, last);
  return bylines;
}

function addByline(bylines: string[], tree: Tree, node: number, heading: number, last: number): void {
  const text = visibleText(tree, node, MAX_CHARS);
  if (!BYLINE.test(text)) return;
  const isBare = ONLY_PREFIX.test(text) && text.split(' ').length <= 2;
  bylines.push(isBare ? `${text} ${nextAround(tree, node, heading, last)}` : text);
}

/** First text after a node and before `last`, those of the heading left out. */
function nextAround(tree: Tree, node: number, heading: number, last: number): string {
  for (let i = node + 1; i < last; i++) {
    const text = i >= heading && i < tree.end[heading]! ? '' : visibleText(tree, i, MAX_CHARS);
    if (text !== '') return text;
  }
  return '';
}

/** Short texts that hold something like a date, whole page, document order. */
export function datesAnywhere(tree: Tree): string[] {
  const { tag, source, from, to } = tree;
  const dates: string[] = [];
  for (let i = 1; i < tree.count && dates.length < MAX_TEXTS; i++) {
    if (tag[i] !== TEXT || !hasYear(source, from[i]!, to[i]!)) continue;
    const text = visibleText(tree, i, MAX_DATE_CHARS);
    if (DATE_LIKE.test(text)) dates.push(text);
  }
  return dates;
}

export interface Bylines {
  /** Texts that name an author after a colon or `posted by`. */
  readonly labelled: readonly string[];
  /** Texts that are a byline and nothing else. */
  readonly whole: readonly string[];
}

/** Bylines of the whole page, document order. */
export function bylinesAnywhere(tree: Tree): Bylines {
  const { tag, source, from, to } = tree;
  const labelled: string[] = [];
  const whole: string[] = [];
  for (let i = 1; i < tree.count; i++) {
    if (tag[i] !== TEXT || !mayBeByline(source, from[i]!, to[i]!)) continue;
    const text = visibleText(tree, i, MAX_CHARS).replace(LEADING, '');
    if (text === '') continue;
    if (whole.length < MAX_BYLINES && WHOLE_BYLINE.test(text)) whole.push(text);
    if (labelled.length >= MAX_BYLINES || !LABELLED.test(text)) continue;
    labelled.push(ONLY_PREFIX.test(text) ? `${text} ${nextText(tree, i)}` : text);
  }
  return { labelled, whole };
}

/** Whether a year stands in a range that is no longer than a date, before any text is made. */
function hasYear(source: string, first: number, end: number): boolean {
  const length = end - first;
  if (length < SHORTEST_DATE || length > MAX_DATE_CHARS * 3) return false;
  for (let i = first + YEAR_DIGITS - 1; i < end; i += YEAR_DIGITS) {
    if (isDigit(source.charCodeAt(i)) && isInYear(source, i)) return true;
  }
  return false;
}

/** Whether a digit is one of the four of a year. */
function isInYear(source: string, at: number): boolean {
  for (let i = at - YEAR_DIGITS + 1; i <= at; i++) {
    const c = source.charCodeAt(i);
    if (c !== ONE && c !== TWO) continue;
    const isCentury = source.charCodeAt(i + 1) === (c === ONE ? NINE : ZERO);
    if (isCentury && isDigit(source.charCodeAt(i + 2)) && isDigit(source.charCodeAt(i + 3))) return true;
  }
  return false;
}

function isDigit(c: number): boolean {
  return c >= ZERO && c <= NINE;
}

/** Whether a range is short enough and begins as a byline may, marks of lists aside, before any text is made. */
function mayBeByline(source: string, first: number, end: number): boolean {
  if (end - first > MAX_CHARS * 3) return false;
  let at = first;
  while (at < end && isLeading(source, at)) at += source.charCodeAt(at) === AMPERSAND ? NO_BREAK_SPACE.length : 1;
  if (at >= end) return false;
  const c = source.charCodeAt(at);
  if (c === AMPERSAND || c > LAST_ASCII) return OTHER_STARTS.includes(source[at]!);
  if (STARTS[startAt(source, at)] !== 1) return false;
  FIRST_WORD.lastIndex = at;
  return FIRST_WORD.test(source);
}

function isLeading(source: string, at: number): boolean {
  const c = source.charCodeAt(at);
  if (c > LAST_ASCII) return isSpace(c) || OTHER_LEADING.includes(source[at]!);
  return IS_LEADING[c] === 1 || (c === AMPERSAND && source.startsWith(NO_BREAK_SPACE, at));
}

function nextText(tree: Tree, node: number): string {
  for (let i = node + 1, to = Math.min(tree.count, node + 8); i < to; i++) {
    const text = visibleText(tree, i, MAX_CHARS);
    if (text !== '') return text;
  }
  return '';
}

/** Text of a text node that is shown, white space collapsed; '' when it is longer than `maxChars`. */
function visibleText(tree: Tree, node: number, maxChars: number): string {
  if (tree.tag[node] !== TEXT || flagsOf(tree.tag[tree.parent[node]!]!) & F.invisible) return '';
  if (tree.to[node]! - tree.from[node]! > maxChars * 3) return '';
  const text = collapsed(tree.text(node));
  return text.length > maxChars ? '' : text;
}
