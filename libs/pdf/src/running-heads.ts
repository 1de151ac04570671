/** Heads and feet that pages repeat: titles, chapters and page numbers at the edge, at one height on several pages. */
import { isTable } from './ruled-tables.js';
import { rowsOf, textOf, type Segment } from './span.js';

interface EdgeRow {
  segments: Segment[];
  key: string;
  baseline: number;
  size: number;
  isInMargin: boolean;
}

interface Edge {
  rows: EdgeRow[];
}

/** Share of the page's height in which a head or a foot stands. */
const MARGIN = 0.14;
const MAX_ROWS = 4;
const MIN_PAGES = 3;

/** @returns per page, the segments that are heads or feet */
export function findRunningHeads(pages: readonly { segments: Segment[]; height: number }[]): Set<Segment>[] {
  const tops = pages.map((page) => edgeOf(page, 'top'));
  const bottoms = pages.map((page) => edgeOf(page, 'bottom'));
  const topCounts = countKeys(tops);
  const bottomCounts = countKeys(bottoms);
  const needed = pages.length < 6 ? Math.max(2, Math.ceil(pages.length * 0.6)) : MIN_PAGES;
  return pages.map((_, i) => {
    const found = new Set<Segment>();
    peel(tops[i]!, topCounts, needed, found);
    peel(bottoms[i]!, bottomCounts, needed, found);
    return found;
  });
}

/** Rows of one edge, outermost first, and some of what follows. */
function edgeOf({ segments, height }: { segments: Segment[]; height: number }, side: 'top' | 'bottom'): Edge {
  const depthOf = (baseline: number) => (side === 'top' ? baseline : height - baseline);
  const near = segments.filter((segment) => !isTable(segment) && depthOf(segment.baseline) < 2 * MARGIN * height);
  const rows = rowsOf(near);
  if (side === 'bottom') rows.reverse();
  return {
    rows: rows.slice(0, MAX_ROWS + 1).map((row) => ({
      ...row,
      key: keyOf(row.segments, row.baseline),
      isInMargin: depthOf(row.baseline) < MARGIN * height,
    })),
  };
}

/** The part that stays the same from page to page: the place, and the text but for numbers. */
function keyOf(segments: readonly Segment[], baseline: number): string {
  const text = segments
    .map(({ spans }) => textOf(spans))
    .join(' ')
    .trim()
    .toLowerCase();
  const same = text
    .replace(/\p{N}+/gu, '#')
    .replace(/^[ivxlc]+$|(?<= )[ivxlc]+$|^[ivxlc]+(?= )/g, '#')
    .replace(/\s+/g, ' ');
  return `${Math.round(baseline / 5)}|${same.slice(0, 160)}`;
}

function countKeys(edges: readonly Edge[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { rows } of edges) {
    for (const key of new Set(rows.map((row) => row.key))) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** In parts of the font's size: what repeats stands at least so far from the page's own text. */
const MIN_DISTANCE = 1.45;

/** From the outside inwards, up to the last repeated row that is set apart from what follows. */
function peel({ rows }: Edge, counts: ReadonlyMap<string, number>, needed: number, found: Set<Segment>): void {
  const own = rows.findIndex((row, i) => i === MAX_ROWS || !row.isInMargin || (counts.get(row.key) ?? 0) < needed);
  let end = own === -1 ? rows.length : own;
  while (end > 0 && !isSetApart(rows[end - 1]!, rows[end])) end--;
  for (const { segments } of rows.slice(0, end)) for (const segment of segments) found.add(segment);
}

function isSetApart(row: EdgeRow, next: EdgeRow | undefined): boolean {
  return next === undefined || Math.abs(next.baseline - row.baseline) >= MIN_DISTANCE * Math.max(row.size, next.size);
}
