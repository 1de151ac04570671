/**
 * Blocks of a page: runs of text that stand together under one block element, with the features of their own text.
 *
 * Block numbers follow document order, so the blocks of a subtree are a range and sums over it are differences of prefix
 * sums.
 */
import {
  A,
  DROP,
  F,
  flagsOf,
  FNV_OFFSET,
  FNV_PRIME,
  type Mask,
  type OwnTexts,
  SIGNS,
  T,
  TEXT,
  type Tree,
} from '@troupe/html';

/** Surroundings of a node, one bit each. */
export const CONTEXT = {
  link: 1 << 0,
  p: 1 << 1,
  li: 1 << 2,
  cell: 1 << 3,
  caption: 1 << 4,
  nav: 1 << 5,
  footer: 1 << 6,
  aside: 1 << 7,
  main: 1 << 8,
  article: 1 << 9,
  hidden: 1 << 10,
  dialog: 1 << 11,
  heading: 1 << 12,
} as const;

/** Landmarks whose text is hardly ever what a page is about. */
export const CHROME = CONTEXT.nav | CONTEXT.footer | CONTEXT.aside | CONTEXT.dialog | CONTEXT.hidden;

const TAG_CONTEXT = new Int32Array(256);
const around = (bit: number, ...tags: number[]): void => {
  for (const tag of tags) TAG_CONTEXT[tag]! |= bit;
};
around(CONTEXT.link, T.a);
around(CONTEXT.p, T.p);
around(CONTEXT.li, T.li);
around(CONTEXT.cell, T.td, T.th);
around(CONTEXT.caption, T.figcaption, T.caption);
around(CONTEXT.nav, T.nav);
around(CONTEXT.footer, T.footer);
around(CONTEXT.aside, T.aside);
around(CONTEXT.main, T.main);
around(CONTEXT.article, T.article);
around(CONTEXT.dialog, T.dialog);
around(CONTEXT.heading, T.h1, T.h2, T.h3, T.h4, T.h5, T.h6);

const ROLE_CONTEXT: ReadonlyMap<string, number> = new Map([
  ['navigation', CONTEXT.nav],
  ['contentinfo', CONTEXT.footer],
  ['complementary', CONTEXT.aside],
  ['main', CONTEXT.main],
  ['article', CONTEXT.article],
  ['dialog', CONTEXT.dialog],
  ['alertdialog', CONTEXT.dialog],
  ['heading', CONTEXT.heading],
  ['listitem', CONTEXT.li],
]);
const HIDDEN_STYLE = /(?:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden)/i;
/** A text's hash and words are read from its first characters. */
const MAX_HASHED_CHARS = 100;

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
  /** Characters that are no white space; of them inside links. */
  chars: Int32Array;
  linkChars: Int32Array;
  words: Int32Array;
  sentences: Int32Array;
  links: Int32Array;
  /** Images since the block before. */
  images: Int32Array;
  /** Hash of its first words. */
  hash: Int32Array;
  /** 1 or 0. */
  endsSentence: Uint8Array;
  /** 1 when it names a price. */
  currency: Uint8Array;
  /** Words that the page's title has too. */
  titleWords: Int32Array;
  private readonly hashes = new Int32Array(MAX_HASHED_CHARS);

  constructor(tree: Tree, mask: Mask, own: OwnTexts) {
    const { count } = tree;
    this.context = new Int32Array(count);
    this.ofNode = new Int32Array(count).fill(-1);
    this.before = new Int32Array(count + 1);
    const capacity = countTexts(tree, own.ownText);
    const column = (): Int32Array => new Int32Array(capacity);
    this.first = column();
    this.parent = column();
    this.chars = column();
    this.linkChars = column();
    this.words = column();
    this.sentences = column();
    this.links = column();
    this.images = column();
    this.hash = column();
    this.endsSentence = new Uint8Array(capacity);
    this.currency = new Uint8Array(capacity);
    this.titleWords = column();
    this.cut(tree, mask, own, titleWordsOf(tree));
  }

  private cut(tree: Tree, mask: Mask, texts: OwnTexts, title: WordSet): void {
    const { tag, parent, end } = tree;
    const { context, before } = this;
    const blockParent = new Int32Array(tree.count);
    const seen = { images: 0, links: 0, breaks: 0 };
    let isOpen = false;
    for (let node = 1; node < tree.count;) {
      const up = parent[node]!;
      const own = tag[node]!;
      if (mask[node] === DROP || isNeverWritten(own)) {
        before.fill(this.count, node, end[node]);
        node = end[node]!;
        continue;
      }
      before[node] = this.count;
      if (own !== TEXT) {
        const isBlock = (flagsOf(own) & F.block) !== 0 || own === T.button;
        context[node] = context[up]! | contextOf(tree, node, own);
        blockParent[node] = isBlock ? node : blockParent[up]!;
        if (own === T.br) seen.breaks++;
        else if (own === T.img) seen.images++;
        else if (own === T.a) seen.links++;
        if (isBlock || seen.breaks > 1) isOpen = false;
        node++;
        continue;
      }
      context[node] = context[up]!;
      if (texts.ownText[node]! > 0) {
        if (!isOpen || this.parent[this.count - 1] !== blockParent[up]) this.open(node, blockParent[up]!, seen);
        isOpen = true;
        seen.breaks = 0;
        this.links[this.count - 1]! += seen.links;
        seen.links = 0;
        this.addText(tree, node, texts, title);
      }
      node++;
    }
    before[tree.count] = this.count;
  }

  private open(node: number, parent: number, seen: { images: number }): void {
    const block = this.count++;
    this.first[block] = node;
    this.parent[block] = parent;
    this.images[block] = seen.images;
    this.hash[block] = FNV_OFFSET;
    seen.images = 0;
  }

  private addText(tree: Tree, node: number, texts: OwnTexts, title: WordSet): void {
    const chars = texts.ownText[node]!;
    const words = texts.ownWords[node]!;
    const signs = texts.ownSigns[node]!;
    const block = this.count - 1;
    const from = tree.from[node]!;
    const to = tree.to[node]!;
    this.ofNode[node] = block;
    if (this.chars[block]! < MAX_HASHED_CHARS)
      this.readWords(tree.source, from, Math.min(to, from + MAX_HASHED_CHARS), title);
    this.chars[block]! += chars;
    if (this.context[node]! & CONTEXT.link) this.linkChars[block]! += chars;
    this.words[block]! += words;
    this.sentences[block]! += texts.ownSentences[node]!;
    if (signs & SIGNS.currency) this.currency[block] = 1;
    if (words > 0) this.endsSentence[block] = signs & SIGNS.endsSentence ? 1 : 0;
  }

  private readWords(source: string, from: number, to: number, title: WordSet): void {
    const block = this.count - 1;
    const { hashes } = this;
    const words = hashWords(source, from, to, hashes);
    let hash = this.hash[block]!;
    let titleWords = 0;
    for (let i = 0; i < words; i++) {
      hash = Math.imul(hash ^ hashes[i]!, FNV_PRIME);
      if (title.has(hashes[i]!)) titleWords++;
    }
    this.hash[block] = hash;
    this.titleWords[block]! += titleWords;
  }
}

/** For each UTF-16 unit: itself, ASCII letters in lower case, 0 for what is no part of a word. */
const LETTERS = Uint16Array.from({ length: 65536 }, (_, c) => {
  if (c >= 65 && c <= 90) return c | 0x20;
  return (c >= 48 && c <= 57) || (c >= 97 && c <= 122) || c > 191 ? c : 0;
});

/** Hashes of the words of a range, put in `hashes`. @returns how many */
function hashWords(source: string, from: number, to: number, hashes: Int32Array): number {
  let words = 0;
  let hash = FNV_OFFSET;
  let isInWord = false;
  for (let i = from; i < to; i++) {
    const c = LETTERS[source.charCodeAt(i)]!;
    if (c !== 0) {
      hash = Math.imul(hash ^ c, FNV_PRIME);
      isInWord = true;
    } else if (isInWord) {
      hashes[words++] = hash;
      hash = FNV_OFFSET;
      isInWord = false;
    }
  }
  if (isInWord) hashes[words++] = hash;
  return words;
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
    else if (name === A.role) context |= ROLE_CONTEXT.get(tree.attrValue(i)) ?? 0;
    else if (name === A.ariaHidden && tree.attrValue(i) === 'true') context |= CONTEXT.hidden;
    else if (name === A.style && HIDDEN_STYLE.test(tree.attrValue(i).slice(0, 1000))) context |= CONTEXT.hidden;
  }
  return context;
}

const MAX_TITLE_CHARS = 300;

/** Hashes of words; room for those of a title. */
class WordSet {
  private readonly slots = new Int32Array(1024);

  add(hash: number): void {
    this.slots[this.slotOf(hash)] = hash;
  }

  has(hash: number): boolean {
    return this.slots[this.slotOf(hash)] === hash;
  }

  /** Where the word is, or an empty slot. */
  private slotOf(hash: number): number {
    const { slots } = this;
    let slot = hash & (slots.length - 1);
    while (slots[slot] !== 0 && slots[slot] !== hash) slot = (slot + 1) & (slots.length - 1);
    return slot;
  }
}

function titleWordsOf(tree: Tree): WordSet {
  const words = new WordSet();
  const node = titleText(tree);
  if (node < 0) return words;
  const from = tree.from[node]!;
  const hashes = new Int32Array(MAX_TITLE_CHARS);
  const count = hashWords(tree.source, from, Math.min(tree.to[node]!, from + MAX_TITLE_CHARS), hashes);
  for (const hash of hashes.subarray(0, count)) words.add(hash);
  return words;
}

/** First text node of a title, -1 without one. */
function titleText({ tag, end }: Tree): number {
  let title = tag.indexOf(T.title);
  while (title >= 0 && (end[title] === title + 1 || tag[title + 1] !== TEXT)) title = tag.indexOf(T.title, title + 1);
  return title < 0 ? -1 : title + 1;
}
