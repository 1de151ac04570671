/**
 * Gradient-boosted trees that estimate from columns of features how likely blocks belong to the main content.
 *
 * The trees are symmetric: all nodes of a level ask the same question, so that a leaf's number is made of the answers, bit
 * by bit, and no step depends on the one before. Trained by `test/quality/train_blocks.py`.
 */
import { packTrees, sumLeaves } from './leaf-sum.js';

/**
 * Little-endian: number of trees and questions per tree (Int32), bias and unit of the leaves (Float32), threshold of each
 * question (Float32), leaves of each tree (Int16), feature of each question (Uint16). A question is whether the feature is
 * above the threshold; the first one gives a leaf's lowest bit.
 *
 * Features and thresholds are never negative: their bits compare like the floats do.
 */
export class Forest {
  private readonly bias: number;
  private readonly unit: number;
  private readonly trees: Uint8Array;

  constructor(base64: string) {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64')).buffer;
    const [count, depth] = new Int32Array(bytes, 0, 2) as unknown as [number, number];
    [this.bias, this.unit] = new Float32Array(bytes, 8, 2) as unknown as [number, number];
    const thresholds = new Int32Array(bytes, 16, count * depth);
    const leaves = new Int16Array(bytes, 16 + thresholds.byteLength, count << depth);
    const features = new Uint16Array(bytes, 16 + thresholds.byteLength + leaves.byteLength, count * depth);
    this.trees = packTrees(
      Array.from({ length: count }, (_, tree) => ({
        questions: Array.from({ length: depth }, (_, q) => ({
          column: features[tree * depth + q]!,
          thresholdBits: thresholds[tree * depth + q]!,
        })),
        leaves: leaves.subarray(tree << depth, (tree + 1) << depth),
      })),
    );
  }

  /** Log odds per row of a matrix that has `rows` values per feature, column by column. */
  logOdds(columns: Float32Array, rows: number): Float64Array {
    const { bias, unit } = this;
    const sums = sumLeaves(this.trees, columns, rows);
    const odds = new Float64Array(rows);
    for (let row = 0; row < rows; row++) odds[row] = bias + sums[row]! * unit;
    return odds;
  }
}

export function probability(logOdds: number): number {
  return 1 / (1 + Math.exp(-logOdds));
}
