/** Short texts around a page's title and elsewhere, where bylines and dates stand that no markup names. */
import { F, TEXT, flagsOf } from '../tags.js';
import type { Tree } from '../tree.js';

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
const BYLINE_STARTS: ReadonlySet<number> = new Set(
  'au ve re wr te vo po by pa do pr'.split(' ').map((start) => (start.charCodeAt(0) << 8) | start.charCodeAt(1)),
);
const ZERO = 48;
const ONE = 49;
const TWO = 50;
const NINE = 57;
const AMPERSAND = 38;
const LAST_LATIN = 0x2af;
const WHITE_SPACE = /\s+/g;

/** @param heading node of the title's heading, -1 when there is none. */
export function readSurroundings(tree: Tree, heading: number): Surroundings {
  const texts = heading < 0 ? [] : textsAround(tree, heading);
  const bylines: string[] = [];
  texts.forEach(({ text }, i) => {
    if (bylines.length >= MAX_BYLINES || !BYLINE.test(text)) return;
    const isBare = ONLY_PREFIX.test(text) && text.split(' ').length <= 2;
    bylines.push(isBare ? `${text} ${texts[i + 1]?.text ?? ''}` : text);
  });
  const dated = texts.filter(({ text }) => /\d/.test(text)).sort((a, b) => a.distance - b.distance);
  return { dated: dated.slice(0, MAX_TEXTS).map(({ text }) => text), bylines };
}

function textsAround(tree: Tree, heading: number): { text: string; distance: number }[] {
  const found: { text: string; distance: number }[] = [];
  const last = Math.min(tree.end[heading]! + NODES_AFTER, tree.count);
  for (let i = Math.max(1, heading - NODES_BEFORE); i < last; i++) {
    if (i >= heading && i < tree.end[heading]!) continue;
    const text = visibleText(tree, i, MAX_CHARS);
    if (text !== '') found.push({ text, distance: i < heading ? 2 * (heading - i) : i - heading });
  }
  return found;
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

/** Whether the digits 19 or 20 stand in the beginning of a text node, before any text is made. */
function hasYear(tree: Tree, node: number): boolean {
  const { source } = tree;
  for (let i = tree.from[node]!, to = Math.min(tree.to[node]!, i + MAX_DATE_CHARS * 3) - 1; i < to; i++) {
    const c = source.charCodeAt(i);
    if ((c === ONE && source.charCodeAt(i + 1) === NINE) || (c === TWO && source.charCodeAt(i + 1) === ZERO))
      return true;
  }
  return false;
}

/** Looks at the first two letters only. */
function mayBeByline(tree: Tree, node: number): boolean {
  const { source } = tree;
  for (let i = tree.from[node]!, to = Math.min(tree.to[node]!, i + MAX_CHARS * 3); i < to; i++) {
    const c = source.charCodeAt(i);
    if (c > LAST_LATIN) return true;
    if (c === AMPERSAND && source.startsWith('&nbsp;', i)) i += 5;
    else if ((c | 32) >= 97 && (c | 32) <= 122)
      return BYLINE_STARTS.has(((c | 32) << 8) | (source.charCodeAt(i + 1) | 32));
  }
  return false;
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
  const text = tree.text(node).replace(WHITE_SPACE, ' ').trim();
  return text.length > maxChars ? '' : text;
}
