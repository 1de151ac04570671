/**
 * Gradient-boosted trees that estimate from a row of features how likely a block belongs to the main content.
 *
 * Trained by `test/quality/train_blocks.py`; a node goes left when its feature is at most its threshold.
 */

const LANES = 4;

/**
 * Little-endian: number of trees, nodes and leaves (Int32), then first node and first leaf of each tree (Int32), threshold
 * of each node and value of each leaf (Float32), feature of each node (Uint16), and a pair per node of the next node within
 * its tree (Int8), for at most the threshold and for more; below zero the complement of a leaf.
 *
 * Leaves are kept as nodes that lead to themselves, so that every walk takes the same number of steps and no step has to
 * be foreseen. Features and thresholds are never negative: their bits compare like the floats do.
 */
export class Forest {
  /** First node of each tree, with trees of one leaf to make up a multiple of `LANES`. */
  private readonly roots: Int32Array;
  /** Steps down the deepest tree. */
  private readonly depth: number;
  /** Per node, at its number: feature, bits of the threshold, next node for at most the threshold, next for more. */
  private readonly nodes: Int32Array;
  /** Per node, at its number / 4: value of a leaf. */
  private readonly values: Float32Array;

  constructor(base64: string) {
    const bytes = new Uint8Array(Buffer.from(base64, 'base64')).buffer;
    const [trees, splits, leaves] = new Int32Array(bytes, 0, 3) as unknown as [number, number, number];
    let at = 12;
    const take = (size: number): number => (at += size) - size;
    const roots = new Int32Array(bytes, take(trees * 4), trees);
    const leafRoots = new Int32Array(bytes, take(trees * 4), trees);
    const threshold = new Int32Array(bytes, take(splits * 4), splits);
    const leaf = new Float32Array(bytes, take(leaves * 4), leaves);
    const feature = new Uint16Array(bytes, take(splits * 2), splits);
    const children = new Int8Array(bytes, take(splits * 2), splits * 2);

    const count = splits + leaves + 1;
    this.values = new Float32Array(count);
    this.values.set(leaf, splits);
    this.nodes = Int32Array.from({ length: count * 4 }, (_, i) => (i % 4 < 2 ? 0 : i - (i % 4)));
    this.roots = new Int32Array(Math.ceil(trees / LANES) * LANES).fill((count - 1) * 4);
    for (let tree = 0; tree < trees; tree++) {
      const root = roots[tree]!;
      const end = tree + 1 < trees ? roots[tree + 1]! : splits;
      const next = (child: number): number => (child < 0 ? splits + leafRoots[tree]! + ~child : root + child) * 4;
      this.roots[tree] = root * 4;
      for (let split = root; split < end; split++) {
        const [low, high] = [next(children[split * 2]!), next(children[split * 2 + 1]!)];
        this.nodes.set([feature[split]!, threshold[split]!, low, high], split * 4);
      }
    }
    this.depth = depthOf(this.nodes);
  }

  /** Probabilities of all rows of a matrix with `width` columns. */
  estimate(rows: Float32Array, width: number): Float32Array {
    const bits = new Int32Array(rows.buffer, rows.byteOffset, rows.length);
    const estimates = new Float32Array(rows.length / width);
    for (let row = 0; row < estimates.length; row++) {
      estimates[row] = 1 / (1 + Math.exp(-this.logOdds(bits, row * width)));
    }
    return estimates;
  }

  /** Walks down `LANES` trees at a time: no step waits for that of another tree. */
  private logOdds(bits: Int32Array, at: number): number {
    const { roots, depth, nodes, values } = this;
    let sum = 0;
    for (let tree = 0; tree < roots.length; tree += LANES) {
      let a = roots[tree]!;
      let b = roots[tree + 1]!;
      let c = roots[tree + 2]!;
      let d = roots[tree + 3]!;
      for (let step = 0; step < depth; step++) {
        a = nodes[a + 2 + ((nodes[a + 1]! - bits[at + nodes[a]!]!) >>> 31)]!;
        b = nodes[b + 2 + ((nodes[b + 1]! - bits[at + nodes[b]!]!) >>> 31)]!;
        c = nodes[c + 2 + ((nodes[c + 1]! - bits[at + nodes[c]!]!) >>> 31)]!;
        d = nodes[d + 2 + ((nodes[d + 1]! - bits[at + nodes[d]!]!) >>> 31)]!;
      }
      sum += values[a >> 2]! + values[b >> 2]! + values[c >> 2]! + values[d >> 2]!;
    }
    return sum;
  }
}

/** Steps down the deepest tree: nodes stand before the nodes they lead to. */
function depthOf(nodes: Int32Array): number {
  const steps = new Uint8Array(nodes.length / 4);
  let deepest = 0;
  for (let node = 0; node < nodes.length; node += 4) {
    for (const next of nodes.subarray(node + 2, node + 4)) {
      if (next === node) continue;
      steps[next / 4] = steps[node / 4]! + 1;
      deepest = Math.max(deepest, steps[next / 4]!);
    }
  }
  return deepest;
}
