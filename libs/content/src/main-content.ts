/**
 * Main content of a page: every block of text is judged by two small forests of trees, the second of which sees how the
 * first judged the block's surroundings. The cut through the estimates is the one that promises the best balance of text
 * kept and text dropped on this page, so a clear page is cut sharply and an unclear one generously.
 */
import { Blocks } from './blocks.js';
import { FeatureReader, WIDTH } from './block-features.js';
import { FIRST_LOOK, SECOND_LOOK } from './block-model.data.js';
import { Forest } from './block-model.js';
import { DROP, KEEP, type Mask } from './mask.js';
import type { Measures } from './measures.js';
import { bestCut, lookAgain } from './second-look.js';
import { F, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';
import { keepPartsWhole } from './whole-parts.js';

/** The two forests. */
export interface BlockModel {
  first: Forest;
  second: Forest;
}

export interface MainContent {
  mask: Mask;
  /** Promised F1 of the words kept, 0 to 1. */
  estimate: number;
  /** The page is unclear: only what is surely no content was dropped. */
  isFuller: boolean;
}

let trained: BlockModel | null = null;
const trainedModel = (): BlockModel => (trained ??= { first: new Forest(FIRST_LOOK), second: new Forest(SECOND_LOOK) });

/** A page that promises less than this is kept but for what is surely no content. */
const MIN_ESTIMATE = 0.3;
const SURELY_NOT = 0.08;

/** Null when nothing would be left. */
export function selectMainContent(
  tree: Tree,
  mask: Mask,
  { ownText }: Pick<Measures, 'ownText'>,
  model: BlockModel = trainedModel(),
): MainContent | null {
  const blocks = new Blocks(tree, mask, ownText);
  if (blocks.count === 0) return null;
  const reader = new FeatureReader(tree, blocks);
  const estimates = estimateBlocks(reader, model);
  const { cut, estimate } = bestCut(estimates, blocks.words, blocks.count);
  const isFuller = estimate < MIN_ESTIMATE;
  const kept = new Uint8Array(blocks.count);
  const least = isFuller ? SURELY_NOT : cut;
  for (let block = 0; block < blocks.count; block++) kept[block] = estimates[block]! >= least ? 1 : 0;
  keepPartsWhole({ tree, blocks, headingLevel: reader.headingLevel, estimates, kept });
  return { mask: maskOf(tree, mask, blocks, kept), estimate, isFuller };
}

/** Probability of each block to be content. */
export function estimateBlocks(reader: FeatureReader, model: BlockModel): Float32Array {
  const rows = reader.read();
  lookAgain(reader, model.first.estimate(rows, WIDTH));
  return model.second.estimate(rows, WIDTH);
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
