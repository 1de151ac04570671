/**
 * Second look at the blocks: what the first estimates say about each block's surroundings. Where the estimated content
 * begins and ends, and how the neighbours, the subtrees around a block and its like elsewhere were judged.
 */
import { FEATURES, LEVELS, MIN_REPEATS, SECOND, WIDTH, groupBy, type FeatureReader } from './block-features.js';

const AT = FEATURES.length - SECOND.length;
const S = Object.fromEntries(SECOND.map((name, index) => [name, AT + index])) as Record<
  (typeof SECOND)[number],
  number
>;
const HIGH = 0.6;
const FAR_BLOCKS = 60;
const FAR_CHARS = 5000;
/** The core is the smallest subtree with this part of the estimated content. */
const CORE_SHARE = 0.75;

/** Fills the columns `SECOND` of the reader's rows from the first estimates, one per block. */
export function lookAgain(reader: FeatureReader, estimates: Float32Array): void {
  new SecondLook(reader, estimates).fill();
}

class SecondLook {
  private readonly rows: Float32Array;
  private readonly count: number;
  /** Prefix sums of estimate x characters. */
  private readonly mass: Float64Array;

  constructor(
    private readonly reader: FeatureReader,
    private readonly p: Float32Array,
  ) {
    const { chars } = reader.blocks;
    this.rows = reader.rows;
    this.count = reader.blocks.count;
    this.mass = new Float64Array(this.count + 1);
    for (let block = 0; block < this.count; block++)
      this.mass[block + 1] = this.mass[block]! + p[block]! * chars[block]!;
  }

  fill(): void {
    if (this.count === 0) return;
    this.neighbours();
    this.levels();
    this.groups();
    this.runs();
    this.sections();
    this.core();
    this.page();
  }

  /** Mean estimate over a range of blocks, by characters. */
  private mean(from: number, to: number): number {
    const { chars } = this.reader.sums;
    const held = chars[to]! - chars[from]!;
    return held === 0 ? 0 : (this.mass[to]! - this.mass[from]!) / held;
  }

  private at(block: number): number {
    return block < 0 || block >= this.count ? 0 : this.p[block]!;
  }

  private neighbours(): void {
    const { rows, count } = this;
    for (let block = 0; block < count; block++) {
      const x = block * WIDTH;
      rows[x + S.p] = this.p[block]!;
      rows[x + S['p-1']] = this.at(block - 1);
      rows[x + S['p-2']] = this.at(block - 2);
      rows[x + S['p-3']] = this.at(block - 3);
      rows[x + S.p1] = this.at(block + 1);
      rows[x + S.p2] = this.at(block + 2);
      rows[x + S.p3] = this.at(block + 3);
      rows[x + S.pNear3] = this.mean(Math.max(0, block - 3), Math.min(count, block + 4));
      rows[x + S.pNear10] = this.mean(Math.max(0, block - 10), Math.min(count, block + 11));
    }
  }

  private levels(): void {
    const { rows, count } = this;
    const { tree, blocks, sums } = this.reader;
    const places = [S.pUp1, S.pUp2, S.pUp3, S.pUp4];
    for (let block = 0; block < count; block++) {
      let held = blocks.chars[block]!;
      let level = 0;
      for (let up = blocks.parent[block]!; up > 0 && level < LEVELS; up = tree.parent[up]!) {
        const from = blocks.before[up]!;
        const to = blocks.before[tree.end[up]!]!;
        const chars = sums.chars[to]! - sums.chars[from]!;
        if (chars <= held * 1.1) continue;
        held = chars;
        rows[block * WIDTH + places[level++]!] = this.mean(from, to);
      }
      for (; level < LEVELS; level++) rows[block * WIDTH + places[level]!] = this.mean(0, count);
    }
  }

  private groups(): void {
    const { rows, count } = this;
    const { tree, blocks, repeats, path } = this.reader;
    const ofPath = groupBy(path, count);
    const pathMass = new Float64Array(count);
    const pathChars = new Float64Array(count);
    const groupMass = new Float64Array(repeats.count.length);
    for (let block = 0; block < count; block++) {
      const mass = this.p[block]! * blocks.chars[block]!;
      pathMass[ofPath[block]!]! += mass;
      pathChars[ofPath[block]!]! += blocks.chars[block]!;
    }
    for (let node = 1; node < tree.count; node++) {
      const group = repeats.groupOf[node]!;
      if (group < 0) continue;
      groupMass[group]! += this.mass[blocks.before[tree.end[node]!]!]! - this.mass[blocks.before[node]!]!;
    }
    for (let block = 0; block < count; block++) {
      const x = block * WIDTH;
      rows[x + S.pPath] = pathMass[ofPath[block]!]! / pathChars[ofPath[block]!]!;
      rows[x + S.pRepeat] = rows[x + S.pRepeat2] = 0;
      let place: number = S.pRepeat;
      for (let up = blocks.parent[block]!; up > 0; up = tree.parent[up]!) {
        const group = repeats.groupOf[up]!;
        if (group < 0 || repeats.count[group]! < MIN_REPEATS) continue;
        rows[x + place] = 1 + groupMass[group]! / (repeats.chars[group]! || 1);
        if (place === S.pRepeat2) break;
        place = S.pRepeat2;
      }
    }
  }

  private runs(): void {
    const { rows, count, mass } = this;
    const { chars } = this.reader.sums;
    const total = mass[count]! || 1;
    let last = -1;
    for (let block = 0; block < count; block++) {
      const x = block * WIDTH;
      rows[x + S.massBefore] = mass[block]! / total;
      rows[x + S.massAfter] = 1 - mass[block + 1]! / total;
      rows[x + S.sinceHigh] = last < 0 ? FAR_BLOCKS : Math.min(FAR_BLOCKS, block - last);
      rows[x + S.charsSinceHigh] = last < 0 ? FAR_CHARS : Math.min(FAR_CHARS, chars[block]! - chars[last + 1]!);
      if (this.p[block]! > HIGH) last = block;
    }
    last = -1;
    for (let block = count - 1; block >= 0; block--) {
      const x = block * WIDTH;
      rows[x + S.untilHigh] = last < 0 ? FAR_BLOCKS : Math.min(FAR_BLOCKS, last - block);
      rows[x + S.charsUntilHigh] = last < 0 ? FAR_CHARS : Math.min(FAR_CHARS, chars[last]! - chars[block + 1]!);
      if (this.p[block]! > HIGH) last = block;
    }
  }

  /** Means over what follows the last heading up to the next one, and over the section before. */
  private sections(): void {
    const { rows, count } = this;
    const { headingLevel } = this.reader;
    let before = 0;
    for (let from = 0; from < count;) {
      let to = from + 1;
      while (to < count && headingLevel[to] === 0) to++;
      const mean = this.mean(headingLevel[from]! > 0 && to > from + 1 ? from + 1 : from, to);
      for (let block = from; block < to; block++) {
        rows[block * WIDTH + S.pSection] = mean;
        rows[block * WIDTH + S.pSectionBefore] = before;
      }
      before = mean;
      from = to;
    }
    let next = 0;
    for (let block = count - 1; block >= 0; block--) {
      rows[block * WIDTH + S.pNextHeadings] = next;
      if (headingLevel[block]! > 0) next = rows[block * WIDTH + S.pSection]!;
    }
  }

  private core(): void {
    const { rows, count, mass } = this;
    const { tree, blocks, sums } = this.reader;
    const massOf = (node: number): number => mass[blocks.before[tree.end[node]!]!]! - mass[blocks.before[node]!]!;
    const wanted = mass[count]! * CORE_SHARE;
    let core = 0;
    for (let node = 1; node < tree.end[core]!;) {
      if (massOf(node) >= wanted) core = node++;
      else node = tree.end[node]!;
    }
    const inCore = new Uint8Array(tree.count);
    for (let up = core; up >= 0; up = tree.parent[up]!) inCore[up] = 1;
    const [from, to] = [blocks.before[core]!, blocks.before[tree.end[core]!]!];
    const mean = this.mean(from, to);
    const share = mass[count] === 0 ? 0 : massOf(core) / mass[count]!;
    const total = sums.chars[count]!;
    for (let block = 0; block < count; block++) {
      let steps = 0;
      const x = block * WIDTH;
      let up = blocks.parent[block]!;
      if (block < from || block >= to) {
        while (inCore[up] === 0) up = tree.parent[up]!;
        for (let down = core; down > up; down = tree.parent[down]!) steps++;
        rows[x + S.coreShare] = (sums.chars[blocks.before[tree.end[up]!]!]! - sums.chars[blocks.before[up]!]!) / total;
      } else {
        rows[x + S.coreShare] = (sums.chars[to]! - sums.chars[from]!) / total;
      }
      rows[x + S.coreSteps] = steps;
      rows[x + S.coreMean] = mean;
      rows[x + S.coreMass] = share;
    }
  }

  private page(): void {
    const { rows, count, p, mass } = this;
    const { blocks } = this.reader;
    const mean = this.mean(0, count);
    const order = byEstimate(p);
    const { estimate } = bestCut(p, blocks.words, order);
    const best = p[order[0]!]!;
    let before = 0;
    for (const block of order) {
      const x = block * WIDTH;
      before += p[block]! * blocks.chars[block]!;
      rows[x + S.rank] = before / (mass[count]! || 1);
      rows[x + S.pPage] = mean;
      rows[x + S.pBest] = best;
      rows[x + S.pMass] = mass[count]!;
      rows[x + S.fEstimate] = estimate;
    }
  }
}

/**
 * The cut through estimates that promises the best F1 over words, and what it promises: for a block kept at probability
 * p its words count p times as right, all of them as kept.
 */
export function bestCut(p: Float32Array, words: Int32Array, order = byEstimate(p)): { cut: number; estimate: number } {
  let wanted = 0;
  for (let block = 0; block < p.length; block++) wanted += p[block]! * (words[block]! + 0.5);
  let right = 0;
  let kept = 0;
  let estimate = 0;
  let cut = 1;
  for (const block of order) {
    right += p[block]! * (words[block]! + 0.5);
    kept += words[block]! + 0.5;
    const promised = (2 * right) / (kept + wanted);
    if (promised <= estimate) continue;
    estimate = promised;
    cut = p[block]!;
  }
  return { cut, estimate };
}

const BLOCK_RANGE = 2 ** 20;
/** Bits of the largest estimate. */
const ONE = 0x3f800000;

/**
 * Blocks by falling estimate, equal ones as they stand in the page. The bits of positive floats compare like the floats:
 * sorted are plain numbers of those bits and the block, without a function to compare.
 */
export function byEstimate(p: Float32Array): Int32Array {
  const bits = new Int32Array(p.buffer, p.byteOffset, p.length);
  const keys = new Float64Array(p.length);
  for (let block = 0; block < keys.length; block++) keys[block] = (ONE - bits[block]!) * BLOCK_RANGE + block;
  keys.sort();
  const order = new Int32Array(p.length);
  for (let i = 0; i < order.length; i++) order[i] = keys[i]! % BLOCK_RANGE;
  return order;
}
