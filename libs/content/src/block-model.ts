/**
 * Gradient-boosted trees that estimate from columns of features how likely blocks belong to the main content.
 *
 * The trees are symmetric: all nodes of a level ask the same question, so that a leaf's number is made of the answers, bit
 * by bit, and no step depends on the one before. Trained by `test/quality/train_blocks.py`.
 */

/** Questions per tree. */
const DEPTH = 4;
const LEAVES = 1 << DEPTH;
/** Bits of a positive float that no feature exceeds. */
const NEVER = 0x7f800000;

/**
 * Little-endian: number of trees and questions per tree (Int32), bias and unit of the leaves (Float32), threshold of each
 * question (Float32), leaves of each tree (Int16), feature of each question (Uint16). A question is whether the feature is
 * above the threshold; the first one gives a leaf's lowest bit.
 *
 * Features and thresholds are never negative: their bits compare like the floats do.
 */
export class Forest {
  private readonly bias: number;
  /** `DEPTH` per tree; questions that a smaller tree lacks are answered with no. */
  private readonly features: Int32Array;
  /** Bits of them. */
  private readonly thresholds: Int32Array;
  /** `LEAVES` per tree. */
  private readonly leaves: Float32Array;

  constructor(base64: string) {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64')).buffer;
    const [trees, depth] = new Int32Array(bytes, 0, 2) as unknown as [number, number];
    const [bias, unit] = new Float32Array(bytes, 8, 2) as unknown as [number, number];
    const questions = trees * depth;
    const thresholds = new Int32Array(bytes, 16, questions);
    const leaves = new Int16Array(bytes, 16 + questions * 4, trees << depth);
    const features = new Uint16Array(bytes, 16 + questions * 4 + leaves.byteLength, questions);
    this.bias = bias;
    this.features = new Int32Array(trees * DEPTH);
    this.thresholds = new Int32Array(trees * DEPTH).fill(NEVER);
    this.leaves = new Float32Array(trees * LEAVES);
    for (let tree = 0; tree < trees; tree++) {
      this.features.set(features.subarray(tree * depth, (tree + 1) * depth), tree * DEPTH);
      this.thresholds.set(thresholds.subarray(tree * depth, (tree + 1) * depth), tree * DEPTH);
      for (let leaf = 0; leaf < 1 << depth; leaf++)
        this.leaves[tree * LEAVES + leaf] = leaves[(tree << depth) + leaf]! * unit;
    }
  }

  /** Log odds per row of a matrix that has `rows` values per feature, column by column. */
  logOdds(columns: Float32Array, rows: number): Float64Array {
    const { features, thresholds, leaves } = this;
    const bits = new Int32Array(columns.buffer, columns.byteOffset, columns.length);
    const sums = new Float64Array(rows).fill(this.bias);
    for (let q = 0, tree = 0; q < features.length; q += DEPTH, tree += LEAVES) {
      const a = features[q]! * rows;
      const b = features[q + 1]! * rows;
      const c = features[q + 2]! * rows;
      const d = features[q + 3]! * rows;
      const atA = thresholds[q]!;
      const atB = thresholds[q + 1]!;
      const atC = thresholds[q + 2]!;
      const atD = thresholds[q + 3]!;
      for (let row = 0; row < rows; row++) {
        // The sign of a difference is the answer, moved to its place in the leaf's number.
        const leaf =
          ((atA - bits[(a + row) | 0]!) >>> 31) |
          (((atB - bits[(b + row) | 0]!) >>> 30) & 2) |
          (((atC - bits[(c + row) | 0]!) >>> 29) & 4) |
          (((atD - bits[(d + row) | 0]!) >>> 28) & 8);
        sums[row]! += leaves[tree | leaf]!;
      }
    }
    return sums;
  }
}

export function probability(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}
