/**
 * Records of pages that are no articles: siblings of one shape, such as the products of a list and the posts of a thread.
 * They are found by structure alone and treated alike, and what stands around and between them and is none of the page's
 * content goes: filters, toolbars, panels about users, what was said before. On all pages but documentation consent dialogs go.
 */
import { CONTEXT, isInside, type Blocks } from './blocks.js';
import { A, T, type Tree } from '@troupe/html';
import { WordKinds } from './word-kinds.js';
import { kindBits } from './words.js';

/** A page that is an article by this much has no records that matter. */
const MAX_ARTICLE = 0.5;
/** Nor has a page that is no list, product or thread by that much: it may be documentation that does not say so. */
const LEAST_TYPE = 0.1;
const MIN_FORUM = 0.2;
const MIN_PRODUCT = 0.5;

/** Siblings are records from this many on, with this many blocks each. */
const MIN_RECORDS = 3;
const MIN_BLOCKS = 2;
/** Share of their blocks that stand where half of the records have one. */
const SAME_SHAPE = 0.6;
const HALF = 0.5;

/** A group is kept when this share of its text is; then a field goes as most of its like do. */
const KEPT_SHARE = 0.5;
const MOSTLY_KEPT = 0.8;
const HARDLY_KEPT = 0.3;

/** Labels of a toolbar: the same words in this share of the records. */
const TOOLBAR_SHARE = 0.6;
const BUTTON_STEPS = 3;

/** Furniture of a kind goes when it holds no heading and is at most this share of what was kept: else the word means something else. */
const MAX_FURNITURE = 0.4;
const FURNITURE = [kindBits('filter'), kindBits('modal'), kindBits('related', 'promo'), kindBits('breadcrumb')];
/** On pages of products, where forms choose among variants. */
const CONTROLS = kindBits('action', 'form');

/** Classes and ids of consent dialogs: words that tell enough alone, and such that do together (`cookies` may be on a recipe). */
const CONSENT = 1;
const COOKIE = 2;
const NOTICE = 4;
const MODALS = kindBits('modal');
const CONSENT_WORDS = new WordKinds(
  [
    [CONSENT, 'consent gdpr onetrust cookiebot usercentrics didomi trustarc'],
    [COOKIE, 'cookie cookies'],
    [NOTICE, 'banner notice bar popup modal dialog overlay law settings preferences message'],
  ],
  512,
);

const SIGNATURES = kindBits('signature');
const USERS = kindBits('user');

/** A panel about a user: a few short blocks. */
const MAX_PANEL_BLOCKS = 24;
const MAX_PANEL_CHARS = 60;
/** Around a thread longer text stays, and on an article it goes where it is said again. */
const LONG_CHARS = 80;
/** Shorter text may be said twice. */
const MIN_TWIN_CHARS = 8;
/** Share of the records that have a link, and a price, when they are other products. */
const LINKED_SHARE = 0.8;
const PRICED_SHARE = 0.6;

export interface PageOfRecords {
  tree: Tree;
  blocks: Blocks;
  headingLevel: Uint8Array;
  isDocumentation: boolean;
  /** How much the page is of each type of `TYPES`. */
  types: readonly number[];
  elements: {
    /** Nodes that hold blocks, in document order. */
    list: Int32Array;
    /** Per node: bits of `KINDS`, and a hash of tag and first class. */
    kinds: Int32Array;
    signature: Int32Array;
  };
  /** Per node its group of alike siblings, -1 without one; per group its elements and all their blocks. */
  repeats: { groupOf: Int32Array; count: Int32Array; blocks: Int32Array };
  /** Per block; 0 from now on for a text that is said elsewhere, which is not lost. */
  estimates: Float32Array;
  /** Per block 1 or 0; changed in place. */
  kept: Uint8Array;
}

/** Records of one shape, in document order. */
interface Records {
  nodes: readonly number[];
  /** Blocks that stand at the same place of their records. */
  fields: readonly (readonly number[])[];
}

export function keepRecords(page: PageOfRecords): void {
  if (page.isDocumentation) return;
  const [article, forum, list, product] = page.types as [number, number, number, number];
  dropConsent(page);
  if (Math.max(forum, list, product) < LEAST_TYPE) return;
  if (article >= MAX_ARTICLE) return dropTwins(page, [], LONG_CHARS);
  const groups = findRecords(page);
  const isForum = forum >= MIN_FORUM;
  const isProduct = product >= MIN_PRODUCT;
  const judged = page.kept.slice();
  for (const kinds of FURNITURE) dropKinds(page, kinds);
  dropLandmarks(page, groups);
  if (isForum) trimThread(page, groups);
  if (isProduct) {
    dropKinds(page, CONTROLS);
    dropOtherProducts(page, groups);
  }
  for (const records of groups) {
    settleFields(page, records, !isForum && !isProduct);
    dropToolbar(page, records);
  }
  dropTwins(page, groups);
  if (!page.kept.includes(1)) page.kept.set(judged);
}

// ---- finding

/** Outermost groups of records. */
function findRecords(page: PageOfRecords): Records[] {
  const { tree, elements, repeats } = page;
  const members = new Map<number, number[]>();
  for (const node of elements.list) {
    const group = repeats.groupOf[node]!;
    if (group < 0 || repeats.count[group]! < MIN_RECORDS) continue;
    if (repeats.blocks[group]! < repeats.count[group]! * MIN_BLOCKS) continue;
    const nodes = members.get(group);
    if (nodes === undefined) members.set(group, [node]);
    else nodes.push(node);
  }
  const found: Records[] = [];
  const inside = new Uint8Array(tree.count);
  for (const nodes of members.values()) {
    const records = inside[nodes[0]!] === 1 ? null : readRecords(page, nodes);
    if (records === null) continue;
    found.push(records);
    for (const node of nodes) inside.fill(1, node, tree.end[node]);
  }
  return found;
}

/** Null when the elements differ too much. */
function readRecords(page: PageOfRecords, nodes: readonly number[]): Records | null {
  const { tree, blocks } = page;
  const fields = new Map<number, { blocks: number[]; records: number; last: number }>();
  let total = 0;
  for (const node of nodes) {
    for (let block = blocks.before[node]!; block < blocks.before[tree.end[node]!]!; block++, total++) {
      const path = pathIn(page, node, block);
      const field = fields.get(path);
      if (field === undefined) {
        fields.set(path, { blocks: [block], records: 1, last: node });
        continue;
      }
      field.blocks.push(block);
      if (field.last !== node) field.records++;
      field.last = node;
    }
  }
  let shared = 0;
  for (const field of fields.values()) if (field.records >= nodes.length * HALF) shared += field.blocks.length;
  return shared < total * SAME_SHAPE ? null : { nodes, fields: Array.from(fields.values(), (field) => field.blocks) };
}

/** Hash of the elements between a record and the text of a block. */
function pathIn({ tree, blocks, elements }: PageOfRecords, record: number, block: number): number {
  let path = 0;
  for (let up = tree.parent[blocks.first[block]!]!; up !== record; up = tree.parent[up]!) {
    path = Math.imul(path, 31) + elements.signature[up]!;
  }
  return path;
}

// ---- records

/** Where most of a group was kept its records are whole: a field is kept or dropped in all, and the first price stays. */
function settleFields({ blocks, kept }: PageOfRecords, { nodes, fields }: Records, isPriced: boolean): void {
  if (keptShare(blocks, kept, fields.flat()) < KEPT_SHARE) return;
  let needsPrice = isPriced;
  for (const field of fields) {
    if (field.length < nodes.length * HALF) continue;
    let prices = 0;
    let shown = 0;
    for (const block of field) {
      prices += blocks.currency[block]!;
      shown += kept[block]!;
    }
    const isPrice = prices * 2 > field.length;
    const isWanted = shown >= field.length * MOSTLY_KEPT || (needsPrice && isPrice);
    if (isWanted && isPrice) needsPrice = false;
    if (!isWanted && shown > field.length * HARDLY_KEPT) continue;
    for (const block of field)
      if (!isWanted || !isInside(blocks, block, CONTEXT.dialog)) kept[block] = isWanted ? 1 : 0;
  }
}

function keptShare(blocks: Blocks, kept: Uint8Array, among: readonly number[]): number {
  let chars = 0;
  let shown = 0;
  for (const block of among) {
    chars += blocks.chars[block]!;
    if (kept[block] === 1) shown += blocks.chars[block]!;
  }
  return chars === 0 ? 0 : shown / chars;
}

/**
 * Drops buttons that say the same in most records: they tell what can be done with a record, not what it is. Such links go where the
 * records have others.
 */
function dropToolbar({ tree, blocks, kept }: PageOfRecords, { nodes, fields }: Records): void {
  const most = Math.max(MIN_RECORDS, nodes.length * TOOLBAR_SHARE);
  const common = fields.filter((field) => field.length >= most);
  const isLinked = (block: number): boolean => blocks.linkChars[block]! > 0;
  const hasOtherLinks = common.filter((field) => field.some(isLinked)).length > 1;
  for (const field of common) {
    const counts = new Map<number, number>();
    for (const block of field) counts.set(saidIn(blocks, block), (counts.get(saidIn(blocks, block)) ?? 0) + 1);
    for (const block of field) {
      if (counts.get(saidIn(blocks, block))! < nodes.length * TOOLBAR_SHARE) continue;
      const isLink = hasOtherLinks && blocks.linkChars[block]! * 2 > blocks.chars[block]!;
      if (isLink || isButton(tree, blocks.first[block]!)) kept[block] = 0;
    }
  }
}

function saidIn(blocks: Blocks, block: number): number {
  return (Math.imul(blocks.hash[block]!, 31) + blocks.chars[block]!) | 0;
}

function isButton(tree: Tree, text: number): boolean {
  let up = tree.parent[text]!;
  for (let steps = 0; steps < BUTTON_STEPS && up > 0; steps++, up = tree.parent[up]!) {
    if (tree.tag[up] === T.button) return true;
  }
  return false;
}

/** On the page of a product records with links and prices are other products. */
function dropOtherProducts({ tree, blocks, kept }: PageOfRecords, groups: readonly Records[]): void {
  for (const { nodes, fields } of groups) {
    let linked = 0;
    let priced = 0;
    for (const node of nodes) {
      const from = blocks.before[node]!;
      const to = blocks.before[tree.end[node]!]!;
      if (blocks.links.subarray(from, to).some((links) => links > 0)) linked++;
      if (blocks.currency.subarray(from, to).includes(1)) priced++;
    }
    if (linked < nodes.length * LINKED_SHARE || priced < nodes.length * PRICED_SHARE) continue;
    for (const block of fields.flat()) kept[block] = 0;
  }
}

// ---- threads

function trimThread(page: PageOfRecords, groups: readonly Records[]): void {
  const { tree, blocks, kept, headingLevel } = page;
  dropKinds(page, SIGNATURES);
  dropPanels(page);
  const posts = postsAmong(page, groups);
  if (posts === null) return;
  const first = blocks.before[posts.nodes[0]!]!;
  const last = blocks.before[tree.end[posts.nodes.at(-1)!]!]!;
  for (let block = 0; block < blocks.count; block++) {
    if (block >= first && block < last) continue;
    const isLong = blocks.chars[block]! >= LONG_CHARS && blocks.linkChars[block]! * 2 < blocks.chars[block]!;
    if (!isLong && (block >= last || headingLevel[block] !== 1)) kept[block] = 0;
  }
}

/** The group that holds most of what was kept. */
function postsAmong({ blocks, kept }: PageOfRecords, groups: readonly Records[]): Records | null {
  const all = shownChars(blocks, kept);
  const holdsMost = ({ fields }: Records): boolean => {
    let shown = 0;
    for (const block of fields.flat()) if (kept[block] === 1) shown += blocks.chars[block]!;
    return shown > all * HALF;
  };
  return groups.find(holdsMost) ?? null;
}

/** Reduces a panel about a user to the name and when something was said. Rank, counts and places go. */
function dropPanels({ tree, blocks, kept, headingLevel, elements }: PageOfRecords): void {
  for (const node of elements.list) {
    if ((elements.kinds[node]! & USERS) === 0) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    if (to - from < 2 || to - from > MAX_PANEL_BLOCKS) continue;
    if (blocks.chars.subarray(from, to).some((chars) => chars > MAX_PANEL_CHARS)) continue;
    const heading = headingLevel.subarray(from, to).findIndex((level) => level > 0);
    const name = from + Math.max(0, heading);
    for (let block = from; block < to; block++) {
      if (block !== name && !isInTime(tree, blocks.first[block]!, node)) kept[block] = 0;
    }
  }
}

function isInTime(tree: Tree, text: number, within: number): boolean {
  for (let up = tree.parent[text]!; up > within; up = tree.parent[up]!) if (tree.tag[up] === T.time) return true;
  return false;
}

// ---- everywhere

/** Drops dialogs that ask for consent: they hold headings and long text, and they stand outside of the page's article. */
function dropConsent({ tree, blocks, headingLevel, kept, elements }: PageOfRecords): void {
  const rest = kept.slice();
  for (const node of elements.list) {
    if ((elements.kinds[node]! & MODALS) === 0 || !asksForConsent(tree, node)) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    if (isInside(blocks, from, CONTEXT.main | CONTEXT.article) || headingLevel.subarray(from, to).includes(1)) continue;
    rest.fill(0, from, to);
  }
  if (rest.includes(1)) kept.set(rest);
}

function asksForConsent(tree: Tree, node: number): boolean {
  if (tree.tag[node] === T.body || tree.tag[node] === T.html) return false;
  let said = 0;
  for (let i = tree.from[node]!; i < tree.to[node]!; i++) {
    if (tree.attrHash[i] !== A.class && tree.attrHash[i] !== A.id) continue;
    said |= CONSENT_WORDS.in(tree.source, tree.attrFrom[i]!, tree.attrTo[i]!);
  }
  return (said & CONSENT) !== 0 || ((said & COOKIE) !== 0 && (said & NOTICE) !== 0);
}

/** Drops the navigation of the page, and its footer outside of `main` and `article`; a record may have its own of both. */
function dropLandmarks({ tree, blocks, kept }: PageOfRecords, groups: readonly Records[]): void {
  const rest = kept.slice();
  const own = new Uint8Array(blocks.count);
  for (const node of groups.flatMap(({ nodes }) => nodes)) {
    const isOfPage = (blocks.context[node]! & (CONTEXT.nav | CONTEXT.footer)) !== 0;
    if (!isOfPage) own.fill(1, blocks.before[node], blocks.before[tree.end[node]!]);
  }
  for (let block = 0; block < blocks.count; block++) {
    if (own[block] === 1) continue;
    const isFooter =
      isInside(blocks, block, CONTEXT.footer) && !isInside(blocks, block, CONTEXT.main | CONTEXT.article);
    if (isFooter || isInside(blocks, block, CONTEXT.nav)) rest[block] = 0;
  }
  if (rest.includes(1)) kept.set(rest);
}

/** Drops all that stands in elements of some kinds and no heading, unless that is much of the page. */
function dropKinds({ tree, blocks, headingLevel, kept, elements }: PageOfRecords, kinds: number): void {
  const rest = kept.slice();
  for (const node of elements.list) {
    if ((elements.kinds[node]! & kinds) === 0 || tree.tag[node] === T.body) continue;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    if (headingLevel.subarray(from, to).every((level) => level === 0)) rest.fill(0, from, to);
  }
  const all = shownChars(blocks, kept);
  if (all - shownChars(blocks, rest) <= all * MAX_FURNITURE) kept.set(rest);
}

function shownChars(blocks: Blocks, kept: Uint8Array): number {
  let chars = 0;
  for (let block = 0; block < blocks.count; block++) if (kept[block] === 1) chars += blocks.chars[block]!;
  return chars;
}

/**
 * A text that was said before to the letter goes, but in quotes, code and tables, and where records of a group say the same. A
 * heading without a link goes only with the text below it: many sections may be called alike.
 */
function dropTwins(
  { tree, blocks, kept, headingLevel, estimates }: PageOfRecords,
  groups: readonly Records[],
  minChars = MIN_TWIN_CHARS,
): void {
  const field = fieldOfBlocks(blocks, groups);
  const said = new Map<number, number>();
  let headings: number[] = [];
  for (let block = 0; block < blocks.count; block++) {
    if (kept[block] === 0 || blocks.chars[block]! < minChars) continue;
    const twin = said.get(saidIn(blocks, block));
    if (twin === undefined) {
      said.set(saidIn(blocks, block), block);
      headings = [];
    } else if (headingLevel[block]! > 0 && blocks.linkChars[block] === 0) headings.push(block);
    else {
      const isField = field[block] !== 0 && field[block] === field[twin];
      const isOtherLink =
        blocks.linkChars[block]! > 0 && targetOf(tree, blocks.first[block]!) !== targetOf(tree, blocks.first[twin]!);
      const isSaidAgain = !isField && !isOtherLink && !isVerbatim(tree, blocks, block);
      for (const again of isSaidAgain ? [block, ...headings] : []) kept[again] = estimates[again] = 0;
      headings = [];
    }
  }
}

/** Address of the link around a text, '' without one. */
function targetOf(tree: Tree, text: number): string {
  for (let up = tree.parent[text]!; up > 0; up = tree.parent[up]!) {
    if (tree.tag[up] === T.a) return tree.attr(up, A.href) ?? '';
  }
  return '';
}

/** Per block: number of its field, 0 outside of records. */
function fieldOfBlocks(blocks: Blocks, groups: readonly Records[]): Int32Array {
  const numbers = new Int32Array(blocks.count);
  let fields = 0;
  for (const records of groups) {
    for (const field of records.fields) {
      fields++;
      for (const block of field) numbers[block] = fields;
    }
  }
  return numbers;
}

function isVerbatim(tree: Tree, blocks: Blocks, block: number): boolean {
  if (isInside(blocks, block, CONTEXT.cell)) return true;
  for (let up = tree.parent[blocks.first[block]!]!; up > 0; up = tree.parent[up]!) {
    if (tree.tag[up] === T.pre || tree.tag[up] === T.blockquote) return true;
  }
  return false;
}
