/** Tables whose cells the page draws: a grid of crossing lines, cells joined where a line between them is missing. */
import { around, type Box } from './geometry.js';
import { gridHtml, type GridCell } from './grid.js';
import { lineOf, linesHtml, type Joining } from './lines.js';
import type { HorizontalRule, Painted, VerticalRule } from './rules.js';
import { rowsOf, type Segment } from './span.js';

/** A table stands among the segments of a page as one of them. */
export interface TableSegment extends Segment {
  table: string;
}

export function isTable(segment: Segment): segment is TableSegment {
  return 'table' in segment;
}

export function tableSegment(box: Box, table: string): TableSegment {
  const size = Math.min(10, Math.max(1, box.y1 - box.y0));
  return { ...box, spans: [], baseline: box.y0 + size, size, table };
}

/** How far ends of lines may be from where they should meet, in points. */
const TOLERANCE = 3;
const MAX_CELLS = 4_000;

/** The segments of a page with those inside of drawn tables replaced by the tables. */
export function takeRuledTables(segments: Segment[], painted: Painted, joining: Joining): Segment[] {
  const horizontal = joinHorizontal(painted.horizontal);
  const vertical = joinVertical(painted.vertical);
  let rest = segments;
  for (const group of crossingGroups(horizontal, vertical)) {
    const taken = readGrid(group, rest, joining);
    if (taken !== null) rest = taken;
  }
  return rest;
}

function joinHorizontal(rules: readonly HorizontalRule[]): HorizontalRule[] {
  const joined: HorizontalRule[] = [];
  for (const rule of [...rules].sort((a, b) => Math.round(a.y) - Math.round(b.y) || a.x0 - b.x0)) {
    const last = joined.at(-1);
    if (last !== undefined && Math.abs(last.y - rule.y) <= 1.6 && rule.x0 <= last.x1 + 2) {
      last.x1 = Math.max(last.x1, rule.x1);
    } else joined.push({ ...rule });
  }
  return joined;
}

function joinVertical(rules: readonly VerticalRule[]): VerticalRule[] {
  const turned = joinHorizontal(rules.map(({ x, y0, y1 }) => ({ y: x, x0: y0, x1: y1 })));
  return turned.map(({ y, x0, x1 }) => ({ x: y, y0: x0, y1: x1 }));
}

interface Group {
  horizontal: HorizontalRule[];
  vertical: VerticalRule[];
}

/** Lines that touch each other, directly or through others. */
function crossingGroups(horizontal: readonly HorizontalRule[], vertical: readonly VerticalRule[]): Group[] {
  const parent = [...horizontal, ...vertical].map((_, i) => i);
  const root = (i: number): number => {
    while (parent[i] !== i) i = parent[i] = parent[parent[i]!]!;
    return i;
  };
  for (const [i, h] of horizontal.entries()) {
    for (const [j, v] of vertical.entries()) {
      if (touches(h, v)) parent[root(horizontal.length + j)] = root(i);
    }
  }
  const groups = new Map<number, Group>();
  const groupOf = (i: number): Group => {
    const group = groups.get(root(i)) ?? { horizontal: [], vertical: [] };
    groups.set(root(i), group);
    return group;
  };
  for (const [i, rule] of horizontal.entries()) groupOf(i).horizontal.push(rule);
  for (const [j, rule] of vertical.entries()) groupOf(horizontal.length + j).vertical.push(rule);
  return [...groups.values()].filter((group) => group.horizontal.length >= 2 && group.vertical.length >= 1);
}

function touches(h: HorizontalRule, v: VerticalRule): boolean {
  const isAcross = v.x >= h.x0 - TOLERANCE && v.x <= h.x1 + TOLERANCE;
  return isAcross && h.y >= v.y0 - TOLERANCE && h.y <= v.y1 + TOLERANCE;
}

/** The grid's lines; the open sides of a table without a frame count as lines. */
function gridLines({ horizontal, vertical }: Group): { xs: number[]; ys: number[] } {
  const left = Math.min(...horizontal.map(({ x0 }) => x0));
  const right = Math.max(...horizontal.map(({ x1 }) => x1));
  const xs = distinct([...vertical.map(({ x }) => x), left, right], 5);
  const top = Math.min(...vertical.map(({ y0 }) => y0));
  const bottom = Math.max(...vertical.map(({ y1 }) => y1));
  return { xs, ys: distinct([...horizontal.map(({ y }) => y), top, bottom], 5) };
}

function distinct(values: readonly number[], tolerance = TOLERANCE): number[] {
  const out: number[] = [];
  for (const value of [...values].sort((a, b) => a - b)) {
    if (out.length === 0 || value - out.at(-1)! > tolerance) out.push(value);
  }
  return out;
}

/** null: the lines are no table. */
function readGrid(group: Group, segments: Segment[], joining: Joining): Segment[] | null {
  const { xs, ys } = gridLines(group);
  const columns = xs.length - 1;
  const rows = ys.length - 1;
  if (columns < 2 || rows < 1 || columns * rows > MAX_CELLS) return null;
  const box = { x0: xs[0]!, x1: xs.at(-1)!, y0: ys[0]!, y1: ys.at(-1)! };
  const contents = new Map<number, Segment[]>();
  const rest: Segment[] = [];
  for (const segment of segments) {
    const column = slotOf(xs, (segment.x0 + segment.x1) / 2);
    const row = slotOf(ys, (segment.y0 + segment.y1) / 2);
    if (column < 0 || row < 0 || isTable(segment)) rest.push(segment);
    else contents.set(row * columns + column, [...(contents.get(row * columns + column) ?? []), segment]);
  }
  const cells = mergeCells(group, { xs, ys });
  const filled = cells.flat().filter((cell) => cellSegments(cell, contents, columns).length > 0).length;
  if (filled < 2 || filled < 0.25 * cells.flat().length || cells.flat().length < 2) return null;
  const grid = cells.map((row) => row.map((cell) => gridCell(cell, contents, { columns, joining })));
  return [...rest, tableSegment(box, gridHtml(grid, null))];
}

function slotOf(edges: readonly number[], value: number): number {
  const next = edges.findIndex((edge) => edge > value);
  return next <= 0 ? -1 : next - 1;
}

interface CellPlace {
  row: number;
  column: number;
  rowspan: number;
  colspan: number;
}

/** Cells of each row; what a cell spans is no cell of its own. */
function mergeCells(group: Group, { xs, ys }: { xs: number[]; ys: number[] }): CellPlace[][] {
  const taken = new Set<number>();
  const columns = xs.length - 1;
  const rows: CellPlace[][] = [];
  for (let row = 0; row < ys.length - 1; row++) {
    const cells: CellPlace[] = [];
    const y = (ys[row]! + ys[row + 1]!) / 2;
    for (let column = 0; column < columns; column++) {
      if (taken.has(row * columns + column)) continue;
      let colspan = 1;
      while (column + colspan < columns && !hasVertical(group, xs[column + colspan]!, y)) colspan++;
      const x = (xs[column]! + xs[column + 1]!) / 2;
      let rowspan = 1;
      while (row + rowspan < ys.length - 1 && !hasHorizontal(group, ys[row + rowspan]!, x)) rowspan++;
      for (let r = 0; r < rowspan; r++) {
        for (let c = 0; c < colspan; c++) taken.add((row + r) * columns + column + c);
      }
      cells.push({ row, column, rowspan, colspan });
    }
    rows.push(cells);
  }
  return rows;
}

function hasVertical({ vertical }: Group, x: number, y: number): boolean {
  return vertical.some((rule) => Math.abs(rule.x - x) <= 5 && rule.y0 <= y && rule.y1 >= y);
}

function hasHorizontal({ horizontal }: Group, y: number, x: number): boolean {
  return horizontal.some((rule) => Math.abs(rule.y - y) <= TOLERANCE && rule.x0 <= x && rule.x1 >= x);
}

function cellSegments(cell: CellPlace, contents: ReadonlyMap<number, Segment[]>, columns: number): Segment[] {
  const all: Segment[] = [];
  for (let r = 0; r < cell.rowspan; r++) {
    for (let c = 0; c < cell.colspan; c++) {
      all.push(...(contents.get((cell.row + r) * columns + cell.column + c) ?? []));
    }
  }
  return all;
}

function gridCell(
  cell: CellPlace,
  contents: ReadonlyMap<number, Segment[]>,
  { columns, joining }: { columns: number; joining: Joining },
): GridCell {
  const { rowspan, colspan } = cell;
  return { ...cellOf(cellSegments(cell, contents, columns), joining), rowspan, colspan };
}

/** The text of segments as one cell. */
export function cellOf(segments: readonly Segment[], joining: Joining): GridCell {
  const lines = rowsOf(segments).map((row) => lineOf(row.segments));
  const isBold = lines.length > 0 && lines.every((line) => line.isBold);
  return { html: linesHtml(lines, { ...joining, isPlain: isBold }), isBold, rowspan: 1, colspan: 1 };
}

/** Boxes of drawn frames with the same left and right ends: the zones of tables that have lines between rows only. */
export function rowRuleZones(horizontal: readonly HorizontalRule[]): { box: Box; ys: number[] }[] {
  const groups: HorizontalRule[][] = [];
  for (const rule of joinHorizontal(horizontal)) {
    if (rule.x1 - rule.x0 < 60) continue;
    const group = groups.find(([first]) => Math.abs(first!.x0 - rule.x0) < 4 && Math.abs(first!.x1 - rule.x1) < 4);
    if (group === undefined) groups.push([rule]);
    else group.push(rule);
  }
  return groups
    .map((group) => distinct(group.map(({ y }) => y)))
    .map((ys, i) => ({ ys, box: around(groups[i]!.map(({ x0, x1, y }) => ({ x0, x1, y0: y, y1: y }))) }))
    .filter(({ ys }) => ys.length >= 2 && ys.length <= 200);
}
