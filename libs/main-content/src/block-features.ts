/**
 * Features of each block of a page, one column of numbers per feature: the blocks' own text, what stands around
 * them, their place, their neighbours, how often their like repeats, and the page as a whole. Only facts that mean the same
 * on every site. None is ever negative (block-model.ts).
 */
import { CONTEXT, type Blocks } from './blocks.js';
import { A, F, flagsOf, FNV_PRIME, hashName, hashRange, T, TEXT, type Tree } from '@troupe/html';
import { KINDS, kindBits, kindsOfElement, type Kind } from './words.js';

const LEVELS = 4;
const CONTEXTS = [
  'p',
  'li',
  'cell',
  'caption',
  'nav',
  'footer',
  'aside',
  'main',
  'article',
  'hidden',
  'dialog',
] as const satisfies readonly (keyof typeof CONTEXT)[];
/** Kinds of elements that blocks know the way to. */
const NEAR_KINDS = [
  'nav',
  'header',
  'footer',
  'related',
  'comment',
  'post',
  'meta',
  'content',
  'article',
  'product',
  'review',
  'paging',
  'modal',
  'action',
  'hidden',
  'figure',
  'tab',
] as const satisfies readonly Kind[];
const LEVEL = ['share', 'links', 'long', 'headings', 'place'] as const;
const NEIGHBOURS = [-1, 1];

const OWN = [
  'chars',
  'words',
  'linkShare',
  'links',
  'sentences',
  'endsSentence',
  'headingLevel',
  'images',
  'twins',
  'titleShare',
] as const;
const PLACE = [
  'blockShare',
  'textShare',
  'depth',
  'toTitle',
  'sinceHeading',
  'lastHeading',
  'untilLong',
  'near4',
  'nearLinks4',
  'nearLinks12',
  'chromeShare',
  'contentShare',
  'mainShare',
  'articleShare',
  'lastHeadingLinks',
  'lastHeadingTitle',
  'bestIn',
  'bestSteps',
  'bestCommon',
  'bestAfter',
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
  'pathCount',
  'pathChars',
  'pathLinks',
  'pathShare',
  'itemLinks',
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
  'pageArticles',
  'pageTimes',
  'pageCurrency',
  'pageForms',
  'pageOgType',
  'pageLdProduct',
  'pageLdArticle',
  'pageLdForum',
  'pageLdList',
  'pageComments',
  'pagePosts',
  'pageTopShare',
  'pageTopChars',
  'pageTopCount',
  'pageLinkedHeadings',
  'pageUrlSegments',
  'pageUrlLast',
  'pageUrlHyphens',
  'pageUrlDigits',
] as const;

/** Features of the page as a whole, for the forests that tell its type. */
export const PAGE_FEATURES: readonly string[] = [...PAGE, ...PAGE_ONLY, ...KINDS.map((kind) => `pageKind.${kind}`)];

/** Filled from the page's own forests: how much the page is of a type. */
export const TYPES = ['article', 'forum', 'list', 'product'] as const;

export const FEATURES: readonly string[] = [
  ...OWN,
  ...CONTEXTS.map((name) => `in.${name}`),
  ...NEAR_KINDS.map((kind) => `kind.${kind}`),
  ...Array.from({ length: LEVELS }, (_, i) => LEVEL.map((name) => `up${i + 1}.${name}`)).flat(),
  ...NEIGHBOURS.flatMap((step) => [`at${step}.chars`, `at${step}.links`]),
  ...PLACE,
  ...REPEAT,
  ...PAGE,
  ...TYPES.map((type) => `type.${type}`),
];

const column = (name: string): number => FEATURES.indexOf(name);
type Names = readonly string[];
const numbered = <L extends Names>(list: L, all: Names): Record<L[number], number> =>
  Object.fromEntries(list.map((name) => [name, all.indexOf(name)])) as Record<L[number], number>;
const X = numbered([...OWN, ...PLACE, ...REPEAT] as const, FEATURES);
const Y = numbered([...PAGE, ...PAGE_ONLY] as const, PAGE_FEATURES);
const CONTEXT_AT = column(`in.${CONTEXTS[0]}`);
const LEVEL_AT = column('up1.share');
const NEIGHBOUR_AT = column(`at${NEIGHBOURS[0]!}.chars`);
const PAGE_AT = column(PAGE[0]);
const PAGE_KIND_AT = PAGE_FEATURES.indexOf(`pageKind.${KINDS[0]!}`);
const CONTEXT_BITS = Int32Array.from(CONTEXTS, (name) => CONTEXT[name]);
const TYPE_AT = column(`type.${TYPES[0]}`);

const CHROME = kindBits('nav', 'breadcrumb', 'footer', 'sidebar', 'share', 'ad', 'modal', 'form', 'filter', 'header');
const CONTENT = kindBits('content', 'article', 'post');
const NEAR = kindBits(...NEAR_KINDS);
/** Column of each kind, by its bit; -1 when blocks do not know the way. */
const NEAR_COLUMN = Int32Array.from(KINDS, (kind) => column(`kind.${kind}`));

const FAR = 40;
/** A longer block that has the words of the title is no title. */
const MAX_TITLE_WORDS = 40;
/** Where the best element begins and ends on the scale of `bestAfter`. */
const BEST_AT = 1000;
const LONG_CHARS = 80;
const MIN_REPEATS = 3;
/** Elements around a block that its path is made of. */
const PATH_STEPS = 5;

/** Sums over blocks, one longer than the blocks. */
interface Sums {
  chars: Int32Array;
  linkChars: Int32Array;
  longChars: Int32Array;
  headings: Int32Array;
  links: Int32Array;
  images: Int32Array;
}

/** Elements that hold blocks, by node; 0 for other nodes. */
interface Elements {
  /** The elements in document order. */
  list: Int32Array;
  depth: Uint16Array;
  /** Bits of `KINDS`. */
  kinds: Int32Array;
  /** Hash of tag and first class. */
  signature: Int32Array;
  /** Nearest element around it that holds more text. */
  wider: Int32Array;
  /** The nearest element, it or one around it, that has a kind, or is `main` or `article`. */
  telling: Int32Array;
}

export class FeatureReader {
  /** `FEATURES` one after the other, each with a value per block. */
  readonly columns: Float32Array;
  /** `PAGE_FEATURES`. */
  readonly page = new Float32Array(PAGE_FEATURES.length);
  private readonly count: number;
  private readonly sums: Sums;
  readonly elements: Elements;
  readonly repeats: Repeats;

  /** @param headingLevel per block, see `headingLevels` */
  constructor(
    private readonly tree: Tree,
    private readonly blocks: Blocks,
    private readonly headingLevel: Uint8Array,
  ) {
    this.count = blocks.count;
    this.columns = new Float32Array(this.count * FEATURES.length);
    this.sums = sumBlocks(blocks, headingLevel);
    this.elements = readElements(tree, blocks, this.sums.chars);
    this.repeats = findRepeats(tree, blocks, this.elements, this.sums);
  }

  read(): Float32Array {
    if (this.count === 0) return this.columns;
    this.own();
    for (let block = 0; block < this.count; block++) {
      this.contexts(block);
      this.around(block);
      this.levels(block);
      this.repeated(block);
    }
    this.paths();
    this.best();
    this.headings();
    this.places();
    this.neighbours();
    this.readPage();
    return this.columns;
  }

  /** Elements around blocks, an element once per block inside. */
  elementsAround(): number {
    let elements = 0;
    for (let block = 0; block < this.count; block++) elements += this.elements.depth[this.blocks.parent[block]!]!;
    return elements;
  }

  /** How much the page is of each type, told to every block. */
  tellTypes(types: readonly number[]): void {
    types.forEach((value, i) => this.fill(TYPE_AT + i, value));
  }

  private put(x: number, values: ArrayLike<number>): void {
    this.columns.set(values, x * this.count);
  }

  private fill(x: number, value: number): void {
    this.columns.fill(value, x * this.count, (x + 1) * this.count);
  }

  private own(): void {
    const { count, columns, blocks: b } = this;
    const ofPage = (values: Int32Array): Int32Array => values.subarray(0, count);
    this.put(X.chars, ofPage(b.chars));
    this.put(X.words, ofPage(b.words));
    this.put(X.links, ofPage(b.links));
    this.put(X.sentences, ofPage(b.sentences));
    this.put(X.images, ofPage(b.images));
    this.put(X.endsSentence, b.endsSentence.subarray(0, count));
    this.put(X.headingLevel, this.headingLevel);
    const twins = groupBy(b.hash.map((hash, block) => hash + b.chars[block]!).subarray(0, count));
    const sizes = new Int32Array(count);
    for (let block = 0; block < count; block++) sizes[twins[block]!]!++;
    for (let block = 0; block < count; block++) {
      const words = b.words[block]!;
      columns[X.linkShare * count + block] = b.linkChars[block]! / b.chars[block]!;
      columns[X.titleShare * count + block] =
        words > MAX_TITLE_WORDS ? 0 : Math.min(1, b.titleWords[block]! / (words || 1));
      columns[X.twins * count + block] = sizes[twins[block]!]!;
    }
  }

  private contexts(block: number): void {
    const { count, columns, blocks } = this;
    const context = blocks.context[blocks.first[block]!]!;
    for (let i = 0; i < CONTEXT_BITS.length; i++) {
      if (context & CONTEXT_BITS[i]!) columns[(CONTEXT_AT + i) * count + block] = 1;
    }
  }

  /** Steps up to the nearest element of each kind, and how much of the page some of them hold. */
  private around(block: number): void {
    const { tree, count, columns } = this;
    const { depth, kinds, telling } = this.elements;
    const first = tree.parent[this.blocks.first[block]!]!;
    let seen = 0;
    for (let up = telling[first]!; up > 0; up = telling[tree.parent[up]!]!) {
      const tag = tree.tag[up]!;
      const fresh = kinds[up]! & ~seen;
      if (tag === T.main) this.hold(X.mainShare, block, up);
      else if (tag === T.article && columns[X.articleShare * count + block] === 0) this.hold(X.articleShare, block, up);
      if (fresh & CHROME && (seen & CHROME) === 0) this.hold(X.chromeShare, block, up);
      if (fresh & CONTENT && (seen & CONTENT) === 0) this.hold(X.contentShare, block, up);
      for (let bits = fresh & NEAR; bits !== 0; bits &= bits - 1) {
        columns[NEAR_COLUMN[31 - Math.clz32(bits & -bits)]! * count + block] = depth[first]! - depth[up]!;
      }
      seen |= fresh;
    }
    for (let bits = NEAR & ~seen; bits !== 0; bits &= bits - 1) {
      columns[NEAR_COLUMN[31 - Math.clz32(bits & -bits)]! * count + block] = FAR;
    }
    columns[X.depth * count + block] = depth[first]!;
  }

  private hold(x: number, block: number, node: number): void {
    this.columns[x * this.count + block] = this.shareOf(node);
  }

  private shareOf(node: number): number {
    const { chars } = this.sums;
    const { before } = this.blocks;
    return (chars[before[this.tree.end[node]!]!]! - chars[before[node]!]!) / (chars[this.count]! || 1);
  }

  /** The four nearest subtrees around the block that each hold clearly more than the one before. */
  private levels(block: number): void {
    const { tree, blocks, sums, count } = this;
    const { wider } = this.elements;
    let held = blocks.chars[block]!;
    let level = 0;
    for (let up = blocks.parent[block]!; up > 0 && level < LEVELS; up = wider[up]!) {
      const from = blocks.before[up]!;
      const to = blocks.before[tree.end[up]!]!;
      const chars = sums.chars[to]! - sums.chars[from]!;
      if (chars <= held * 1.1) continue;
      held = chars;
      this.level(level++, block, from, to);
    }
    for (; level < LEVELS; level++) this.level(level, block, 0, count);
  }

  private level(level: number, block: number, from: number, to: number): void {
    const { columns, sums, count } = this;
    const chars = sums.chars[to]! - sums.chars[from]!;
    const x = (LEVEL_AT + level * LEVEL.length) * count + block;
    columns[x] = chars / sums.chars[count]!;
    columns[x + count] = (sums.linkChars[to]! - sums.linkChars[from]!) / chars;
    columns[x + count * 2] = (sums.longChars[to]! - sums.longChars[from]!) / chars;
    columns[x + count * 3] = sums.headings[to]! - sums.headings[from]!;
    columns[x + count * 4] = (block - from) / (to - from);
  }

  private repeated(block: number): void {
    const { tree, blocks, columns, count, repeats } = this;
    const { depth } = this.elements;
    const parent = blocks.parent[block]!;
    const total = this.sums.chars[count]! || 1;
    const near = repeats.nearest[parent]!;
    columns[X.repeatUp * count + block] = near > 0 ? depth[parent]! - depth[near]! : FAR;
    columns[X.repeatUp2 * count + block] = FAR;
    if (near === 0) return;
    const group = repeats.groupOf[near]!;
    const size = repeats.count[group]!;
    const chars = repeats.chars[group]!;
    columns[X.repeatCount * count + block] = size;
    columns[X.repeatChars * count + block] = chars / size;
    columns[X.repeatLinks * count + block] = repeats.linkChars[group]! / (chars || 1);
    columns[X.repeatShare * count + block] = chars / total;
    columns[X.repeatBlocks * count + block] = repeats.blocks[group]! / size;
    this.item(block, near);
    const next = repeats.nearest[tree.parent[near]!]!;
    if (next === 0) return;
    columns[X.repeatUp2 * count + block] = depth[parent]! - depth[next]!;
    columns[X.repeatCount2 * count + block] = repeats.count[repeats.groupOf[next]!]!;
    columns[X.repeatShare2 * count + block] = repeats.chars[repeats.groupOf[next]!]! / total;
  }

  /** The nearest repeated element around the block. */
  private item(block: number, node: number): void {
    const { columns, count, sums, blocks, tree } = this;
    const from = blocks.before[node]!;
    const to = blocks.before[tree.end[node]!]!;
    columns[X.itemLinks * count + block] = sums.links[to]! - sums.links[from]!;
    columns[X.itemLong * count + block] = sums.longChars[to]! - sums.longChars[from]!;
    columns[X.itemImages * count + block] = sums.images[to]! - sums.images[from]!;
    columns[X.itemChars * count + block] = sums.chars[to]! - sums.chars[from]!;
    columns[X.itemPlace * count + block] = block - from;
  }

  /** Blocks with the same path. */
  private paths(): void {
    const { count, blocks, columns, sums } = this;
    const groups = groupBy(this.readPaths());
    const size = new Int32Array(count);
    const chars = new Int32Array(count);
    const linkChars = new Int32Array(count);
    for (let block = 0; block < count; block++) {
      const group = groups[block]!;
      size[group]!++;
      chars[group]! += blocks.chars[block]!;
      linkChars[group]! += blocks.linkChars[block]!;
    }
    for (let block = 0; block < count; block++) {
      const group = groups[block]!;
      columns[X.pathCount * count + block] = size[group]!;
      columns[X.pathChars * count + block] = chars[group]! / size[group]!;
      columns[X.pathLinks * count + block] = linkChars[group]! / chars[group]!;
      columns[X.pathShare * count + block] = chars[group]! / sums.chars[count]!;
    }
  }

  /** Per block: hash of the tags and first classes around it. */
  private readPaths(): Int32Array {
    const { tree, blocks } = this;
    const { signature } = this.elements;
    const paths = new Int32Array(this.count);
    for (let block = 0; block < paths.length; block++) {
      let path = 0;
      let up = tree.parent[blocks.first[block]!]!;
      for (let steps = 0; up > 0 && steps < PATH_STEPS; up = tree.parent[up]!, steps++) {
        path = Math.imul(path, 31) + signature[up]!;
      }
      paths[block] = path;
    }
    return paths;
  }

  /** Where the block stands to the element that directly holds the most running text. */
  private best(): void {
    const { tree, blocks, columns, count, sums } = this;
    const { list, depth } = this.elements;
    const held = new Int32Array(tree.count);
    let best = 0;
    for (let block = 0; block < count; block++) {
      const chars = sums.longChars[block + 1]! - sums.longChars[block]!;
      if (chars === 0) continue;
      const around = holderOf(tree, blocks.parent[block]!);
      held[around]! += chars;
      if (held[around]! > held[best]!) best = around;
    }
    /** Per element: the nearest element around both it and the best. */
    const common = new Int32Array(tree.count);
    for (let up = best; up > 0; up = tree.parent[up]!) common[up] = up;
    for (const node of list) if (common[node] === 0) common[node] = common[tree.parent[node]!]!;
    const from = blocks.before[best]!;
    const to = blocks.before[tree.end[best]!]!;
    for (let block = 0; block < count; block++) {
      const isIn = best > 0 && block >= from && block < to;
      const parent = blocks.parent[block]!;
      columns[X.bestIn * count + block] = isIn ? 1 : 0;
      columns[X.bestSteps * count + block] = depth[best]! - depth[common[parent]!]!;
      columns[X.bestCommon * count + block] = this.shareOf(common[parent]!);
      columns[X.bestAfter * count + block] =
        BEST_AT + (block < from ? Math.max(-BEST_AT, block - from) : block >= to ? block - to + 1 : 0);
      columns[X.bestDepth * count + block] = isIn ? depth[parent]! - depth[best]! + 1 : 0;
    }
    this.page[Y.pageBest] = held[best]! / (sums.longChars[count]! || 1);
  }

  private headings(): void {
    const { blocks, columns, count, headingLevel } = this;
    let heading = -1;
    for (let block = 0; block < count; block++) {
      if (headingLevel[block]! > 0) heading = block;
      columns[X.sinceHeading * count + block] = heading < 0 ? count : block - heading;
      if (heading < 0) continue;
      columns[X.lastHeading * count + block] = headingLevel[heading]!;
      columns[X.lastHeadingLinks * count + block] = blocks.linkChars[heading]! / blocks.chars[heading]!;
      columns[X.lastHeadingTitle * count + block] = columns[X.titleShare * count + heading]!;
    }
  }

  private places(): void {
    const { columns, count, sums } = this;
    const title = this.headingLevel.indexOf(1);
    for (let block = 0; block < count; block++) {
      columns[X.blockShare * count + block] = block / count;
      columns[X.textShare * count + block] = sums.chars[block]! / sums.chars[count]!;
      if (title >= 0) columns[X.toTitle * count + block] = 1 + (block - title) / count;
      columns[X.near4 * count + block] = this.shareNear(sums.longChars, block, 4);
      columns[X.nearLinks4 * count + block] = this.shareNear(sums.linkChars, block, 4);
      columns[X.nearLinks12 * count + block] = this.shareNear(sums.linkChars, block, 12);
    }
    let untilLong = FAR;
    for (let block = count - 1; block >= 0; block--) {
      columns[X.untilLong * count + block] = untilLong;
      untilLong = sums.longChars[block + 1]! > sums.longChars[block]! ? 0 : Math.min(FAR, untilLong + 1);
    }
  }

  /** Share of `part` among the characters of a block and some on either side. */
  private shareNear(part: Int32Array, block: number, reach: number): number {
    const { chars } = this.sums;
    const from = Math.max(0, block - reach);
    const to = Math.min(this.count, block + reach + 1);
    return (part[to]! - part[from]!) / (chars[to]! - chars[from]!);
  }

  private neighbours(): void {
    const { blocks, columns, count } = this;
    NEIGHBOURS.forEach((step, i) => {
      const x = (NEIGHBOUR_AT + i * 2) * count;
      for (let block = Math.max(0, -step); block < Math.min(count, count - step); block++) {
        columns[x + block] = blocks.chars[block + step]!;
        columns[x + count + block] = blocks.linkChars[block + step]! / blocks.chars[block + step]!;
      }
    });
  }

  private readPage(): void {
    const { blocks, columns, count, sums, repeats, page } = this;
    const chars = sums.chars[count]!;
    const pathShare = columns.subarray(X.pathShare * count, (X.pathShare + 1) * count);
    let top = 0;
    let longest = 0;
    let currency = 0;
    for (let block = 0; block < count; block++) {
      if (pathShare[block]! > pathShare[top]!) top = block;
      longest = Math.max(longest, blocks.chars[block]!);
      currency += blocks.currency[block]!;
      const isLinked = this.headingLevel[block]! > 0 && blocks.linkChars[block]! > blocks.chars[block]! * 0.8;
      if (isLinked) page[Y.pageLinkedHeadings]!++;
      if (sums.longChars[block + 1]! > sums.longChars[block]!) page[Y.pageLongCount]!++;
    }
    page[Y.pageChars] = chars;
    page[Y.pageBlocks] = count;
    page[Y.pageLinks] = sums.linkChars[count]! / chars;
    page[Y.pageLong] = sums.longChars[count]! / chars;
    page[Y.pageHeadings] = sums.headings[count]!;
    page[Y.pageRepeatShare] = repeats.largestChars / chars;
    page[Y.pageRepeatCount] = repeats.largestCount;
    page[Y.pageLongest] = longest / chars;
    page[Y.pageCurrency] = currency / count;
    page[Y.pageTopShare] = pathShare[top]!;
    page[Y.pageTopChars] = columns[X.pathChars * count + top]!;
    page[Y.pageTopCount] = columns[X.pathCount * count + top]!;
    this.pageKinds();
    this.pageFacts();
    for (let i = 0; i < PAGE.length; i++) this.fill(PAGE_AT + i, page[i]!);
  }

  /** Share of each kind in the elements that have any. */
  private pageKinds(): void {
    const { page } = this;
    const { list, kinds } = this.elements;
    const counts = new Int32Array(KINDS.length);
    let elements = 0;
    for (const node of list) {
      if (kinds[node] !== 0) elements++;
      for (let bits = kinds[node]!; bits !== 0; bits &= bits - 1) counts[31 - Math.clz32(bits & -bits)]!++;
    }
    for (let i = 0; i < counts.length; i++) page[PAGE_KIND_AT + i] = counts[i]! / (elements || 1);
    page[Y.pageComments] = counts[KINDS.indexOf('comment')]!;
    page[Y.pagePosts] = counts[KINDS.indexOf('post')]!;
  }

  private pageFacts(): void {
    const { page } = this;
    const facts = readFacts(this.tree);
    page[Y.pageArticles] = facts.articles;
    page[Y.pageTimes] = facts.times;
    page[Y.pageForms] = facts.forms;
    page[Y.pageOgType] = facts.ogType;
    page[Y.pageLdProduct] = facts.ldProduct;
    page[Y.pageLdArticle] = facts.ldArticle;
    page[Y.pageLdForum] = facts.ldForum;
    page[Y.pageLdList] = facts.ldList;
    page[Y.pageUrlSegments] = facts.url.segments + 1;
    page[Y.pageUrlLast] = facts.url.last;
    page[Y.pageUrlHyphens] = facts.url.hyphens;
    page[Y.pageUrlDigits] = facts.url.digits;
  }
}

/** Per block: 1 to 6 in a heading, else 0. */
export function headingLevels(tree: Tree, blocks: Blocks): Uint8Array {
  const levels = new Uint8Array(blocks.count);
  for (let block = 0; block < blocks.count; block++) {
    const first = blocks.first[block]!;
    if (blocks.context[first]! & CONTEXT.heading) levels[block] = headingLevel(tree, first);
  }
  return levels;
}

function headingLevel(tree: Tree, node: number): number {
  for (let up = tree.parent[node]!, steps = 0; up > 0 && steps < 6; up = tree.parent[up]!, steps++) {
    const tag = tree.tag[up]!;
    if (flagsOf(tag) & F.heading) return tag - T.h1 + 1;
  }
  return 2;
}

function readElements(tree: Tree, { before }: Blocks, chars: Int32Array): Elements {
  const list = new Int32Array(tree.count);
  const depth = new Uint16Array(tree.count);
  const kinds = new Int32Array(tree.count);
  const signature = new Int32Array(tree.count);
  const wider = new Int32Array(tree.count);
  const telling = new Int32Array(tree.count);
  const charsIn = (node: number): number => chars[before[tree.end[node]!]!]! - chars[before[node]!]!;
  let count = 0;
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (tag === TEXT || before[tree.end[node]!] === before[node]) continue;
    const up = tree.parent[node]!;
    let hash = Math.imul(tag + 1, 0x9e3779b1);
    if (tree.from[node]! < tree.to[node]!) {
      kinds[node] = kindsOfElement(tree, node);
      hash ^= firstClass(tree, node);
    }
    const isRoot = tag === T.body || tag === T.html;
    const isTelling = (kinds[node] !== 0 && !isRoot) || tag === T.main || tag === T.article;
    list[count++] = node;
    depth[node] = depth[up]! + 1;
    signature[node] = hash;
    wider[node] = charsIn(up) > charsIn(node) ? up : wider[up]!;
    telling[node] = isTelling ? node : telling[up]!;
  }
  return { list: list.subarray(0, count), depth, kinds, signature, wider, telling };
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
    if (c < 48 || c > 57) hash = Math.imul(hash ^ c, FNV_PRIME) + 1;
  }
  return hash;
}

/** Children of one parent that look alike. */
interface Repeats {
  /** Per node: the group of a block element. */
  groupOf: Int32Array;
  /** Per node: it or the nearest element around it in a group of at least `MIN_REPEATS`, 0 without one. */
  nearest: Int32Array;
  /** Per group. */
  count: Int32Array;
  chars: Int32Array;
  linkChars: Int32Array;
  blocks: Int32Array;
  largestChars: number;
  largestCount: number;
}

function findRepeats(tree: Tree, { before }: Blocks, { list, signature }: Elements, sums: Sums): Repeats {
  const alike = list.filter((node) => (flagsOf(tree.tag[node]!) & F.block) !== 0);
  const groups = groupBy(alike.map((node) => Math.imul(tree.parent[node]!, 0x85ebca6b) ^ signature[node]!));
  const column = (): Int32Array => new Int32Array(alike.length);
  const [count, chars, linkChars, blocks] = [column(), column(), column(), column()];
  const groupOf = new Int32Array(tree.count).fill(-1);
  for (let i = 0; i < alike.length; i++) {
    const node = alike[i]!;
    const group = groups[i]!;
    const from = before[node]!;
    const to = before[tree.end[node]!]!;
    groupOf[node] = group;
    count[group]!++;
    chars[group]! += sums.chars[to]! - sums.chars[from]!;
    linkChars[group]! += sums.linkChars[to]! - sums.linkChars[from]!;
    blocks[group]! += to - from;
  }
  const nearest = new Int32Array(tree.count);
  for (const node of list) {
    const isRepeated = groupOf[node]! >= 0 && count[groupOf[node]!]! >= MIN_REPEATS;
    nearest[node] = isRepeated ? node : nearest[tree.parent[node]!]!;
  }
  let largest = -1;
  for (let group = 0; group < count.length; group++) {
    if (count[group]! >= MIN_REPEATS && (largest < 0 || chars[group]! > chars[largest]!)) largest = group;
  }
  const [largestChars, largestCount] = largest < 0 ? [0, 0] : [chars[largest]!, count[largest]!];
  return { groupOf, nearest, count, chars, linkChars, blocks, largestChars, largestCount };
}

/** Per value: place of the first value that is the same. */
function groupBy(values: Int32Array): Int32Array {
  const bits = 32 - Math.clz32(values.length * 2);
  /** One more than the place, 0 where nothing is. */
  const slots = new Int32Array(2 ** bits);
  const firsts = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    let slot = Math.imul(value, 0x9e3779b1) >>> (32 - bits);
    while (slots[slot] !== 0 && values[slots[slot]! - 1] !== value) slot = (slot + 1) & (slots.length - 1);
    if (slots[slot] === 0) slots[slot] = i + 1;
    firsts[i] = slots[slot]! - 1;
  }
  return firsts;
}

const LD_TYPE = /"@type"\s{0,4}:\s{0,4}\[?\s{0,4}"([A-Za-z]{1,40})"/g;
const MAX_LD_CHARS = 200_000;
const OG_TYPES = ['website', 'article', 'product'];

interface Facts {
  articles: number;
  times: number;
  forms: number;
  ogType: number;
  ldProduct: number;
  ldArticle: number;
  ldForum: number;
  ldList: number;
  url: { segments: number; last: number; hyphens: number; digits: number };
}

function readFacts(tree: Tree): Facts {
  const facts: Facts = {
    articles: 0,
    times: 0,
    forms: 0,
    ogType: 0,
    ldProduct: 0,
    ldArticle: 0,
    ldForum: 0,
    ldList: 0,
    url: { segments: -1, last: 0, hyphens: 0, digits: 0 },
  };
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (tag === T.article) facts.articles++;
    else if (tag === T.time) facts.times++;
    else if (tag === T.form) facts.forms++;
    else if (tag === T.meta) readMeta(tree, node, facts);
    else if (tag === T.link && isValue(tree, node, A.rel, CANONICAL)) readUrl(tree.attr(node, A.href) ?? '', facts);
    else if (tag === T.script) readTypes(tree, node, facts);
  }
  return facts;
}

const CANONICAL = hashName('canonical');
const OG_TYPE = hashName('og:type');
const OG_URL = hashName('og:url');

/** Whether an attribute has the value with this hash, in capitals or not. */
function isValue(tree: Tree, node: number, name: number, value: number): boolean {
  const i = tree.attrIndex(node, name);
  return i >= 0 && hashRange(tree.source, tree.attrFrom[i]!, tree.attrTo[i]!) === value;
}

function readMeta(tree: Tree, node: number, facts: Facts): void {
  if (facts.ogType === 0 && isValue(tree, node, A.property, OG_TYPE))
    facts.ogType = ogTypeOf(tree.attr(node, A.content) ?? '');
  else if (facts.url.segments < 0 && isValue(tree, node, A.property, OG_URL))
    readUrl(tree.attr(node, A.content) ?? '', facts);
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
  }
}
