/** Tables without lines between their columns: rows whose texts leave the same gaps free. */
import { around, median } from './geometry.js';
import { gridHtml } from './grid.js';
import type { Joining } from './lines.js';
import { cellOf, isTable, rowRuleZones, tableSegment } from './ruled-tables.js';
import type { HorizontalRule } from './rules.js';
import { rowsOf, textOf, type Row, type Segment } from './span.js';

interface Gap {
  from: number;
  to: number;
}

/** In parts of the font's size. */
const MIN_GAP = 0.75;
/** In parts of the font's size: rows of one table stand closer than this. */
const MAX_PITCH = 3.2;
const MARKER = /^(?:[•‣▪●○◦■□–—*·▸➢✓\uf0a7\uf0b7\uf0d8-]|\(?[0-9]{1,3}[.)]|\(?[a-z][.)])$/;
const LEADERS = /(?:\. ?){4,}|_{5,}|\u2026{2,}/;

export type Stretch = { type: 'rows'; rows: Row[] } | { type: 'table'; html: string };

/** A column's rows as stretches of text and tables. */
export function splitAtTables(rows: readonly Row[], joining: Joining): Stretch[] {
  const out: Stretch[] = [];
  let plain: Row[] = [];
  const flush = () => {
    if (plain.length > 0) out.push({ type: 'rows', rows: plain });
    plain = [];
  };
  for (let i = 0; i < rows.length;) {
    const run = tableFrom(rows, i);
    const row = rows[i]!;
    if (run !== null) {
      flush();
      out.push({ type: 'table', html: tableOf(rows.slice(i, run.to), run.gaps, { joining, headRows: null }) });
      i = run.to;
    } else {
      const tables = row.segments.filter(isTable);
      if (tables.length > 0) flush();
      for (const { table } of tables) out.push({ type: 'table', html: table });
      const segments = row.segments.filter((segment) => !isTable(segment));
      if (segments.length > 0) plain.push({ ...row, segments });
      i++;
    }
  }
  flush();
  return out;
}

/** Tables between lines of one width: every row in there must fit the columns. */
export function takeRowRuledTables(segments: Segment[], rules: readonly HorizontalRule[], joining: Joining): Segment[] {
  let rest = segments;
  for (const { box, ys } of rowRuleZones(rules)) {
    const isInside = ({ x0, x1, baseline }: Segment) =>
      x0 >= box.x0 - 4 && x1 <= box.x1 + 4 && baseline > box.y0 && baseline < box.y1 + 1;
    const inside = rest.filter((segment) => isInside(segment) && !isTable(segment));
    const rows = rowsOf(inside);
    const gaps = rows.length < 2 ? [] : rows.slice(1).reduce((held, row) => narrow(held, row), gapsOf(rows[0]!));
    if (gaps.length === 0 || rows.filter((row) => row.segments.length > 1).length < 2) continue;
    if (rows.some((row) => row.segments.every(isMono))) continue;
    const headRows = rows.filter(({ baseline }) => baseline < ys[1]! + 1).length;
    const hasHead = ys.length >= 3 && headRows > 0 && headRows < rows.length;
    const html = tableOf(rows, gaps, { joining, headRows: hasHead ? headRows : null });
    const inTable = new Set(inside);
    rest = [...rest.filter((segment) => !inTable.has(segment)), tableSegment(around([box, ...inside]), html)];
  }
  return rest;
}

function isMono({ spans }: Segment): boolean {
  return spans.every((span) => span.isMono);
}

function gapsOf({ segments, size }: Row): Gap[] {
  const gaps: Gap[] = [];
  for (let i = 1; i < segments.length; i++) {
    const gap = { from: segments[i - 1]!.x1, to: segments[i]!.x0 };
    if (gap.to - gap.from >= size * MIN_GAP) gaps.push(gap);
  }
  return gaps;
}

/** The parts of the gaps that a further row leaves free. */
function narrow(gaps: readonly Gap[], { segments, size }: Row): Gap[] {
  return gaps.flatMap((gap) => {
    let pieces = [gap];
    for (const { x0, x1 } of segments) {
      pieces = pieces.flatMap(({ from, to }) =>
        x1 <= from || x0 >= to
          ? [{ from, to }]
          : [
              { from, to: x0 },
              { from: x1, to },
            ],
      );
    }
    const wide = pieces.filter(({ from, to }) => to - from >= size * MIN_GAP);
    return wide.length === 0 ? [] : [wide.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a))];
  });
}

function startsTable(row: Row): boolean {
  const { segments } = row;
  if (segments.length < 2 || segments.some(isTable) || segments.every(isMono)) return false;
  return !isMarked(row) && !hasLeaders(row);
}

function hasLeaders({ segments }: Row): boolean {
  return LEADERS.test(segments.map(({ spans }) => textOf(spans)).join(' '));
}

function isMarked({ segments }: Row): boolean {
  return MARKER.test(textOf(segments[0]!.spans).trim());
}

/** null: no table starts here. */
function tableFrom(rows: readonly Row[], start: number): { to: number; gaps: Gap[] } | null {
  const first = rows[start]!;
  if (!startsTable(first)) return null;
  let gaps = gapsOf(first);
  let end = start + 1;
  let several = 1;
  let lastSeveral = start + 1;
  for (; end < rows.length; end++) {
    const row = rows[end]!;
    const isFar = row.baseline - rows[end - 1]!.baseline > MAX_PITCH * Math.max(row.size, first.size);
    if (isFar || row.segments.some(isTable) || isMarked(row) || hasLeaders(row)) break;
    const next = narrow(gaps, row);
    if (next.length === 0 || next.length < Math.ceil(gaps.length / 2)) break;
    gaps = next;
    if (row.segments.length > 1) {
      several++;
      lastSeveral = end + 1;
    }
  }
  const to = withWrappedLines(rows, lastSeveral, end, gaps);
  const columns = gaps.length + 1;
  const isEnough = columns >= 3 ? several >= 2 : several >= 3;
  if (!isEnough || several < 0.4 * (to - start) || !hasCells(rows.slice(start, to), gaps)) return null;
  return { to, gaps };
}

/** Lines after the last full row that go on in a column which is not the first belong to it. */
function withWrappedLines(rows: readonly Row[], from: number, end: number, gaps: readonly Gap[]): number {
  let to = from;
  while (to < end && rows[to]!.segments[0]!.x0 >= gaps[0]!.to - 1 && isClose(rows, to)) to++;
  return to;
}

function isClose(rows: readonly Row[], i: number): boolean {
  return rows[i]!.baseline - rows[i - 1]!.baseline < 1.6 * rows[i]!.size;
}

/** Two columns of whole sentences are text beside text. */
function hasCells(rows: readonly Row[], gaps: readonly Gap[]): boolean {
  if (gaps.length > 1) return true;
  const edge = (gaps[0]!.from + gaps[0]!.to) / 2;
  const lengths = rows.flatMap(({ segments }) =>
    segments.filter((segment) => segment.x1 <= edge).map(({ spans }) => textOf(spans).length),
  );
  return median(lengths) <= 45;
}

function tableOf(
  rows: readonly Row[],
  gaps: readonly Gap[],
  { joining, headRows }: { joining: Joining; headRows: number | null },
): string {
  const edges = gaps.map(({ from, to }) => (from + to) / 2);
  const records = joinWrapped(rows, edges);
  const grid = records.map((record) => {
    const cells: Segment[][] = Array.from({ length: edges.length + 1 }, () => []);
    for (const segment of record.flatMap((row) => row.segments)) cells[columnOf(segment, edges)]!.push(segment);
    return cells.map((segments) => cellOf(segments, joining));
  });
  const heads = headRows === null ? null : records.filter((record) => rows.indexOf(record[0]!) < headRows).length;
  return gridHtml(grid, heads);
}

function columnOf({ x0, x1 }: Segment, edges: readonly number[]): number {
  const middle = (x0 + x1) / 2;
  const next = edges.findIndex((edge) => edge > middle);
  return next === -1 ? edges.length : next;
}

/** Rows whose first column is empty and that stand close below another go on with its cells. */
function joinWrapped(rows: readonly Row[], edges: readonly number[]): Row[][] {
  const records: Row[][] = [];
  const pitches = rows.slice(1).map((row, i) => (row.baseline - rows[i]!.baseline) / row.size);
  const starts = rows.map((row) => columnOf(row.segments[0]!, edges) === 0);
  const between = median(pitches.filter((_, i) => starts[i + 1]));
  for (const [i, row] of rows.entries()) {
    const pitch = pitches[i - 1] ?? Infinity;
    const isFull = row.segments.length > edges.length;
    const isWrapped =
      i > 0 && !starts[i] && !isFull && pitch < 1.6 && (pitch < between * 0.9 || row.segments.length === 1);
    if (isWrapped) records.at(-1)!.push(row);
    else records.push([row]);
  }
  return records;
}
