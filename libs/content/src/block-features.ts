/**
 * What is known about each block of a page, one row of numbers per block: its own text, what stands around it, its place,
 * its neighbours, how often its like repeats, and the page as a whole. Only facts that mean the same on every site.
 * None is ever negative (block-model.ts).
 */
import { CONTEXT, type Blocks } from './blocks.js';
import { A, F, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';
import { KINDS, TEXT_KINDS, kindsOfElement, type Kind } from './words.js';

export const LEVELS = 4;
const NEIGHBOURS = [-1, -2, 1, 2];
const CONTEXT_NAMES = Object.keys(CONTEXT) as (keyof typeof CONTEXT)[];
const CONTEXT_BITS = CONTEXT_NAMES.map((name) => CONTEXT[name]);

const OWN = [
  'chars',
  'words',
  'wordLength',
  'shortWords',
  'linkShare',
  'links',
  'sentences',
  'endsSentence',
  'endsColon',
  'commas',
  'digits',
  'capitals',
  'startsSmall',
  'bold',
  'headingLevel',
  'textNodes',
  'images',
  'controls',
  'twins',
  'titleShare',
  'currency',
  'separators',
] as const;
const PLACE = [
  'blockShare',
  'textShare',
  'depth',
  'toTitle',
  'hasTitle',
  'sinceHeading',
  'lastHeading',
  'sinceLong',
  'untilLong',
  'near4',
  'near12',
  'nearLinks4',
  'nearLinks12',
  'chromeShare',
  'contentShare',
  'commentShare',
  'relatedShare',
  'mainShare',
  'articleShare',
  'sectionCharsBefore',
  'lastHeadingLinks',
  'lastHeadingTitle',
  'bestIn',
  'bestSteps',
  'bestCommon',
  'bestAfter',
  'bestShare',
  'bestDepth',
] as const;
const REPEAT = [
  'repeatUp',
  'repeatCount',
  'repeatChars',
  'repeatLinks',
  'repeatShare',
  'repeatBlocks',
  'repeatUp2',
  'repeatCount2',
  'repeatShare2',
  'repeatChars2',
  'pathCount',
  'pathChars',
  'pathLinks',
  'pathShare',
  'itemLinks',
  'itemHeadings',
  'itemLong',
  'itemImages',
  'itemChars',
  'itemPlace',
] as const;
const PAGE = [
  'pageChars',
  'pageBlocks',
  'pageLinks',
  'pageLong',
  'pageLongCount',
  'pageRepeatShare',
  'pageRepeatCount',
  'pageLongest',
  'pageBest',
] as const;
const PAGE_ONLY = [
  'pageHeadings',
  'pageMain',
  'pageArticles',
  'pageTimes',
  'pageCurrency',
  'pageForms',
  'pageOgType',
  'pageLdProduct',
  'pageLdArticle',
  'pageLdForum',
  'pageLdList',
  'pageLdService',
  'pageComments',
  'pagePosts',
  'pageCode',
  'pageTopShare',
  'pageTopChars',
  'pageTopCount',
  'pageLinkedHeadings',
  'pageTitles',
  'pageUrlSegments',
  'pageUrlLast',
  'pageUrlHyphens',
  'pageUrlDigits',
] as const;

/** Of the page as a whole, for the forests that tell its type. */
export const PAGE_FEATURES: readonly string[] = [
  ...PAGE,
  ...PAGE_ONLY,
  ...TEXT_KINDS.map((kind) => `pageSays.${kind}`),
  ...KINDS.map((kind) => `pageKind.${kind}`),
];

/** Filled from the page's own forests: how much the page is of a type. */
export const TYPES = ['article', 'forum', 'list', 'product'] as const;

/** Filled by the second look (`second-look.ts`), zero before it. */
export const SECOND = [
  'p',
  'p-1',
  'p-2',
  'p-3',
  'p1',
  'p2',
  'p3',
  'pNear3',
  'pNear10',
  'pUp1',
  'pUp2',
  'pUp3',
  'pUp4',
  'pPath',
  'pRepeat',
  'pRepeat2',
  'pPage',
  'pBest',
  'pMass',
  'fEstimate',
  'massBefore',
  'massAfter',
  'sinceHigh',
  'untilHigh',
  'charsSinceHigh',
  'charsUntilHigh',
  'pSection',
  'pSectionBefore',
  'coreSteps',
  'coreShare',
  'coreMean',
  'coreMass',
  'rank',
  'pNextHeadings',
] as const;

export const FEATURES: readonly string[] = [
  ...OWN,
  ...CONTEXT_NAMES.map((name) => `in.${name}`),
  ...KINDS.map((kind) => `kind.${kind}`),
  ...Array.from({ length: LEVELS }, (_, i) =>
    ['share', 'links', 'blocks', 'long', 'headings', 'place', 'steps'].map((name) => `up${i + 1}.${name}`),
  ).flat(),
  ...NEIGHBOURS.flatMap((step) => ['chars', 'links', 'heading', 'samePath'].map((name) => `at${step}.${name}`)),
  ...TEXT_KINDS.map((kind) => `says.${kind}`),
  ...TEXT_KINDS.map((kind) => `heading.${kind}`),
  ...PLACE,
  ...REPEAT,
  ...PAGE,
  ...TYPES.map((type) => `type.${type}`),
  ...SECOND,
];
export const WIDTH = FEATURES.length;

const column = (name: string): number => FEATURES.indexOf(name);
type Names = readonly string[];
const columns = <L extends Names>(list: L): Record<L[number], number> =>
  Object.fromEntries(list.map((name) => [name, column(name)])) as Record<L[number], number>;
const X = columns([...OWN, ...PLACE, ...REPEAT] as const);
const Y = Object.fromEntries(PAGE_FEATURES.map((name, index) => [name, index])) as Record<
  (typeof PAGE)[number] | (typeof PAGE_ONLY)[number],
  number
>;
const CONTEXT_AT = column(`in.${CONTEXT_NAMES[0]!}`);
const KIND_AT = column(`kind.${KINDS[0]!}`);
const LEVEL_AT = column('up1.share');
const SAYS_AT = column(`says.${TEXT_KINDS[0]!}`);
const HEADING_AT = column(`heading.${TEXT_KINDS[0]!}`);
const PAGE_AT = column(PAGE[0]);
const PAGE_SAYS_AT = PAGE_FEATURES.indexOf(`pageSays.${TEXT_KINDS[0]!}`);
const PAGE_KIND_AT = PAGE_FEATURES.indexOf(`pageKind.${KINDS[0]!}`);
const TYPE_AT = column(`type.${TYPES[0]}`);
const NEIGHBOUR_AT = column(`at${NEIGHBOURS[0]!}.chars`);

const kindBits = (...kinds: Kind[]): number => kinds.reduce((bits, kind) => bits | (1 << KINDS.indexOf(kind)), 0);
const CHROME = kindBits('nav', 'breadcrumb', 'footer', 'sidebar', 'share', 'ad', 'modal', 'form', 'filter', 'header');
const CONTENT = kindBits('content', 'article', 'post');
const COMMENT = kindBits('comment');
const RELATED = kindBits('related', 'promo');
const POST = kindBits('post');

const FAR = 40;
/** Where the best element begins and ends on the scale of `bestAfter`. */
const BEST_AT = 1000;
const LONG_CHARS = 80;
export const MIN_REPEATS = 3;

/** Sums over blocks, one longer than the blocks. */
export interface Sums {
  chars: Int32Array;
  linkChars: Int32Array;
  longChars: Int32Array;
  headings: Int32Array;
  links: Int32Array;
  images: Int32Array;
}

export class FeatureReader {
  readonly rows: Float32Array;
  /** `PAGE_FEATURES`. */
  readonly page = new Float32Array(PAGE_FEATURES.length);
  /** Per block: hash of the tags and first classes around it. */
  readonly path: Int32Array;
  private readonly kinds: Int32Array;
  private readonly depth: Uint16Array;
  private readonly signature: Int32Array;
  /** Per block: 1 to 6 in a heading, else 0. */
  readonly headingLevel: Uint8Array;
  readonly sums: Sums;
  readonly repeats: Repeats;

  constructor(
    readonly tree: Tree,
    readonly blocks: Blocks,
  ) {
    this.rows = new Float32Array(blocks.count * WIDTH);
    this.path = new Int32Array(blocks.count);
    this.kinds = new Int32Array(tree.count);
    this.depth = new Uint16Array(tree.count);
    this.signature = new Int32Array(tree.count);
    this.headingLevel = new Uint8Array(blocks.count);
    this.readElements();
    this.readHeadings();
    this.sums = sumBlocks(blocks, this.headingLevel);
    this.repeats = new Repeats(tree, blocks, this.signature, this.sums);
  }

  read(): Float32Array {
    const { blocks } = this;
    for (let block = 0; block < blocks.count; block++) {
      const at = block * WIDTH;
      this.own(block, at);
      this.around(block, at);
      this.levels(block, at);
      this.repeated(block, at);
    }
    this.twins();
    this.paths();
    this.best();
    this.places();
    this.neighbours();
    this.readPage();
    return this.rows;
  }

  private readElements(): void {
    const { tree, blocks, kinds, depth, signature } = this;
    const { before } = blocks;
    for (let node = 1; node < tree.count; node++) {
      const up = tree.parent[node]!;
      depth[node] = depth[up]! + 1;
      if (tree.tag[node] === TEXT || before[tree.end[node]!] === before[node]) continue;
      let hash = Math.imul(tree.tag[node]! + 1, 0x9e3779b1);
      if (tree.from[node]! < tree.to[node]!) {
        kinds[node] = kindsOfElement(tree, node);
        hash ^= firstClass(tree, node);
      }
      signature[node] = hash;
    }
  }

  private readHeadings(): void {
    const { tree, blocks } = this;
    for (let block = 0; block < blocks.count; block++) {
      const first = blocks.first[block]!;
      if ((blocks.context[first]! & CONTEXT.heading) === 0) continue;
      let level = 2;
      for (let up = tree.parent[first]!, steps = 0; up > 0 && steps < 6; up = tree.parent[up]!, steps++) {
        const tag = tree.tag[up]!;
        if (flagsOf(tag) & F.heading) {
          level = tag - T.h1 + 1;
          break;
        }
      }
      this.headingLevel[block] = level;
    }
  }

  private own(block: number, at: number): void {
    const { blocks: b, rows } = this;
    const chars = b.chars[block]!;
    const words = b.words[block]!;
    const first = b.firstChar[block]!;
    const last = b.lastChar[block]!;
    rows[at + X.chars] = chars;
    rows[at + X.words] = words;
    rows[at + X.wordLength] = chars / (words || 1);
    rows[at + X.shortWords] = b.shortWords[block]! / (words || 1);
    rows[at + X.linkShare] = b.linkChars[block]! / chars;
    rows[at + X.links] = b.links[block]!;
    rows[at + X.sentences] = b.sentences[block]!;
    rows[at + X.endsSentence] = last === 46 || last === 33 || last === 63 || last === 0x3002 ? 1 : 0;
    rows[at + X.endsColon] = last === 58 ? 1 : 0;
    rows[at + X.commas] = b.commas[block]!;
    rows[at + X.digits] = b.digits[block]! / chars;
    rows[at + X.capitals] = b.capitals[block]! / chars;
    rows[at + X.startsSmall] = first >= 97 && first <= 122 ? 1 : 0;
    rows[at + X.bold] = b.boldChars[block]! / chars;
    rows[at + X.headingLevel] = this.headingLevel[block]!;
    rows[at + X.textNodes] = b.textNodes[block]!;
    rows[at + X.images] = b.images[block]!;
    rows[at + X.controls] = b.controls[block]!;
    rows[at + X.titleShare] = words > 40 ? 0 : Math.min(1, b.titleWords[block]! / (words || 1));
    rows[at + X.currency] = b.currency[block]!;
    rows[at + X.separators] = b.separators[block]!;
    const context = b.context[b.first[block]!]!;
    for (let i = 0; i < CONTEXT_BITS.length; i++) rows[at + CONTEXT_AT + i] = context & CONTEXT_BITS[i]! ? 1 : 0;
  }

  /** Steps up to the nearest element of each kind, and how much of the page some of them hold. */
  private around(block: number, at: number): void {
    const { tree, blocks, rows, kinds } = this;
    rows.fill(FAR, at + KIND_AT, at + KIND_AT + KINDS.length);
    const first = tree.parent[blocks.first[block]!]!;
    let seen = 0;
    let path = 0;
    for (let up = first, steps = 0; up > 0; up = tree.parent[up]!, steps++) {
      if (steps < 5) path = Math.imul(path, 31) + this.signature[up]!;
      const tag = tree.tag[up]!;
      if (tag === T.main) rows[at + X.mainShare] = this.shareOf(up);
      else if (tag === T.article && rows[at + X.articleShare] === 0) rows[at + X.articleShare] = this.shareOf(up);
      const fresh = kinds[up]! & ~seen;
      if (fresh === 0 || tag === T.body || tag === T.html) continue;
      if (fresh & CHROME && (seen & CHROME) === 0) rows[at + X.chromeShare] = this.shareOf(up);
      if (fresh & CONTENT && (seen & CONTENT) === 0) rows[at + X.contentShare] = this.shareOf(up);
      if (fresh & COMMENT) rows[at + X.commentShare] = this.shareOf(up);
      if (fresh & RELATED && (seen & RELATED) === 0) rows[at + X.relatedShare] = this.shareOf(up);
      for (let bits = fresh; bits !== 0; bits &= bits - 1) rows[at + KIND_AT + 31 - Math.clz32(bits & -bits)] = steps;
      seen |= fresh;
    }
    this.path[block] = path;
    rows[at + X.depth] = this.depth[first]!;
  }

  private shareOf(node: number): number {
    const { chars } = this.sums;
    const { before, count } = this.blocks;
    return (chars[before[this.tree.end[node]!]!]! - chars[before[node]!]!) / (chars[count]! || 1);
  }

  /** The four nearest subtrees around the block that each hold clearly more than the one before. */
  private levels(block: number, at: number): void {
    const { tree, blocks, rows, sums } = this;
    const total = sums.chars[blocks.count]!;
    let held = blocks.chars[block]!;
    let level = 0;
    for (let up = blocks.parent[block]!, steps = 0; up > 0 && level < LEVELS; up = tree.parent[up]!, steps++) {
      const from = blocks.before[up]!;
      const to = blocks.before[tree.end[up]!]!;
      const chars = sums.chars[to]! - sums.chars[from]!;
      if (chars <= held * 1.1) continue;
      held = chars;
      const x = at + LEVEL_AT + level++ * 7;
      rows[x] = chars / total;
      rows[x + 1] = (sums.linkChars[to]! - sums.linkChars[from]!) / chars;
      rows[x + 2] = to - from;
      rows[x + 3] = (sums.longChars[to]! - sums.longChars[from]!) / chars;
      rows[x + 4] = sums.headings[to]! - sums.headings[from]!;
      rows[x + 5] = (block - from) / (to - from);
      rows[x + 6] = steps;
    }
    for (; level < LEVELS; level++) {
      const x = at + LEVEL_AT + level * 7;
      rows[x] = 1;
      rows[x + 1] = sums.linkChars[blocks.count]! / total;
      rows[x + 2] = blocks.count;
      rows[x + 3] = sums.longChars[blocks.count]! / total;
      rows[x + 4] = sums.headings[blocks.count]!;
      rows[x + 5] = block / blocks.count;
      rows[x + 6] = FAR;
    }
  }

  private repeated(block: number, at: number): void {
    const { tree, blocks, rows, repeats } = this;
    rows[at + X.repeatUp] = rows[at + X.repeatUp2] = FAR;
    let found = 0;
    for (let up = blocks.parent[block]!, steps = 0; up > 0; up = tree.parent[up]!, steps++) {
      const group = repeats.groupOf[up]!;
      if (group < 0 || repeats.count[group]! < MIN_REPEATS) continue;
      const chars = repeats.chars[group]!;
      if (found++ === 0) {
        rows[at + X.repeatUp] = steps;
        rows[at + X.repeatCount] = repeats.count[group]!;
        rows[at + X.repeatChars] = chars / repeats.count[group]!;
        rows[at + X.repeatLinks] = repeats.linkChars[group]! / (chars || 1);
        rows[at + X.repeatShare] = chars / (this.sums.chars[blocks.count]! || 1);
        rows[at + X.repeatBlocks] = repeats.blocks[group]! / repeats.count[group]!;
        this.item(block, at, up);
        continue;
      }
      rows[at + X.repeatUp2] = steps;
      rows[at + X.repeatCount2] = repeats.count[group]!;
      rows[at + X.repeatShare2] = chars / (this.sums.chars[blocks.count]! || 1);
      rows[at + X.repeatChars2] = chars / repeats.count[group]!;
      return;
    }
  }

  /** The nearest repeated element around the block. */
  private item(block: number, at: number, node: number): void {
    const { rows, sums, blocks, tree } = this;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    rows[at + X.itemLinks] = sums.links[to]! - sums.links[from]!;
    rows[at + X.itemHeadings] = sums.headings[to]! - sums.headings[from]!;
    rows[at + X.itemLong] = sums.longChars[to]! - sums.longChars[from]!;
    rows[at + X.itemImages] = sums.images[to]! - sums.images[from]!;
    rows[at + X.itemChars] = sums.chars[to]! - sums.chars[from]!;
    rows[at + X.itemPlace] = block - from;
  }

  /** Where the block stands to the element that directly holds the most running text. */
  private best(): void {
    const { tree, blocks, rows, sums } = this;
    const held = new Map<number, number>();
    let best = 0;
    for (let block = 0; block < blocks.count; block++) {
      const chars = sums.longChars[block + 1]! - sums.longChars[block]!;
      if (chars === 0) continue;
      const around = holderOf(tree, blocks.parent[block]!);
      const sum = (held.get(around) ?? 0) + chars;
      held.set(around, sum);
      if (sum > (held.get(best) ?? 0)) best = around;
    }
    const isAbove = new Uint8Array(tree.count);
    for (let up = best; up >= 0; up = tree.parent[up]!) isAbove[up] = 1;
    const from = blocks.before[best]!;
    const to = blocks.before[tree.end[best]!]!;
    const share = (held.get(best) ?? 0) / (sums.longChars[blocks.count]! || 1);
    for (let block = 0; block < blocks.count; block++) {
      const at = block * WIDTH;
      const isIn = best > 0 && block >= from && block < to;
      let common = isIn ? best : blocks.parent[block]!;
      while (isAbove[common] === 0) common = tree.parent[common]!;
      rows[at + X.bestIn] = isIn ? 1 : 0;
      rows[at + X.bestSteps] = this.depth[best]! - this.depth[common]!;
      rows[at + X.bestCommon] = this.shareOf(common);
      rows[at + X.bestAfter] =
        BEST_AT + (block < from ? Math.max(-BEST_AT, block - from) : block >= to ? block - to + 1 : 0);
      rows[at + X.bestShare] = share;
      rows[at + X.bestDepth] = isIn ? this.depth[blocks.parent[block]!]! - this.depth[best]! + 1 : 0;
    }
  }

  private twins(): void {
    const { blocks, rows } = this;
    const counts = new Map<number, number>();
    for (let block = 0; block < blocks.count; block++) {
      counts.set(blocks.hash[block]!, (counts.get(blocks.hash[block]!) ?? 0) + 1);
    }
    for (let block = 0; block < blocks.count; block++) rows[block * WIDTH + X.twins] = counts.get(blocks.hash[block]!)!;
  }

  private paths(): void {
    const { blocks, rows, path, sums } = this;
    const groups = groupBy(path, blocks.count);
    const count = new Int32Array(blocks.count);
    const chars = new Int32Array(blocks.count);
    const linkChars = new Int32Array(blocks.count);
    for (let block = 0; block < blocks.count; block++) {
      const group = groups[block]!;
      count[group]!++;
      chars[group]! += blocks.chars[block]!;
      linkChars[group]! += blocks.linkChars[block]!;
    }
    for (let block = 0; block < blocks.count; block++) {
      const group = groups[block]!;
      const at = block * WIDTH;
      rows[at + X.pathCount] = count[group]!;
      rows[at + X.pathChars] = chars[group]! / count[group]!;
      rows[at + X.pathLinks] = linkChars[group]! / chars[group]!;
      rows[at + X.pathShare] = chars[group]! / sums.chars[blocks.count]!;
    }
  }

  private places(): void {
    const { blocks, rows, sums } = this;
    const { count } = blocks;
    const title = this.headingLevel.indexOf(1);
    let sinceLong = FAR;
    let heading = -1;
    for (let block = 0; block < count; block++) {
      const at = block * WIDTH;
      if (this.headingLevel[block]! > 0) heading = block;
      rows[at + X.blockShare] = block / count;
      rows[at + X.textShare] = sums.chars[block]! / sums.chars[count]!;
      rows[at + X.hasTitle] = title < 0 ? 0 : 1;
      rows[at + X.toTitle] = title < 0 ? 0 : 1 + (block - title) / count;
      rows[at + X.sinceHeading] = heading < 0 ? count : block - heading;
      for (let i = 0; i < TEXT_KINDS.length; i++) {
        rows[at + SAYS_AT + i] = (blocks.textKinds[block]! >> i) & 1;
        rows[at + HEADING_AT + i] = heading < 0 ? 0 : (blocks.textKinds[heading]! >> i) & 1;
      }
      rows[at + X.lastHeading] = heading < 0 ? 0 : this.headingLevel[heading]!;
      rows[at + X.lastHeadingLinks] = heading < 0 ? 0 : blocks.linkChars[heading]! / blocks.chars[heading]!;
      rows[at + X.lastHeadingTitle] = heading < 0 ? 0 : rows[heading * WIDTH + X.titleShare]!;
      rows[at + X.sectionCharsBefore] = heading < 0 ? 0 : sums.chars[block]! - sums.chars[heading]!;
      rows[at + X.sinceLong] = sinceLong;
      sinceLong = this.isLong(block) ? 0 : Math.min(FAR, sinceLong + 1);
      this.window(block, at, 4, X.near4, X.nearLinks4);
      this.window(block, at, 12, X.near12, X.nearLinks12);
    }
    let untilLong = FAR;
    for (let block = count - 1; block >= 0; block--) {
      rows[block * WIDTH + X.untilLong] = untilLong;
      untilLong = this.isLong(block) ? 0 : Math.min(FAR, untilLong + 1);
    }
  }

  private isLong(block: number): boolean {
    return this.sums.longChars[block + 1]! > this.sums.longChars[block]!;
  }

  private window(block: number, at: number, reach: number, long: number, links: number): void {
    const { rows, sums, blocks } = this;
    const from = Math.max(0, block - reach);
    const to = Math.min(blocks.count, block + reach + 1);
    const chars = sums.chars[to]! - sums.chars[from]!;
    rows[at + long] = (sums.longChars[to]! - sums.longChars[from]!) / chars;
    rows[at + links] = (sums.linkChars[to]! - sums.linkChars[from]!) / chars;
  }

  private neighbours(): void {
    const { blocks, rows, path } = this;
    for (let block = 0; block < blocks.count; block++) {
      for (let i = 0; i < NEIGHBOURS.length; i++) {
        const other = block + NEIGHBOURS[i]!;
        if (other < 0 || other >= blocks.count) continue;
        const x = block * WIDTH + NEIGHBOUR_AT + i * 4;
        rows[x] = blocks.chars[other]!;
        rows[x + 1] = blocks.linkChars[other]! / blocks.chars[other]!;
        rows[x + 2] = this.headingLevel[other]!;
        rows[x + 3] = path[other] === path[block] ? 1 : 0;
      }
    }
  }

  private readPage(): void {
    const { blocks, rows, sums, repeats, page } = this;
    const { count } = blocks;
    if (count === 0) return;
    const chars = sums.chars[count]!;
    const facts = readFacts(this.tree, this.kinds);
    let top = -1;
    let linkedHeadings = 0;
    let titles = 0;
    for (let block = 0; block < count; block++) {
      const share = rows[block * WIDTH + X.pathShare]!;
      if (top < 0 || share > rows[top * WIDTH + X.pathShare]!) top = block;
      if (this.headingLevel[block] === 1) titles++;
      if (this.headingLevel[block]! > 0 && blocks.linkChars[block]! > blocks.chars[block]! * 0.8) linkedHeadings++;
    }
    const values: [number, number][] = [
      [Y.pageChars, chars],
      [Y.pageBlocks, count],
      [Y.pageLinks, sums.linkChars[count]! / chars],
      [Y.pageLong, sums.longChars[count]! / chars],
      [Y.pageLongCount, countLong(sums.longChars)],
      [Y.pageHeadings, sums.headings[count]!],
      [Y.pageMain, facts.main],
      [Y.pageArticles, facts.articles],
      [Y.pageRepeatShare, repeats.largestShare / chars],
      [Y.pageRepeatCount, repeats.largestCount],
      [Y.pageLongest, blocks.chars.reduce((most, value) => Math.max(most, value), 0) / chars],
      [Y.pageTimes, facts.times],
      [Y.pageCurrency, blocks.currency.reduce((sum, value) => sum + value, 0) / count],
      [Y.pageForms, facts.forms],
      [Y.pageOgType, facts.ogType],
      [Y.pageLdProduct, facts.ldProduct],
      [Y.pageLdArticle, facts.ldArticle],
      [Y.pageLdForum, facts.ldForum],
      [Y.pageLdList, facts.ldList],
      [Y.pageLdService, facts.ldService],
      [Y.pageComments, facts.comments],
      [Y.pagePosts, facts.posts],
      [Y.pageCode, facts.code],
      [Y.pageBest, rows[X.bestShare]!],
      [Y.pageTopShare, top < 0 ? 0 : rows[top * WIDTH + X.pathShare]!],
      [Y.pageTopChars, top < 0 ? 0 : rows[top * WIDTH + X.pathChars]!],
      [Y.pageTopCount, top < 0 ? 0 : rows[top * WIDTH + X.pathCount]!],
      [Y.pageLinkedHeadings, linkedHeadings],
      [Y.pageTitles, titles],
      [Y.pageUrlSegments, facts.url.segments + 1],
      [Y.pageUrlLast, facts.url.last],
      [Y.pageUrlHyphens, facts.url.hyphens],
      [Y.pageUrlDigits, facts.url.digits],
    ];
    for (const [x, value] of values) page[x] = value;
    this.pageWords();
    const shared = page.subarray(0, PAGE.length);
    for (let block = 0; block < count; block++) rows.set(shared, block * WIDTH + PAGE_AT);
  }

  /** Share of blocks that say something, of elements of a kind. */
  private pageWords(): void {
    const { blocks, kinds, page } = this;
    for (let block = 0; block < blocks.count; block++) {
      for (let bits = blocks.textKinds[block]!; bits !== 0; bits &= bits - 1) {
        page[PAGE_SAYS_AT + 31 - Math.clz32(bits & -bits)]! += 1 / blocks.count;
      }
    }
    let elements = 0;
    for (const kind of kinds) if (kind !== 0) elements++;
    for (const kind of kinds) {
      for (let bits = kind; bits !== 0; bits &= bits - 1)
        page[PAGE_KIND_AT + 31 - Math.clz32(bits & -bits)]! += 1 / elements;
    }
  }

  /** How much the page is of each type, told to every block. */
  tellTypes(types: readonly number[]): void {
    const { rows, blocks } = this;
    for (let block = 0; block < blocks.count; block++) rows.set(types, block * WIDTH + TYPE_AT);
  }
}

/** The element around a paragraph, past wrappers that hold nothing else. */
function holderOf(tree: Tree, paragraph: number): number {
  let around = tree.parent[paragraph]!;
  while (around > 0 && around + 1 === paragraph && tree.end[around] === tree.end[paragraph]) {
    paragraph = around;
    around = tree.parent[around]!;
  }
  return Math.max(0, around);
}

function countLong(sums: Int32Array): number {
  let long = 0;
  for (let i = 1; i < sums.length; i++) if (sums[i]! > sums[i - 1]!) long++;
  return long;
}

function sumBlocks(blocks: Blocks, headingLevel: Uint8Array): Sums {
  const { count } = blocks;
  const sums = {
    chars: new Int32Array(count + 1),
    linkChars: new Int32Array(count + 1),
    longChars: new Int32Array(count + 1),
    headings: new Int32Array(count + 1),
    links: new Int32Array(count + 1),
    images: new Int32Array(count + 1),
  };
  for (let block = 0; block < count; block++) {
    const chars = blocks.chars[block]!;
    const isLong = chars >= LONG_CHARS && blocks.linkChars[block]! < chars * 0.4;
    sums.chars[block + 1] = sums.chars[block]! + chars;
    sums.linkChars[block + 1] = sums.linkChars[block]! + blocks.linkChars[block]!;
    sums.longChars[block + 1] = sums.longChars[block]! + (isLong ? chars : 0);
    sums.links[block + 1] = sums.links[block]! + blocks.links[block]!;
    sums.images[block + 1] = sums.images[block]! + blocks.images[block]!;
    sums.headings[block + 1] = sums.headings[block]! + (headingLevel[block]! > 0 ? 1 : 0);
  }
  return sums;
}

/** Hash of the first class without its digits, 0 when there is none. */
function firstClass(tree: Tree, node: number): number {
  const index = tree.attrIndex(node, A.class);
  if (index < 0) return 0;
  let hash = 0;
  const from = tree.attrFrom[index]!;
  for (let i = from, to = Math.min(tree.attrTo[index]!, from + 100); i < to; i++) {
    const c = tree.source.charCodeAt(i);
    if (c <= 32) {
      if (hash === 0) continue;
      break;
    }
    if (c < 48 || c > 57) hash = Math.imul(hash ^ c, 0x01000193) + 1;
  }
  return hash;
}

/** Per block: number of the first block with the same value. */
export function groupBy(values: Int32Array, count: number): Int32Array {
  const groups = new Int32Array(count);
  const firsts = new Map<number, number>();
  for (let i = 0; i < count; i++) {
    const first = firsts.get(values[i]!);
    if (first === undefined) firsts.set(values[i]!, i);
    groups[i] = first ?? i;
  }
  return groups;
}

/** Children of one parent that look alike. */
export class Repeats {
  /** Per node, -1 outside any group. */
  readonly groupOf: Int32Array;
  readonly count: number[] = [];
  readonly chars: number[] = [];
  readonly linkChars: number[] = [];
  readonly blocks: number[] = [];
  largestShare = 0;
  largestCount = 0;

  constructor(tree: Tree, blocks: Blocks, signature: Int32Array, sums: Sums) {
    this.groupOf = new Int32Array(tree.count).fill(-1);
    const groups = new Map<number, number>();
    const { before } = blocks;
    for (let node = 1; node < tree.count; node++) {
      const from = before[node]!;
      const to = before[tree.end[node]!]!;
      if (tree.tag[node] === TEXT || from === to || (flagsOf(tree.tag[node]!) & F.block) === 0) continue;
      const key = Math.imul(tree.parent[node]!, 0x85ebca6b) ^ signature[node]!;
      let group = groups.get(key);
      if (group === undefined) {
        group = this.count.length;
        groups.set(key, group);
        this.count.push(0);
        this.chars.push(0);
        this.linkChars.push(0);
        this.blocks.push(0);
      }
      this.groupOf[node] = group;
      this.count[group]!++;
      this.chars[group]! += sums.chars[to]! - sums.chars[from]!;
      this.linkChars[group]! += sums.linkChars[to]! - sums.linkChars[from]!;
      this.blocks[group]! += to - from;
    }
    for (let group = 0; group < this.count.length; group++) {
      if (this.count[group]! < MIN_REPEATS || this.chars[group]! <= this.largestShare) continue;
      this.largestShare = this.chars[group]!;
      this.largestCount = this.count[group]!;
    }
  }
}

const LD_TYPE = /"@type"\s{0,4}:\s{0,4}\[?\s{0,4}"([A-Za-z]{1,40})"/g;
const MAX_LD_CHARS = 200_000;
const OG_TYPES = ['website', 'article', 'product'];

interface Facts {
  main: number;
  articles: number;
  times: number;
  forms: number;
  ogType: number;
  ldProduct: number;
  ldArticle: number;
  ldForum: number;
  ldList: number;
  ldService: number;
  comments: number;
  posts: number;
  code: number;
  url: { segments: number; last: number; hyphens: number; digits: number };
}

function readFacts(tree: Tree, kinds: Int32Array): Facts {
  const facts: Facts = {
    main: 0,
    articles: 0,
    times: 0,
    forms: 0,
    ogType: 0,
    ldProduct: 0,
    ldArticle: 0,
    ldForum: 0,
    ldList: 0,
    ldService: 0,
    comments: 0,
    posts: 0,
    code: 0,
    url: { segments: -1, last: 0, hyphens: 0, digits: 0 },
  };
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (tag === T.main) facts.main = 1;
    else if (tag === T.article) facts.articles++;
    else if (tag === T.time) facts.times++;
    else if (tag === T.form) facts.forms++;
    else if (tag === T.pre) facts.code++;
    else if (tag === T.meta) readMeta(tree, node, facts);
    else if (tag === T.link && tree.attr(node, A.rel) === 'canonical') readUrl(tree.attr(node, A.href) ?? '', facts);
    else if (tag === T.script) readTypes(tree, node, facts);
    if (kinds[node]! & COMMENT) facts.comments++;
    if (kinds[node]! & POST) facts.posts++;
  }
  return facts;
}

function readMeta(tree: Tree, node: number, facts: Facts): void {
  const property = tree.attr(node, A.property);
  if (property === 'og:type' && facts.ogType === 0) facts.ogType = ogTypeOf(tree.attr(node, A.content) ?? '');
  if (property === 'og:url' && facts.url.segments < 0) readUrl(tree.attr(node, A.content) ?? '', facts);
}

/** Shape of the page's own address: how deep, and whether its last part reads like a title or a number. */
function readUrl(url: string, facts: Facts): void {
  const segments = url
    .slice(0, 500)
    .replace(/^[a-z]{1,9}:\/\/[^/]{0,300}/i, '')
    .replace(/[?#].{0,500}$/, '')
    .split('/')
    .filter((segment) => segment !== '');
  const last = segments.at(-1) ?? '';
  facts.url = {
    segments: segments.length,
    last: last.length,
    hyphens: last.split(/[-_]/).length - 1,
    digits: last.replace(/\D/g, '').length,
  };
}

function ogTypeOf(content: string): number {
  const type = content.toLowerCase();
  const known = OG_TYPES.findIndex((name) => type.includes(name));
  return known < 0 ? OG_TYPES.length + 1 : known + 1;
}

function readTypes(tree: Tree, script: number, facts: Facts): void {
  if (tree.attr(script, A.type)?.includes('ld+json') !== true || tree.end[script] === script + 1) return;
  const from = tree.from[script + 1]!;
  const text = tree.source.slice(from, Math.min(tree.to[script + 1]!, from + MAX_LD_CHARS));
  for (const [, type] of text.matchAll(LD_TYPE)) {
    if (type === 'Product') facts.ldProduct = 1;
    else if (type === 'Article' || type === 'NewsArticle' || type === 'BlogPosting') facts.ldArticle = 1;
    else if (type === 'QAPage' || type === 'DiscussionForumPosting') facts.ldForum = 1;
    else if (type === 'ItemList' || type === 'CollectionPage') facts.ldList = 1;
    else if (type === 'Service' || type === 'LocalBusiness' || type === 'FAQPage') facts.ldService = 1;
  }
}
