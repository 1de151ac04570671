/**
 * Main content of a page: every block of text is judged by a forest of small trees. The cut through the estimates is the
 * one that promises the best balance of text kept and text dropped on this page, so a clear page is cut sharply and an
 * unclear one generously.
 */
import { Blocks, CHROME, CONTEXT, isInside } from './blocks.js';
import { bestCut } from './best-cut.js';
import { FeatureReader, TYPES, headingLevels } from './block-features.js';
import { BLOCKS, PAGE_TYPES } from './block-model.data.js';
import { Forest, probability } from './block-model.js';
import { DROP, F, flagsOf, KEEP, type Mask, type OwnTexts, T, TEXT, type Tree } from '@troupe/html';
import { isOfDocumentation, keepBody } from './page-body.js';
import { keepRecords } from './records.js';
import { keepContents, keepPartsWhole } from './whole-parts.js';

export interface BlockModel {
  /** Forests for the page, one per type of `TYPES`. */
  types: readonly Forest[];
  /** Forest for each block. */
  blocks: Forest;
}

export interface MainContent {
  mask: Mask;
  /** Promised F1 of the words kept, 0 to 1. */
  estimate: number;
  /** The page is unclear: only what is surely no content was dropped. */
  isFuller: boolean;
  /** Which share of the content was left out, as the estimates of blocks have it: 0 to 1. */
  loss: number;
}

let trained: BlockModel | null = null;
const trainedModel = (): BlockModel =>
  (trained ??= {
    types: PAGE_TYPES.map((base64) => new Forest(base64)),
    blocks: new Forest(BLOCKS),
  });

/**
 * Beside an article text is more often a teaser than the estimates of blocks say: their log odds shift by this much on a
 * page that is surely an article, by less on a less sure one, and by nothing where articles are less likely than the second.
 */
const ARTICLE_SHIFT = -0.9;
const UNSURE_ARTICLE = 0.5;
/**
 * On a page that is surely no article the cut goes this much lower, on others to the power of how sure that is: lists and
 * buttons are worth more than their words.
 */
const GENEROUS = 0.85;
/** The same for blocks that are mostly links, which a reader misses more than their few words tell, and most in lists. */
const GENEROUS_LINKS = 0.3;
const GENEROUS_LISTED_LINKS = 0.15;
/** A page with a lower promise keeps everything except what is surely no content. */
const MIN_ESTIMATE = 0.3;
const SURELY_NOT = 0.08;

/** Pages with more blocks are not judged block by block: a row of features per block would cost too much. */
const MAX_BLOCKS = 8_000;
/** The same for elements around blocks, added up over all blocks: what is around a block is looked at element by element. */
const MAX_AROUND = 400_000;

function outsideChrome(blocks: Blocks): Uint8Array {
  return Uint8Array.from({ length: blocks.count }, (_, block) => (isInside(blocks, block, CHROME) ? 0 : 1));
}

/** Null when nothing would be left. */
export function selectMainContent(
  tree: Tree,
  mask: Mask,
  texts: OwnTexts,
  model: BlockModel = trainedModel(),
): MainContent | null {
  const blocks = new Blocks(tree, mask, texts);
  if (blocks.count === 0) return null;
  const unjudged = (): MainContent => {
    return { mask: maskOf(tree, mask, blocks, outsideChrome(blocks)), estimate: 0, isFuller: true, loss: 0 };
  };
  if (blocks.count > MAX_BLOCKS) return unjudged();
  const headingLevel = headingLevels(tree, blocks);
  const reader = new FeatureReader(tree, blocks, headingLevel);
  if (reader.elementsAround() > MAX_AROUND) return unjudged();
  reader.read();
  const types = model.types.map((forest) => probability(forest.logOdds(reader.page, 1)[0]!));
  reader.tellTypes(types);
  const article = types[TYPES.indexOf('article')] ?? 0;
  const shift = ARTICLE_SHIFT * Math.max(0, (article - UNSURE_ARTICLE) / (1 - UNSURE_ARTICLE));
  const odds = model.blocks.logOdds(reader.columns, blocks.count);
  const estimates = new Float32Array(blocks.count);
  for (let block = 0; block < blocks.count; block++) estimates[block] = probability(odds[block]! + shift);
  const { cut, estimate } = bestCut(estimates, blocks.words);
  const isFuller = estimate < MIN_ESTIMATE;
  const kept = new Uint8Array(blocks.count);
  const leastBy = (generous: number): number => (isFuller ? SURELY_NOT : cut * generous ** (1 - article));
  const least = leastBy(GENEROUS);
  const leastLink = leastBy(GENEROUS_LINKS);
  const leastListedLink = leastBy(GENEROUS_LISTED_LINKS);
  for (let block = 0; block < blocks.count; block++) {
    const isLink = blocks.linkChars[block]! * 2 > blocks.chars[block]!;
    const leastOfLink = isInside(blocks, block, CONTEXT.li) ? leastListedLink : leastLink;
    kept[block] = estimates[block]! >= (isLink ? leastOfLink : least) ? 1 : 0;
  }
  if (!kept.includes(1)) kept.fill(1);
  if (!isFuller) {
    const { elements, repeats } = reader;
    const judged = { tree, blocks, headingLevel, isCollection: article < 0.5, estimates, kept };
    const isDocumentation = isOfDocumentation({ tree, blocks, elements: elements.list });
    keepPartsWhole(judged);
    keepRecords({ ...judged, types, elements, repeats, isDocumentation });
    keepBody({ ...judged, elements: elements.list, kinds: elements.kinds, isDocumentation });
    keepContents(judged);
  }
  return { mask: maskOf(tree, mask, blocks, kept), estimate, isFuller, loss: lostShare(blocks, estimates, kept) };
}

/** Share of the characters left out that may be content, weighed by how likely they are, among these and those kept. */
function lostShare({ count, chars }: Blocks, estimates: Float32Array, kept: Uint8Array): number {
  let lost = 0;
  let shown = 0;
  for (let block = 0; block < count; block++) {
    if (kept[block] === 1) shown += chars[block]!;
    else lost += chars[block]! * estimates[block]!;
  }
  return lost / (lost + shown);
}

/** Mask of the blocks kept, the elements around them and the images among them. */
function maskOf(tree: Tree, whole: Mask, blocks: Blocks, kept: Uint8Array): Mask {
  return new MaskBuilder(tree, whole, blocks, kept).build();
}

class MaskBuilder {
  private readonly mask: Mask;
  /** Characters kept before each block, and characters before it. */
  private readonly keptChars: Int32Array;
  private readonly chars: Int32Array;

  constructor(
    private readonly tree: Tree,
    private readonly whole: Mask,
    private readonly blocks: Blocks,
    private readonly kept: Uint8Array,
  ) {
    this.mask = new Uint8Array(tree.count);
    this.keptChars = new Int32Array(blocks.count + 1);
    this.chars = new Int32Array(blocks.count + 1);
    for (let block = 0; block < blocks.count; block++) {
      const chars = blocks.chars[block]!;
      this.chars[block + 1] = this.chars[block]! + chars;
      this.keptChars[block + 1] = this.keptChars[block]! + (kept[block] === 1 ? chars : 0);
    }
  }

  build(): Mask {
    this.keepNodes();
    this.dropEmpty();
    return this.mask;
  }

  private keepNodes(): void {
    const { tree, whole, blocks, mask, kept } = this;
    for (let node = 0; node < tree.count;) {
      if (whole[node] === DROP) {
        node = tree.end[node]!;
        continue;
      }
      mask[node] = whole[node]!;
      const block = blocks.ofNode[node]!;
      if (block >= 0 && kept[block] === 0) mask[node] = DROP;
      else if (tree.tag[node] === T.img && !this.isImageKept(node)) mask[node] = DROP;
      node++;
    }
  }

  /** An image goes with the text around it: that of the nearest element that has any. */
  private isImageKept(image: number): boolean {
    const { tree, blocks } = this;
    for (let up = tree.parent[image]!; up >= 0; up = tree.parent[up]!) {
      const from = blocks.before[up]!;
      const to = blocks.before[tree.end[up]!]!;
      const chars = this.chars[to]! - this.chars[from]!;
      if (chars > 0) return (this.keptChars[to]! - this.keptChars[from]!) * 2 > chars;
    }
    return false;
  }

  /** Elements that held text or images and no longer do. */
  private dropEmpty(): void {
    const { tree, mask, whole } = this;
    const holds = new Uint8Array(tree.count);
    for (let node = tree.count - 1; node > 0; node--) {
      const isLeaf = tree.tag[node] === TEXT ? this.blocks.ofNode[node]! >= 0 : tree.tag[node] === T.img;
      if (isLeaf && mask[node] === KEEP) holds[node] = 1;
      if (holds[node] === 1) holds[tree.parent[node]!] = 1;
      else if (whole[node] !== DROP && tree.tag[node] !== TEXT && this.held(node)) mask[node] = DROP;
    }
  }

  private held(node: number): boolean {
    const { tree, blocks } = this;
    if (blocks.before[node] !== blocks.before[tree.end[node]!]) return !isGap(tree, node);
    return (flagsOf(tree.tag[node]!) & F.block) !== 0 && tree.tag[node] !== T.hr && !isGap(tree, node);
  }
}

/** Cells stay where their row stays, so that columns keep their places. */
function isGap(tree: Tree, node: number): boolean {
  return tree.tag[node] === T.td || tree.tag[node] === T.th;
}
