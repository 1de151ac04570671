/**
 * Reading order: a region is cut where a gutter runs between two columns of prose, again and again. The rest is read top down.
 *
 * A gutter counts only with prose on both sides. Between short texts on common lines it is the space inside a table.
 */
import { median } from './geometry.js';
import { rowsOf, type Row, type Segment } from './span.js';

const MAX_DEPTH = 12;
const MAX_CANDIDATES = 16;
const MIN_ROWS = 3;
/** In parts of the font's size. */
const MIN_GUTTER = 0.7;
/** In points: a heading's letters ask for no wider gutter than others. */
const MAX_GUTTER_SIZE = 9;
/** Median characters of a line of prose. */
const MIN_PROSE = 18;

/** Regions in reading order; each is one column without gutters. */
export function readingOrder(segments: readonly Segment[], isRtl: boolean, depth = 0): Segment[][] {
  if (segments.length === 0) return [];
  const cut = depth < MAX_DEPTH && segments.length >= 2 * MIN_ROWS ? bestCut(rowsOf(segments)) : null;
  if (cut === null) return [[...segments]];
  const sides = isRtl ? [cut.right, cut.left] : [cut.left, cut.right];
  return [cut.above, ...sides, cut.below].flatMap((part) => readingOrder(part, isRtl, depth + 1));
}

interface Cut {
  above: Segment[];
  left: Segment[];
  right: Segment[];
  below: Segment[];
}

interface Run {
  x: number;
  from: number;
  to: number;
  score: number;
}

function bestCut(rows: readonly Row[]): Cut | null {
  let best: Run | null = null;
  for (const x of gutterCandidates(rows)) {
    for (const run of runsBeside(rows, x)) {
      if ((best === null || run.score > best.score) && isBetweenColumns(rows.slice(run.from, run.to), x)) best = run;
    }
  }
  if (best === null) return null;
  const inside = segmentsIn(rows.slice(best.from, best.to));
  const { x } = best;
  return {
    above: segmentsIn(rows.slice(0, best.from)),
    left: inside.filter((segment) => segment.x1 <= x),
    right: inside.filter((segment) => segment.x1 > x),
    below: segmentsIn(rows.slice(best.to)),
  };
}

function segmentsIn(rows: readonly Row[]): Segment[] {
  return rows.flatMap((row) => row.segments);
}

/** Left edges that several segments share, and middles of the gaps before them. */
function gutterCandidates(rows: readonly Row[]): number[] {
  const counts = new Map<number, { x: number; count: number }>();
  for (const { segments } of rows) {
    for (const [i, segment] of segments.entries()) {
      const before = segments[i - 1];
      const edge = segment.x0 - (segment.size * MIN_GUTTER) / 2;
      const middle = before === undefined ? edge : Math.max(edge - segment.size, (before.x1 + segment.x0) / 2);
      for (const x of before === undefined ? [edge] : [edge, middle]) {
        const key = Math.round(x / 3);
        const held = counts.get(key);
        if (held === undefined) counts.set(key, { x, count: 1 });
        else held.count++;
      }
    }
  }
  const frequent = [...counts.values()].filter(({ count }) => count >= 2).sort((a, b) => b.count - a.count);
  return frequent.slice(0, MAX_CANDIDATES).map(({ x }) => x);
}

/** Longest stretches of rows that nothing crosses at `x`, with text on both sides. */
function runsBeside(rows: readonly Row[], x: number): Run[] {
  const runs: Run[] = [];
  let from = 0;
  for (let i = 0; i <= rows.length; i++) {
    const row = rows[i];
    if (row !== undefined && !row.segments.some((segment) => crosses(segment, x))) continue;
    const run = trimRun(rows, { x, from, to: i, score: 0 });
    if (run !== null) runs.push(run);
    from = i + 1;
  }
  return runs;
}

function crosses({ x0, x1, size }: Segment, x: number): boolean {
  const half = (Math.min(size, MAX_GUTTER_SIZE) * MIN_GUTTER) / 2 - 0.5;
  return x0 < x + half && x1 > x - half;
}

/** Rows at both ends that lie on one side only may belong to what comes before or after: a run starts near its first pair. */
function trimRun(rows: readonly Row[], run: Run): Run | null {
  const count = (side: (segment: Segment) => boolean) =>
    rows.slice(run.from, run.to).filter(({ segments }) => segments.some(side)).length;
  const isLeft = (segment: Segment) => segment.x1 <= run.x;
  const left = count(isLeft);
  const right = count((segment) => !isLeft(segment));
  if (left < MIN_ROWS || right < MIN_ROWS) return null;
  const firstRight = rows.findIndex((row, i) => i >= run.from && row.segments.some((segment) => !isLeft(segment)));
  const firstLeft = rows.findIndex((row, i) => i >= run.from && row.segments.some(isLeft));
  const first = Math.max(firstLeft, firstRight);
  const from = first - run.from > 2 ? startOfPair(rows, run.from, first) : run.from;
  return { ...run, from, score: Math.min(left, right) * 2 + Math.max(left, right) };
}

/** The last wide space between rows before the first pair parts the columns from what is above them. */
function startOfPair(rows: readonly Row[], from: number, first: number): number {
  for (let i = first; i > from; i--) {
    if (rows[i]!.baseline - rows[i - 1]!.baseline > 2.2 * rows[i]!.size) return i;
  }
  return from;
}

function isBetweenColumns(rows: readonly Row[], x: number): boolean {
  const left = rows
    .map(({ segments }) => segments.filter((segment) => segment.x1 <= x))
    .filter((side) => side.length > 0);
  const right = rows
    .map(({ segments }) => segments.filter((segment) => segment.x1 > x))
    .filter((side) => side.length > 0);
  if (left.length < MIN_ROWS || right.length < MIN_ROWS) return false;
  const paired = rows.filter(
    ({ segments }) => segments.some((s) => s.x1 <= x) && segments.some((s) => s.x1 > x),
  ).length;
  const isUnpaired = paired < 0.4 * Math.min(left.length, right.length) && Math.min(left.length, right.length) >= 4;
  if (isUnpaired) return medianLength(left) >= MIN_PROSE / 2 && medianLength(right) >= MIN_PROSE / 2;
  return isProse(left, lastColumn(left.flat())) && isProse(right, firstColumn(right.flat()));
}

function medianLength(side: readonly Segment[][]): number {
  return median(side.map(lengthOf));
}

function lengthOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { spans }) => sum + spans.reduce((all, { text }) => all + text.length, 0), 0);
}

/** Lines long enough and filled enough; where more columns follow on this side, those of the nearest one, and more of it. */
function isProse(side: readonly Segment[][], nearest: Segment[]): boolean {
  if (fillOf(side) >= 0.55 && medianLength(side) >= MIN_PROSE && piecesOf(side) < 1.6) return true;
  const column = nearest.map((segment) => [segment]);
  return column.length >= 2 * MIN_ROWS && fillOf(column) >= 0.8 && medianLength(column) >= MIN_PROSE;
}

function piecesOf(side: readonly Segment[][]): number {
  return side.reduce((sum, segments) => sum + segments.length, 0) / side.length;
}

/** The column that ends where the gutter begins. */
function lastColumn(segments: readonly Segment[]): Segment[] {
  const edge = Math.max(...segments.map(({ x1 }) => x1));
  const start = median(segments.filter(({ x1, size }) => x1 > edge - 2 * size).map(({ x0 }) => x0));
  return segments.filter(({ x1 }) => x1 > start);
}

/** The column that begins where the gutter ends. */
function firstColumn(segments: readonly Segment[]): Segment[] {
  const edge = Math.min(...segments.map(({ x0 }) => x0));
  const end = median(segments.filter(({ x0, size }) => x0 < edge + 2 * size).map(({ x1 }) => x1));
  return segments.filter(({ x0 }) => x0 < end);
}

function fillOf(side: readonly Segment[][]): number {
  const x0 = Math.min(...side.map((segments) => segments[0]!.x0));
  const x1 = Math.max(...side.map((segments) => segments.at(-1)!.x1));
  return median(side.map((segments) => (segments.at(-1)!.x1 - segments[0]!.x0) / Math.max(1, x1 - x0)));
}
