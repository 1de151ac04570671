import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import wabt from 'wabt';
import { LEAF_SUM_WASM } from './leaf-sum.data.js';
import { packTrees, sumLeaves, type SymmetricTree } from './leaf-sum.js';

const COLUMNS = 5;

const bitsOf = (value: number): number => new Int32Array(Float32Array.of(value).buffer)[0]!;

const value = fc.constantFrom(0, 0.25, 0.5, 1, 2, 1e6);
const question = fc.record({ column: fc.nat(COLUMNS - 1), threshold: value });
const tree = fc.array(question, { minLength: 1, maxLength: 4 }).chain((questions) =>
  fc.record({
    questions: fc.constant(questions),
    leaves: fc.array(fc.integer({ min: -32768, max: 32767 }), {
      minLength: 1 << questions.length,
      maxLength: 1 << questions.length,
    }),
  }),
);
type Tree = typeof tree extends fc.Arbitrary<infer T> ? T : never;

const symmetric = ({ questions, leaves }: Tree): SymmetricTree => ({
  questions: questions.map(({ column, threshold }) => ({ column, thresholdBits: bitsOf(threshold) })),
  leaves,
});

/** The same, as it is defined. */
function leafOf({ questions, leaves }: Tree, row: readonly number[]): number {
  let leaf = 0;
  questions.forEach(({ column, threshold }, q) => {
    if (row[column]! > threshold) leaf |= 1 << q;
  });
  return leaves[leaf]!;
}

const columnsOf = (rows: readonly (readonly number[])[]): Float32Array =>
  Float32Array.from(Array.from({ length: COLUMNS }, (_, column) => rows.map((row) => row[column]!)).flat());

describe('sums of leaves', () => {
  it('are those of the trees, whatever the number of rows', () => {
    const row = fc.array(value, { minLength: COLUMNS, maxLength: COLUMNS });
    fc.assert(
      fc.property(
        fc.array(tree, { minLength: 1, maxLength: 9 }),
        fc.array(row, { minLength: 1, maxLength: 50 }),
        (trees, rows) => {
          const sums = sumLeaves(packTrees(trees.map(symmetric)), columnsOf(rows), rows.length);
          expect([...sums]).toEqual(rows.map((each) => trees.reduce((sum, one) => sum + leafOf(one, each), 0)));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('are those of many rows, for which memory grows', () => {
    const rows = 100_000;
    const columns = new Float32Array(COLUMNS * rows);
    columns[rows - 1] = 1;
    const trees = packTrees([symmetric({ questions: [{ column: 0, threshold: 0.5 }], leaves: [7, -9] })]);
    const sums = sumLeaves(trees, columns, rows);
    expect([sums[0], sums[rows - 2], sums[rows - 1]]).toEqual([7, 7, -9]);
  });

  it('are added up by what leaf-sum.wat says', async () => {
    const source = readFileSync('libs/main-content/src/leaf-sum.wat', 'utf8');
    const { buffer } = (await wabt()).parseWat('leaf-sum.wat', source).toBinary({});
    expect(Buffer.from(buffer).toString('base64')).toBe(LEAF_SUM_WASM);
  });
});
