/**
 * Gradient-boosted trees that estimate from a row of features how likely a block belongs to the main content.
 *
 * Trained by `test/quality/train_blocks.py`; a node goes left when its feature is at most its threshold.
 */

/** Little-endian: number of trees, nodes and leaves (Int32), then the arrays of `Forest` in their order. */
export class Forest {
  /** First node and first leaf of each tree. */
  private readonly roots: Int32Array;
  private readonly leafRoots: Int32Array;
  private readonly threshold: Float32Array;
  private readonly leaf: Float32Array;
  private readonly feature: Uint16Array;
  /** Next node of the tree; below zero the complement of a leaf. */
  private readonly left: Int8Array;
  private readonly right: Int8Array;

  constructor(base64: string) {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64')).buffer;
    const [trees, nodes, leaves] = new Int32Array(bytes, 0, 3) as unknown as [number, number, number];
    let at = 12;
    const take = (size: number): number => (at += size) - size;
    this.roots = new Int32Array(bytes, take(trees * 4), trees);
    this.leafRoots = new Int32Array(bytes, take(trees * 4), trees);
    this.threshold = new Float32Array(bytes, take(nodes * 4), nodes);
    this.leaf = new Float32Array(bytes, take(leaves * 4), leaves);
    this.feature = new Uint16Array(bytes, take(nodes * 2), nodes);
    this.left = new Int8Array(bytes, take(nodes), nodes);
    this.right = new Int8Array(bytes, take(nodes), nodes);
  }

  /** Probabilities of all rows of a matrix with `width` columns. */
  estimate(rows: Float32Array, width: number): Float32Array {
    const estimates = new Float32Array(rows.length / width);
    for (let i = 0; i < estimates.length; i++) estimates[i] = 1 / (1 + Math.exp(-this.sum(rows, i * width)));
    return estimates;
  }

  private sum(rows: Float32Array, at: number): number {
    const { roots, leafRoots, threshold, leaf, feature, left, right } = this;
    let sum = 0;
    for (let tree = 0; tree < roots.length; tree++) {
      const root = roots[tree]!;
      let next = 0;
      while (next >= 0) {
        const node = root + next;
        next = rows[at + feature[node]!]! <= threshold[node]! ? left[node]! : right[node]!;
      }
      sum += leaf[leafRoots[tree]! + ~next]!;
    }
    return sum;
  }
}
