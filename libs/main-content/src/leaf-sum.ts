/**
 * Sums of the leaves that rows reach in symmetric trees: the one loop of the converter that runs tens of thousands of times
 * per page, so it is WebAssembly that takes sixteen rows at a time (`leaf-sum.wat`), a seventh of the time of a loop here.
 */
import { LEAF_SUM_WASM } from './leaf-sum.data.js';
import { instantiate, reserve, type Memory } from '@troupe/html';

/** Questions per tree. */
const DEPTH = 4;
const LEAVES = 1 << DEPTH;
/** Bits of a positive float that no value exceeds: the answer is no. */
const NEVER = 0x7f800000;
const TREE_BYTES = 64;
/** Rows are taken sixteen at a time: this number of bytes behind the last one is touched. */
const SLACK_BYTES = 64;

export interface SymmetricTree {
  /** Up to `DEPTH`: the value of a row in this column, is it above this threshold? The first answer is a leaf's lowest bit. */
  questions: readonly { column: number; thresholdBits: number }[];
  /** Answers of each leaf, as many as there are answers; 16 bits, signed. */
  leaves: ArrayLike<number>;
}

/** Trees as the loop reads them. */
export function packTrees(trees: readonly SymmetricTree[]): Uint8Array {
  const bytes = new Uint8Array(trees.length * TREE_BYTES);
  const view = new DataView(bytes.buffer);
  trees.forEach(({ questions, leaves }, tree) => {
    const at = tree * TREE_BYTES;
    for (let q = 0; q < DEPTH; q++) {
      view.setInt32(at + 4 * q, questions[q]?.column ?? 0, true);
      view.setInt32(at + 4 * (DEPTH + q), questions[q]?.thresholdBits ?? NEVER, true);
    }
    for (let leaf = 0; leaf < leaves.length; leaf++) {
      bytes[at + 32 + leaf] = leaves[leaf]! & 0xff;
      bytes[at + 32 + LEAVES + leaf] = (leaves[leaf]! >> 8) & 0xff;
    }
  });
  return bytes;
}

interface Loop {
  memory: Memory;
  sum(first: number, end: number, columns: number, rows: number, sums: number): void;
}

let loaded: Loop | null = null;

/**
 * @param trees of `packTrees`, at least one
 * @param columns bits of floats that are not negative, `rows` of them per column
 * @returns one sum per row; it belongs to the next call
 */
export function sumLeaves(trees: Uint8Array, columns: Float32Array, rows: number): Int32Array {
  const { memory, sum } = (loaded ??= instantiate<Loop>(LEAF_SUM_WASM));
  const columnsAt = trees.byteLength;
  const sumsAt = columnsAt + columns.byteLength + SLACK_BYTES;
  const bytes = sumsAt + rows * 4 + SLACK_BYTES;
  reserve(memory, bytes);
  new Uint8Array(memory.buffer).set(trees);
  new Float32Array(memory.buffer, columnsAt).set(columns);
  sum(0, trees.byteLength, columnsAt, rows, sumsAt);
  return new Int32Array(memory.buffer, sumsAt, rows);
}
