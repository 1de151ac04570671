/** Chooses the blocks to keep by their estimates. */

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
