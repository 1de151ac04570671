/** Pages of a document as blocks in reading order, worked out from the whole document. */
import { blocksOf, type Block, type Body } from './blocks.js';
import { takeRowRuledTables } from './aligned-tables.js';
import { readingOrder } from './columns.js';
import { isRtlText, lineOf, linesHtml, Vocabulary } from './lines.js';
import type { RawPage } from './page-reader.js';
import { takeRuledTables } from './ruled-tables.js';
import { findRunningHeads } from './running-heads.js';
import { segmentsOf } from './segments.js';
import { rowsOf, segmentOf, textOf, type Segment, type Span } from './span.js';
import type { Dot } from './rules.js';
import { taggedBlocks } from './tagged.js';

/** @param check called before each page; throws when the time is over */
export function layOut(pages: readonly RawPage[], check: () => void): Block[][] {
  const segmented = pages.map((page) => {
    check();
    return {
      segments: withDots(segmentsOf(ownSpans(page), page.painted.vertical), page.painted.dots),
      height: page.height,
    };
  });
  const heads = findRunningHeads(segmented);
  const body = bodyOf(segmented.map(({ segments }) => segments));
  return pages.map((page, i) => {
    check();
    const segments = segmented[i]!.segments.filter((segment) => !heads[i]!.has(segment));
    return pageBlocks(page, { segments, heads: heads[i]! }, body);
  });
}

/** The farthest that a drawn mark of a list stands before its text, in points. */
const MAX_DOT_GAP = 30;

/** Marks of lists that are drawn instead of written come before the text beside them. */
function withDots(segments: Segment[], dots: readonly Dot[]): Segment[] {
  if (dots.length === 0) return segments;
  return segments.map((segment) => {
    const dot = dots.find(
      ({ x, y }) =>
        y < segment.baseline &&
        y > segment.baseline - segment.size * 0.8 &&
        x < segment.x0 - 2 &&
        x > segment.x0 - MAX_DOT_GAP,
    );
    if (dot === undefined || segments.some((other) => isBetween(other, dot, segment))) return segment;
    const mark = { ...segment.spans[0]!, text: '\u2022', x0: dot.x - 2, x1: dot.x + 2, href: null, isMono: false };
    return segmentOf([mark, ...segment.spans]);
  });
}

function isBetween(other: Segment, dot: Dot, segment: Segment): boolean {
  return other !== segment && other.x1 > dot.x && other.x0 < segment.x0 && other.y0 < dot.y && other.y1 > dot.y;
}

/** Where the file marks ornaments as such, they are left out. */
function ownSpans({ spans, structure }: RawPage): Span[] {
  return structure === null ? spans : spans.filter((span) => !span.isArtifact);
}

/** In the order of the file, which is that of its structure tree. */
function withoutHeads(page: RawPage, heads: ReadonlySet<Segment>): Span[] {
  const dropped = new Set([...heads].flatMap((segment) => segment.spans));
  return ownSpans(page).filter((span) => !dropped.has(span));
}

interface PageContent {
  segments: Segment[];
  heads: ReadonlySet<Segment>;
}

function pageBlocks(page: RawPage, { segments, heads }: PageContent, body: Body): Block[] {
  const tagged = taggedBlocks(page.structure, withoutHeads(page, heads), body);
  if (tagged !== null) return [...tagged, ...turnedBlocks(page, body)];
  const withGrids = takeRuledTables(segments, page.painted, body);
  const withTables = takeRowRuledTables(withGrids, page.painted.horizontal, body);
  const isRtl = isRtlText(page.spans.map((span) => span.text).join(''));
  const columns = readingOrder(withTables, isRtl);
  return [...columns.flatMap((column) => blocksOf(column, body)), ...turnedBlocks(page, body)];
}

/** Text that runs another way than the page's, after it. */
function turnedBlocks({ turned }: RawPage, body: Body): Block[] {
  return turned.flatMap((spans) =>
    rowsOf(segmentsOf(spans, [])).map((row) => {
      return { type: 'html', html: `<p>${linesHtml([lineOf(row.segments)], body)}</p>` } as const;
    }),
  );
}

function bodyOf(pages: readonly Segment[][]): Body {
  const vocabulary = new Vocabulary();
  const letters = new Map<number, { all: number; bold: number }>();
  for (const { spans } of pages.flat()) {
    vocabulary.add(textOf(spans));
    for (const span of spans) {
      if (span.isMono) continue;
      const size = Math.round(span.size * 4) / 4;
      const count = letters.get(size) ?? { all: 0, bold: 0 };
      count.all += span.text.length;
      if (span.isBold) count.bold += span.text.length;
      letters.set(size, count);
    }
  }
  const most = [...letters].sort(([, a], [, b]) => b.all - a.all)[0];
  if (most === undefined) return { vocabulary, size: 10, isBold: false };
  return { vocabulary, size: most[0], isBold: most[1].bold > most[1].all * 0.6 };
}
