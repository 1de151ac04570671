/**
 * Blocks of a page: runs of text that stand together under one block element, with what their own text says.
 *
 * Block numbers follow document order, so the blocks of a subtree are a range and sums over it are differences of prefix
 * sums.
 */
import { DROP, type Mask } from './mask.js';
import { A, F, T, TEXT, flagsOf, hashName } from './tags.js';
import type { Tree } from './tree.js';
import { kindOfWord } from './words.js';

/** What stands around a node, one bit each. */
export const CONTEXT = {
  link: 1 << 0,
  bold: 1 << 1,
  p: 1 << 2,
  li: 1 << 3,
  cell: 1 << 4,
  pre: 1 << 5,
  code: 1 << 6,
  quote: 1 << 7,
  figure: 1 << 8,
  caption: 1 << 9,
  definition: 1 << 10,
  form: 1 << 11,
  button: 1 << 12,
  label: 1 << 13,
  nav: 1 << 14,
  header: 1 << 15,
  footer: 1 << 16,
  aside: 1 << 17,
  main: 1 << 18,
  article: 1 << 19,
  section: 1 << 20,
  time: 1 << 21,
  address: 1 << 22,
  details: 1 << 23,
  hidden: 1 << 24,
  dialog: 1 << 25,
  heading: 1 << 26,
  headerCell: 1 << 27,
  item: 1 << 28,
} as const;

/** Landmarks whose text is hardly ever what a page is about. */
export const CHROME = CONTEXT.nav | CONTEXT.footer | CONTEXT.aside | CONTEXT.dialog | CONTEXT.hidden;

const TAG_CONTEXT = new Int32Array(256);
const around = (bit: number, ...tags: number[]): void => {
  for (const tag of tags) TAG_CONTEXT[tag]! |= bit;
};
around(CONTEXT.link, T.a);
around(CONTEXT.bold, T.b, T.strong);
around(CONTEXT.p, T.p);
around(CONTEXT.li, T.li);
around(CONTEXT.cell, T.td, T.th);
around(CONTEXT.headerCell, T.th);
around(CONTEXT.pre, T.pre);
around(CONTEXT.code, T.code);
around(CONTEXT.quote, T.blockquote);
around(CONTEXT.figure, T.figure);
around(CONTEXT.caption, T.figcaption, T.caption);
around(CONTEXT.definition, T.dd, T.dt);
around(CONTEXT.form, T.form);
around(CONTEXT.button, T.button);
around(CONTEXT.label, T.label);
around(CONTEXT.nav, T.nav);
around(CONTEXT.header, T.header);
around(CONTEXT.footer, T.footer);
around(CONTEXT.aside, T.aside);
around(CONTEXT.main, T.main);
around(CONTEXT.article, T.article);
around(CONTEXT.section, T.section);
around(CONTEXT.time, T.time);
around(CONTEXT.address, T.address);
around(CONTEXT.details, T.details);
around(CONTEXT.dialog, T.dialog);
around(CONTEXT.heading, T.h1, T.h2, T.h3, T.h4, T.h5, T.h6);

const ROLE_CONTEXT: ReadonlyMap<string, number> = new Map([
  ['navigation', CONTEXT.nav],
  ['banner', CONTEXT.header],
  ['contentinfo', CONTEXT.footer],
  ['complementary', CONTEXT.aside],
  ['main', CONTEXT.main],
  ['article', CONTEXT.article],
  ['dialog', CONTEXT.dialog],
  ['alertdialog', CONTEXT.dialog],
  ['button', CONTEXT.button],
  ['heading', CONTEXT.heading],
  ['listitem', CONTEXT.li],
]);
const HIDDEN_STYLE = /(?:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden)/i;
const ITEMSCOPE = hashName('itemscope');
/** A text's hash, words and letters are read from its first characters. */
const MAX_HASHED_CHARS = 400;

export class Blocks {
  count = 0;
  /** Per node: `CONTEXT` bits of it and of everything around it. */
  readonly context: Int32Array;
  /** Per text node: its block, -1 for white space and what no writer shows. */
  readonly ofNode: Int32Array;
  /** Per node, one more than nodes: number of blocks that start before it. */
  readonly before: Int32Array;
  /** Per block: its first text node, and the nearest element around it that is shown as a block. */
  first: Int32Array;
  parent: Int32Array;
  /** Characters that are no white space; of them inside links, inside bold. */
  chars: Int32Array;
  linkChars: Int32Array;
  boldChars: Int32Array;
  words: Int32Array;
  /** Words of at most three letters. */
  shortWords: Int32Array;
  sentences: Int32Array;
  commas: Int32Array;
  digits: Int32Array;
  capitals: Int32Array;
  links: Int32Array;
  /** Images and controls since the block before. */
  images: Int32Array;
  controls: Int32Array;
  textNodes: Int32Array;
  hash: Int32Array;
  /** First and last character that is no white space. */
  firstChar: Uint16Array;
  lastChar: Uint16Array;
  currency: Uint8Array;
  separators: Int32Array;
  /** Words that the page's title has too. */
  titleWords: Int32Array;
  /** Kinds of the words near its begin (`TEXT_KINDS`). */
  textKinds: Int32Array;
  /** Characters of a text by kind. */
  private readonly counts = new Int32Array(CURRENCY + 1);

  constructor(tree: Tree, mask: Mask, ownText: Int32Array) {
    const { count } = tree;
    this.context = new Int32Array(count);
    this.ofNode = new Int32Array(count).fill(-1);
    this.before = new Int32Array(count + 1);
    const capacity = countTexts(tree, ownText);
    const column = (): Int32Array => new Int32Array(capacity);
    this.first = column();
    this.parent = column();
    this.chars = column();
    this.linkChars = column();
    this.boldChars = column();
    this.words = column();
    this.shortWords = column();
    this.sentences = column();
    this.commas = column();
    this.digits = column();
    this.capitals = column();
    this.links = column();
    this.images = column();
    this.controls = column();
    this.textNodes = column();
    this.hash = column();
    this.firstChar = new Uint16Array(capacity);
    this.lastChar = new Uint16Array(capacity);
    this.currency = new Uint8Array(capacity);
    this.separators = column();
    this.titleWords = column();
    this.textKinds = column();
    this.cut(tree, mask, ownText, titleWordsOf(tree));
  }

  private cut(tree: Tree, mask: Mask, ownText: Int32Array, title: ReadonlySet<number>): void {
    const { tag, parent, end } = tree;
    const blockParent = new Int32Array(tree.count);
    const seen = { images: 0, controls: 0, links: 0, breaks: 0 };
    let isOpen = false;
    for (let node = 1; node < tree.count;) {
      const up = parent[node]!;
      const own = tag[node]!;
      if (mask[node] === DROP || isNeverWritten(own)) {
        if (own === T.select || own === T.textarea) seen.controls++;
        this.before.fill(this.count, node, end[node]);
        node = end[node]!;
        continue;
      }
      this.before[node] = this.count;
      if (own !== TEXT) {
        const isBlock = (flagsOf(own) & F.block) !== 0 || own === T.button;
        this.context[node] = this.context[up]! | contextOf(tree, node, own);
        blockParent[node] = isBlock ? node : blockParent[up]!;
        if (own === T.br) seen.breaks++;
        else if (own === T.img) seen.images++;
        else if (own === T.input || own === T.button) seen.controls++;
        else if (own === T.a) seen.links++;
        if (isBlock || seen.breaks > 1) isOpen = false;
        node++;
        continue;
      }
      this.context[node] = this.context[up]!;
      if (ownText[node]! > 0) {
        if (!isOpen || this.parent[this.count - 1] !== blockParent[up]) this.open(node, blockParent[up]!, seen);
        isOpen = true;
        seen.breaks = 0;
        this.links[this.count - 1]! += seen.links;
        seen.links = 0;
        this.addText(tree, node, ownText[node]!, title);
      }
      node++;
    }
    this.before[tree.count] = this.count;
  }

  private open(node: number, parent: number, seen: { images: number; controls: number }): void {
    const block = this.count++;
    this.first[block] = node;
    this.parent[block] = parent;
    this.images[block] = seen.images;
    this.controls[block] = seen.controls;
    this.hash[block] = 0x811c9dc5 | 0;
    seen.images = seen.controls = 0;
  }

  private addText(tree: Tree, node: number, chars: number, title: ReadonlySet<number>): void {
    const block = this.count - 1;
    const context = this.context[node]!;
    this.ofNode[node] = block;
    this.textNodes[block]!++;
    if (context & CONTEXT.link) this.linkChars[block]! += chars;
    if (context & CONTEXT.bold) this.boldChars[block]! += chars;
    const isHashed = this.chars[block]! < MAX_HASHED_CHARS;
    this.chars[block]! += chars;
    this.scan(tree.source, tree.from[node]!, tree.to[node]!, block);
    if (isHashed) this.readWords(tree.source, tree.from[node]!, tree.to[node]!, block, title);
  }

  /** Counts what a text is made of. */
  private scan(source: string, from: number, to: number, block: number): void {
    const counts = this.counts.fill(0);
    let words = 0;
    let shortWords = 0;
    let sentences = 0;
    let length = 0;
    let first = 0;
    let last = 0;
    for (let i = from; i <= to; i++) {
      const c = i < to ? source.charCodeAt(i) : 32;
      const kind = c < 128 ? KINDS[c]! : kindOfWideChar(c);
      if (kind !== SPACE) {
        if (kind !== LETTER) counts[kind]!++;
        length++;
        last = c;
        if (first === 0) first = c;
      } else if (length > 0) {
        words++;
        if (length <= 3) shortWords++;
        if (last === 46 || last === 33 || last === 63) sentences++;
        length = 0;
      }
    }
    if (last !== 0) this.lastChar[block] = last;
    if (this.firstChar[block] === 0) this.firstChar[block] = first;
    if (counts[CURRENCY]! > 0) this.currency[block] = 1;
    this.words[block]! += words;
    this.shortWords[block]! += shortWords;
    this.sentences[block]! += sentences + counts[STOP]!;
    this.commas[block]! += counts[COMMA]!;
    this.digits[block]! += counts[DIGIT]!;
    this.capitals[block]! += counts[CAPITAL]!;
    this.separators[block]! += counts[SEPARATOR]!;
  }

  private readWords(source: string, from: number, to: number, block: number, title: ReadonlySet<number>): void {
    let hash = this.hash[block]!;
    let kinds = 0;
    const last = Math.min(to, from + MAX_HASHED_CHARS);
    eachWord(source, from, last, (word) => {
      hash = Math.imul(hash ^ word, 0x01000193);
      if (title.has(word)) this.titleWords[block]!++;
      kinds |= kindOfWord(word);
    });
    this.hash[block] = hash;
    this.textKinds[block]! |= kinds;
  }
}

const LETTER = 0;
const SPACE = 1;
const CAPITAL = 2;
const DIGIT = 3;
const COMMA = 4;
/** Ends a sentence without a space behind it. */
const STOP = 5;
const SEPARATOR = 6;
const CURRENCY = 7;

/** Kinds of ASCII characters. */
const KINDS = Uint8Array.from({ length: 128 }, (_, c) => {
  if (c <= 32) return SPACE;
  if (c >= 65 && c <= 90) return CAPITAL;
  if (c >= 48 && c <= 57) return DIGIT;
  if (c === 44) return COMMA;
  if (c === 124 || c === 62) return SEPARATOR;
  return c === 36 ? CURRENCY : LETTER;
});

function kindOfWideChar(c: number): number {
  if (c === 160) return SPACE;
  if (c === 0x3001 || c === 0xff0c || c === 0x60c) return COMMA;
  if (c === 0x3002 || c === 0xff01 || c === 0xff1f || c === 0x964) return STOP;
  if (c === 0xbb || c === 0x203a || c === 0xb7 || c === 0x2022) return SEPARATOR;
  return c === 0x20ac || c === 0xa3 || c === 0xa5 || c === 0x20b9 ? CURRENCY : LETTER;
}

/** Whether a block stands in any of these contexts (bits of `CONTEXT`). */
export function isInside(blocks: Blocks, block: number, contexts: number): boolean {
  return (blocks.context[blocks.first[block]!]! & contexts) !== 0;
}

function countTexts(tree: Tree, ownText: Int32Array): number {
  let texts = 0;
  for (let node = 0; node < tree.count; node++) if (ownText[node]! > 0) texts++;
  return texts;
}

/** Elements whose text no writer shows. */
function isNeverWritten(tag: number): boolean {
  if (tag === T.select || tag === T.textarea || tag === T.svg || tag === T.iframe) return true;
  return tag === T.canvas || tag === T.video || tag === T.audio || tag === T.object;
}

function contextOf(tree: Tree, node: number, tag: number): number {
  let context = tag < TAG_CONTEXT.length ? TAG_CONTEXT[tag]! : 0;
  for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
    const name = tree.attrHash[i]!;
    if (name === A.hidden) context |= CONTEXT.hidden;
    else if (name === ITEMSCOPE) context |= CONTEXT.item;
    else if (name === A.role) context |= ROLE_CONTEXT.get(tree.attrValue(i)) ?? 0;
    else if (name === A.ariaHidden && tree.attrValue(i) === 'true') context |= CONTEXT.hidden;
    else if (name === A.style && HIDDEN_STYLE.test(tree.attrValue(i).slice(0, 1000))) context |= CONTEXT.hidden;
  }
  return context;
}

/** Hashes of runs of letters and digits, ASCII letters in lower case. */
function eachWord(source: string, from: number, to: number, visit: (hash: number) => void): void {
  let hash = 0x811c9dc5 | 0;
  let length = 0;
  for (let i = from; i <= to; i++) {
    let c = i < to ? source.charCodeAt(i) : 32;
    if (c >= 65 && c <= 90) c |= 0x20;
    if ((c >= 97 && c <= 122) || (c >= 48 && c <= 57) || c > 191) {
      hash = Math.imul(hash ^ c, 0x01000193);
      length++;
    } else if (length > 0) {
      visit(hash);
      hash = 0x811c9dc5 | 0;
      length = 0;
    }
  }
}

const MAX_TITLE_CHARS = 300;

function titleWordsOf(tree: Tree): ReadonlySet<number> {
  const words = new Set<number>();
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] !== TEXT || tree.tag[tree.parent[node]!] !== T.title) continue;
    const from = tree.from[node]!;
    eachWord(tree.source, from, Math.min(tree.to[node]!, from + MAX_TITLE_CHARS), (word) => words.add(word));
    return words;
  }
  return words;
}
