/** Short texts around a page's title and elsewhere, where bylines and dates stand that no markup names. */
import { F, TEXT, flagsOf } from '../tags.js';
import type { Tree } from '../tree.js';
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
/** Begins of a byline's first word, lower case: two letters that are no part of a longer alphabet. */
const BYLINE_STARTS = startsOf('wr po pu re wo te ve ge es sc by vo pa di do av af pr au ya fo');
/** Those of the bylines that are looked for on the whole page. */
const PLAIN_STARTS = startsOf('au ve re wr te vo po by pa do pr');
/** First words of the latter, from the letter on that they were found at. */
const PLAIN_WORD =
  /(?:aut|verfasser|reda[kc]|writt|text[\s:：&]|von[\s:：&]|posted|(?:by|par|por|door|przez)[\s&])/iy;
/** First characters of bylines that are no ASCII letters, and that of an entity. */
const OTHER_STARTS = '&аАéÉ作责撰記文著';
const LEADING_MARKS = '-–—|•·:/';
const ZERO = 48;
const ONE = 49;
const TWO = 50;
const NINE = 57;
const AMPERSAND = 38;
const LAST_ASCII = 127;
const SHORTEST_DATE = 6;

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
  const bylines: string[] = [];
  const dated: { node: number; distance: number }[] = [];
  if (heading < 0) return { dated: [], bylines };
  const end = tree.end[heading]!;
  const last = Math.min(end + NODES_AFTER, tree.count);
  for (let i = Math.max(1, heading - NODES_BEFORE); i < last; i = i + 1 === heading ? end : i + 1) {
    if (tree.tag[i] !== TEXT || tree.to[i]! - tree.from[i]! > MAX_CHARS * 3) continue;
    if (hasDigit(tree, i)) dated.push({ node: i, distance: i < heading ? 2 * (heading - i) : i - heading });
    if (bylines.length < MAX_BYLINES && mayBegin(tree, i, BYLINE_STARTS)) addByline(bylines, tree, i, heading, last);
  }
  return { dated: nearestOf(tree, dated), bylines };
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

function nearestOf(tree: Tree, found: { node: number; distance: number }[]): string[] {
  const texts: string[] = [];
  for (const { node } of found.sort((a, b) => a.distance - b.distance)) {
    const text = visibleText(tree, node, MAX_CHARS);
    if (/\d/.test(text) && texts.push(text) === MAX_TEXTS) break;
  }
  return texts;
}

function hasDigit({ source, from, to }: Tree, node: number): boolean {
  for (let i = from[node]!, end = to[node]!; i < end; i++) {
    const c = source.charCodeAt(i);
    if (c >= ZERO && c <= NINE) return true;
  }
  return false;
}

/** Short texts that hold something like a date, whole page, document order. */
export function datesAnywhere(tree: Tree): string[] {
  const dates: string[] = [];
  for (let i = 1; i < tree.count && dates.length < MAX_TEXTS; i++) {
    if (tree.tag[i] !== TEXT || !hasYear(tree, i)) continue;
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
  const labelled: string[] = [];
  const whole: string[] = [];
  for (let i = 1; i < tree.count; i++) {
    if (tree.tag[i] !== TEXT || !mayBeByline(tree, i)) continue;
    const text = visibleText(tree, i, MAX_CHARS).replace(LEADING, '');
    if (text === '') continue;
    if (whole.length < MAX_BYLINES && WHOLE_BYLINE.test(text)) whole.push(text);
    if (labelled.length >= MAX_BYLINES || !LABELLED.test(text)) continue;
    labelled.push(ONLY_PREFIX.test(text) ? `${text} ${nextText(tree, i)}` : text);
  }
  return { labelled, whole };
}

/** Whether the digits 19 or 20 stand in a text node that is no longer than a date, before any text is made. */
function hasYear({ source, from, to }: Tree, node: number): boolean {
  const end = to[node]! - 1;
  const length = end + 1 - from[node]!;
  if (length < SHORTEST_DATE || length > MAX_DATE_CHARS * 3) return false;
  for (let i = from[node]!; i < end; i++) {
    const c = source.charCodeAt(i);
    if ((c === ONE && source.charCodeAt(i + 1) === NINE) || (c === TWO && source.charCodeAt(i + 1) === ZERO))
      return true;
  }
  return false;
}

/** Whether a text node is short enough and its first word may be that of a labelled or whole byline. */
function mayBeByline(tree: Tree, node: number): boolean {
  const from = tree.from[node]!;
  const to = tree.to[node]!;
  if (to - from > MAX_CHARS * 3) return false;
  const at = firstSign(tree.source, from, to);
  if (at < 0) return false;
  const c = tree.source.charCodeAt(at);
  if (c === AMPERSAND || c > LAST_ASCII) return OTHER_STARTS.includes(tree.source[at]!);
  if (PLAIN_STARTS[startAt(tree.source, at)] !== 1) return false;
  PLAIN_WORD.lastIndex = at;
  return PLAIN_WORD.test(tree.source);
}

/** Whether a text begins with one of the starts, or with something that only its decoded form can tell. */
function mayBegin(tree: Tree, node: number, starts: Uint8Array): boolean {
  const at = firstSign(tree.source, tree.from[node]!, tree.to[node]!);
  if (at < 0) return false;
  const c = tree.source.charCodeAt(at);
  if (c === AMPERSAND || c > LAST_ASCII) return OTHER_STARTS.includes(tree.source[at]!);
  return starts[startAt(tree.source, at)] === 1;
}

/** Place of the first character that is neither white space nor a mark that lists begin with, -1 when there is none. */
function firstSign(source: string, from: number, to: number): number {
  for (let i = from; i < to; i++) {
    const c = source.charCodeAt(i);
    if (c === AMPERSAND && source.startsWith('&nbsp;', i)) i += 5;
    else if (!isSpace(c) && LEADING_MARKS.indexOf(source[i]!) < 0) return i;
  }
  return -1;
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
