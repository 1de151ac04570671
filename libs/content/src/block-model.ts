/**
 * Gradient-boosted trees that estimate from a row of features how likely a block belongs to the main content.
 *
 * Trained by `test/quality/train_blocks.py`; a node goes left when its feature is at most its threshold.
 */

/** A row is beyond doubt, however the trees to come may vote, from this log-odds on; looked at every so many trees. */
const SURE = 4.5;
const TREES_PER_CHECK = 20;

/** Little-endian: number of trees, nodes and leaves (Int32), then the arrays of `Forest` in their order. */
export class Forest {
  /** First node and first leaf of each tree. */
  private readonly roots: Int32Array;
  private readonly leafRoots: Int32Array;
  private readonly threshold: Float32Array;
  private readonly leaf: Float32Array;
  private readonly feature: Uint16Array;
  /** Next nodes within the tree, a pair per node, for at most the threshold and for more; below zero the complement of a leaf. */
  private readonly children: Int8Array;

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
    this.children = new Int8Array(bytes, take(nodes * 2), nodes * 2);
  }

  /**
   * Probabilities of all rows of a matrix with `width` columns. Tree by tree, so that one tree stays at hand; rows whose
   * sum is beyond doubt leave early.
   */
  estimate(rows: Float32Array, width: number): Float32Array {
    const sums = new Float32Array(rows.length / width);
    const open = Int32Array.from(sums, (_, row) => row);
    let count = open.length;
    for (let tree = 0; tree < this.roots.length && count > 0; tree++) {
      this.addTree(tree, rows, width, sums, open.subarray(0, count));
      if (tree % TREES_PER_CHECK === TREES_PER_CHECK - 1) count = dropSure(open, count, sums);
    }
    for (let row = 0; row < sums.length; row++) sums[row] = 1 / (1 + Math.exp(-sums[row]!));
    return sums;
  }

  private addTree(tree: number, rows: Float32Array, width: number, sums: Float32Array, open: Int32Array): void {
    const { threshold, leaf, feature, children } = this;
    const root = this.roots[tree]!;
    const leafRoot = this.leafRoots[tree]!;
    for (let i = 0; i < open.length; i++) {
      const row = open[i]!;
      const at = row * width;
      let next = 0;
      do {
        const node = root + next;
        next = children[node * 2 + (rows[at + feature[node]!]! <= threshold[node]! ? 0 : 1)]!;
      } while (next >= 0);
      sums[row]! += leaf[leafRoot + ~next]!;
    }
  }
}

/** Moves the rows still in doubt to the front and counts them. */
function dropSure(open: Int32Array, count: number, sums: Float32Array): number {
  let left = 0;
  for (let i = 0; i < count; i++) {
    const row = open[i]!;
    if (Math.abs(sums[row]!) < SURE) open[left++] = row;
  }
  return left;
}
