/**
 * Parts of a page that belong together are kept or dropped together, whatever the estimates of their blocks: code, rows of
 * data tables, lists, and headings with what they announce.
 */
import { CHROME, CONTEXT, isInside, type Blocks } from './blocks.js';
import { T, TEXT, trimWhite, type Tree } from '@troupe/html';

/** A part is completed when this share of its text was kept (a table has cells that say little), and dropped when less than the second was. */
const COMPLETE = 0.65;
const COMPLETE_TABLE = 0.3;
const REMAINDER = 0.25;
/** Blocks less likely than this are left out of a completed part, and less likely than the second of a list that ends kept text. */
const LEAST = 0.06;
const LEAST_LAST_LIST = 0.3;
/** A heading over kept text is kept down to this estimate. */
const LEAST_HEADING = 0.1;
/** The first heading of the page is kept down to this one, and down to the second when it says what the page's title says. */
const LEAST_TITLE = 0.15;
const LEAST_NAMED_TITLE = 0.03;
const NAMED_SHARE = 0.8;
const MIN_SECTION_CHARS = 40;

/** Signs behind which follows what the text has announced. */
const COLONS = ':：';

/** So many links to headings at least, and half of a list, make it a table of contents. */
const MIN_CONTENTS = 3;

/** Limits of what fills a gap: short blocks, not too unlikely, where this share of the one or two subtrees around them is kept. */
const MAX_GAP_CHARS = 100;
const LEAST_GAP = 0.16;
const MAX_GAP_LEVELS = 2;
const GAP_SHARE = 0.8;

/** Share of link text from which on kept text is nothing but links. */
const ONLY_LINKS = 0.95;

export interface Judged {
  tree: Tree;
  blocks: Blocks;
  headingLevel: Uint8Array;
  estimates: Float32Array;
  /** The page is no article: its short blocks are more than dates and sharing. */
  isCollection: boolean;
  /** Per block 1 or 0; changed in place. */
  kept: Uint8Array;
}

export function keepPartsWhole(judged: Judged): void {
  settleElements(judged);
  keepLists(judged);
  if (judged.isCollection) fillGaps(judged);
  settleHeadings(judged);
  keepTitle(judged);
  keepTextBesideLinks(judged);
}

/**
 * The page's own table of contents stays: a list that stands before or among the kept text and mostly links its headings.
 * A page that repeats it, as beside the text, has it once.
 */
export function keepContents({ tree, blocks, headingLevel, kept }: Judged): void {
  const headings = new Set<number>();
  for (let block = 0; block < blocks.count; block++) {
    if (kept[block] === 1 && headingLevel[block]! > 0) headings.add(blocks.hash[block]!);
  }
  if (headings.size < MIN_CONTENTS) return;
  const last = kept.lastIndexOf(1);
  for (let node = 1; node < tree.count && blocks.before[node]! <= last; node++) {
    if (tree.tag[node] !== T.ul && tree.tag[node] !== T.ol) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    if (!isContents(blocks, headingLevel, headings, from, to)) continue;
    if (!isHidden(blocks, from)) return void kept.fill(1, from, to);
    node = tree.end[node]! - 1;
  }
}

/** @param headings hashes of what they say */
function isContents(
  { linkChars, chars, hash }: Blocks,
  headingLevel: Uint8Array,
  headings: ReadonlySet<number>,
  from: number,
  to: number,
): boolean {
  if (to - from < MIN_CONTENTS) return false;
  let named = 0;
  for (let block = from; block < to; block++) {
    if (headingLevel[block]! > 0) return false;
    if (linkChars[block]! * 2 > chars[block]! && headings.has(hash[block]!)) named++;
  }
  return named >= MIN_CONTENTS && named * 2 >= to - from;
}

/** Where nearly nothing but links was kept, the text beside them is what the page says; landmarks of chrome excepted. */
function keepTextBesideLinks({ blocks, kept }: Judged): void {
  let chars = 0;
  let linkChars = 0;
  for (let block = 0; block < blocks.count; block++) {
    if (kept[block] === 0) continue;
    chars += blocks.chars[block]!;
    linkChars += blocks.linkChars[block]!;
  }
  if (chars === 0 || linkChars < chars * ONLY_LINKS) return;
  for (let block = 0; block < blocks.count; block++) {
    if (blocks.linkChars[block] === 0 && !isInside(blocks, block, CHROME)) kept[block] = 1;
  }
}

function settleElements({ tree, blocks, estimates, kept }: Judged): void {
  const { chars, keptChars } = sumsOf(blocks, kept);
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (tag !== T.pre && tag !== T.table && !isList(tag)) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    if (to - from < 2) continue;
    const held = chars[to]! - chars[from]!;
    const inside = keptChars[to]! - keptChars[from]!;
    const enough = held * (tag === T.table ? COMPLETE_TABLE : COMPLETE);
    if (inside < enough && inside >= held * REMAINDER) continue;
    for (let block = from; block < to; block++) kept[block] = inside >= enough && estimates[block]! >= LEAST ? 1 : 0;
    node = tree.end[node]! - 1;
  }
}

/** A list among kept text of one element was written with it, and so, if not too unlikely, was one after it. */
function keepLists(judged: Judged): void {
  const { tree, blocks, estimates, kept } = judged;
  const { chars, keptChars } = sumsOf(blocks, kept);
  const isKept = (from: number, to: number): boolean => {
    const held = chars[to]! - chars[from]!;
    return held > 0 && keptChars[to]! - keptChars[from]! >= held * COMPLETE;
  };
  const keepList = (list: number, least: number): void => {
    for (let block = blocks.before[list]!; block < blocks.before[tree.end[list]!]!; block++) {
      if (estimates[block]! >= least) kept[block] = 1;
    }
  };
  for (let node = 1; node < tree.count; node++) {
    const end = tree.end[node]!;
    if (end === node + 1) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[end]!;
    if (isList(tree.tag[node]!)) keepAnnounced(judged, node, from, to);
    if (to - from < 2) continue;
    const inside = keptChars[to]! - keptChars[from]!;
    const held = chars[to]! - chars[from]!;
    if (inside === held || inside * 2 < held) continue;
    let isAfterKept = false;
    let open: number[] = [];
    for (let child = node + 1; child < end; child = tree.end[child]!) {
      if (isKept(blocks.before[child]!, blocks.before[tree.end[child]!]!)) {
        for (const list of open) keepList(list, LEAST);
        open = [];
        isAfterKept = true;
      } else if (isAfterKept && isList(tree.tag[child]!)) open.push(child);
    }
    for (const list of open) keepList(list, LEAST_LAST_LIST);
  }
}

/** The list right behind a kept sentence that announces it with a colon stays; "Related:" announces other pages. */
function keepAnnounced({ tree, blocks, kept }: Judged, list: number, from: number, to: number): void {
  if (from === 0 || from === to || kept[from - 1] === 0 || isInside(blocks, from, CHROME)) return;
  if (blocks.chars[from - 1]! >= MIN_SECTION_CHARS && isAnnounced(tree, blocks, list)) kept.fill(1, from, to);
}

function isAnnounced({ tag, parent, source, from, to }: Tree, blocks: Blocks, list: number): boolean {
  for (let node = list - 1; node > parent[list]!; node--) {
    if (tag[node] !== TEXT || blocks.ofNode[node]! < 0) continue;
    const last = trimWhite(source, from[node]!, to[node]!) - 1;
    return COLONS.includes(source.charAt(last));
  }
  return false;
}

const isList = (tag: number): boolean => tag === T.ul || tag === T.ol || tag === T.dl;

/** A short block among kept text stays: a link below a paragraph, the date of a post, a button of a section. */
function fillGaps({ tree, blocks, estimates, kept }: Judged): void {
  const { chars, keptChars } = sumsOf(blocks, kept);
  for (let block = 0; block < blocks.count; block++) {
    const own = blocks.chars[block]!;
    if (kept[block] === 1 || own > MAX_GAP_CHARS || estimates[block]! < LEAST_GAP || isHidden(blocks, block)) continue;
    for (let up = blocks.parent[block]!, levels = 0; up > 0 && levels < MAX_GAP_LEVELS; up = tree.parent[up]!) {
      const from = blocks.before[up]!;
      const to = blocks.before[tree.end[up]!]!;
      const held = chars[to]! - chars[from]!;
      if (held < own * 3) continue;
      levels++;
      if (keptChars[to]! - keptChars[from]! < (held - own) * GAP_SHARE) continue;
      kept[block] = 1;
      break;
    }
  }
}

function sumsOf(blocks: Blocks, kept: Uint8Array): { chars: Int32Array; keptChars: Int32Array } {
  const chars = new Int32Array(blocks.count + 1);
  const keptChars = new Int32Array(blocks.count + 1);
  for (let block = 0; block < blocks.count; block++) {
    chars[block + 1] = chars[block]! + blocks.chars[block]!;
    keptChars[block + 1] = keptChars[block]! + (kept[block] === 1 ? blocks.chars[block]! : 0);
  }
  return { chars, keptChars };
}

/** A heading stays over a section that is mostly kept; the section ends at the next heading of its level or above. */
function settleHeadings({ blocks, headingLevel, estimates, kept }: Judged): void {
  const { chars, keptChars } = sumsOf(blocks, kept);
  const nextOf = new Int32Array(7).fill(blocks.count);
  for (let block = blocks.count - 1; block >= 0; block--) {
    const level = headingLevel[block]!;
    if (level === 0) continue;
    const end = nextOf[level]!;
    const inside = keptChars[end]! - keptChars[block + 1]!;
    const isMostlyKept = inside >= MIN_SECTION_CHARS && inside * 2 >= chars[end]! - chars[block + 1]!;
    if (isMostlyKept && estimates[block]! >= LEAST_HEADING && !isHidden(blocks, block)) kept[block] = 1;
    nextOf.fill(block, level);
  }
}

/** The page's title stays: the last `h1` before the kept text, when none was kept and it is not outright unlikely. */
function keepTitle({ blocks, headingLevel, estimates, kept }: Judged): void {
  let title = -1;
  for (let block = 0; block < blocks.count; block++) {
    if (headingLevel[block] === 1 && kept[block] === 1) return;
    if (headingLevel[block] === 1 && estimates[block]! >= leastOf(blocks, block)) title = block;
    if (kept[block] === 1 && blocks.chars[block]! >= MIN_SECTION_CHARS) break;
  }
  if (title >= 0) kept[title] = 1;
}

function leastOf(blocks: Blocks, block: number): number {
  if (isHidden(blocks, block)) return 1;
  return blocks.titleWords[block]! >= blocks.words[block]! * NAMED_SHARE ? LEAST_NAMED_TITLE : LEAST_TITLE;
}

function isHidden(blocks: Blocks, block: number): boolean {
  return isInside(blocks, block, CONTEXT.hidden | CONTEXT.dialog);
}
