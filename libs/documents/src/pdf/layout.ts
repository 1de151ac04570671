/** Pages of a document as blocks in reading order, with the whole document at hand. */
import { blocksOf, type Block, type Body } from './blocks.js';
import { takeRowRuledTables } from './aligned-tables.js';
import { readingOrder } from './columns.js';
import { isRtlText, lineOf, linesHtml, Vocabulary } from './lines.js';
import type { RawPage } from './page-reader.js';
import { takeRuledTables } from './ruled-tables.js';
import { findRunningHeads } from './running-heads.js';
import { segmentsOf } from './segments.js';
import { rowsOf, textOf, type Segment, type Span } from './span.js';
import { taggedBlocks } from './tagged.js';

/** @param check called before each page; throws when the time is over */
export function layOut(pages: readonly RawPage[], check: () => void): Block[][] {
  const segmented = pages.map((page) => {
    check();
    return { segments: segmentsOf(ownSpans(page), page.painted.vertical), height: page.height };
  });
  const heads = findRunningHeads(segmented);
  const body = bodyOf(segmented.map(({ segments }) => segments));
  return pages.map((page, i) => {
    check();
    const segments = segmented[i]!.segments.filter((segment) => !heads[i]!.has(segment));
    return pageBlocks(page, segments, body);
  });
}

/** Where the file marks ornaments as such, they are left out. */
function ownSpans({ spans, structure }: RawPage): Span[] {
  return structure === null ? spans : spans.filter((span) => !span.isArtifact);
}

function pageBlocks(page: RawPage, segments: Segment[], body: Body): Block[] {
  const spans = segments.flatMap((segment) => segment.spans);
  const tagged = taggedBlocks(page.structure, spans, body);
  if (tagged !== null) return [...tagged, ...turnedBlocks(page, body)];
  const withGrids = takeRuledTables(segments, page.painted, body);
  const withTables = takeRowRuledTables(withGrids, page.painted.horizontal, body);
  const isRtl = isRtlText(spans.map((span) => span.text).join(''));
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
