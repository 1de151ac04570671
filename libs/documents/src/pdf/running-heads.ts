/** Heads and feet that pages repeat: titles, chapters and page numbers at the edge, at one height on several pages. */
import { isTable } from './ruled-tables.js';
import { rowsOf, textOf, type Segment } from './span.js';

interface EdgeRow {
  segments: Segment[];
  key: string;
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

/** Rows of one edge, outermost first. */
function edgeOf({ segments, height }: { segments: Segment[]; height: number }, side: 'top' | 'bottom'): Edge {
  const limit = side === 'top' ? height * MARGIN : height * (1 - MARGIN);
  const near = segments.filter(
    (segment) => !isTable(segment) && (side === 'top' ? segment.baseline < limit : segment.baseline > limit),
  );
  const rows = rowsOf(near);
  if (side === 'bottom') rows.reverse();
  return {
    rows: rows.slice(0, MAX_ROWS).map((row) => ({ segments: row.segments, key: keyOf(row.segments, row.baseline) })),
  };
}

/** What stays the same from page to page: the place, and the text but for numbers. */
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

/** From the outside inwards, up to the first row that is the page's own. */
function peel({ rows }: Edge, counts: ReadonlyMap<string, number>, needed: number, found: Set<Segment>): void {
  for (const { segments, key } of rows) {
    if ((counts.get(key) ?? 0) < needed) return;
    for (const segment of segments) found.add(segment);
  }
}
