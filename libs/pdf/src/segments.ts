/** Spans of a page into segments: split where the gap is too wide for a space between words, or a line of the page runs. */
import type { VerticalRule } from './rules.js';
import { groupLines, segmentOf, sliceSpan, type Segment, type Span } from './span.js';

/** In parts of the font's size; spaces of justified text stay below. */
const WIDE_GAP = 1.1;

export function segmentsOf(spans: readonly Span[], rules: readonly VerticalRule[]): Segment[] {
  return groupLines(withoutCopies(spans)).flatMap((line) => splitLine(line, rules));
}

/** Bold letters are made by some printing text twice with a small shift. */
function withoutCopies(spans: readonly Span[]): Span[] {
  const seen = new Map<string, Span[]>();
  return spans.filter((span) => {
    const key = `${span.text}|${Math.round(span.size)}`;
    const others = seen.get(key) ?? [];
    const isCopy = others.some(
      (other) => Math.abs(other.x0 - span.x0) < 1.2 && Math.abs(other.baseline - span.baseline) < 1.2,
    );
    if (!isCopy && others.length < 50) seen.set(key, [...others, span]);
    return !isCopy;
  });
}

function splitLine(line: Span[], rules: readonly VerticalRule[]): Segment[] {
  const baseline = line[0]!.baseline;
  const size = Math.max(...line.map((span) => span.size));
  const cuts = rules.filter(({ y0, y1 }) => y0 < baseline - size * 0.3 && y1 > baseline - size * 0.3);
  const spans = cuts.length === 0 ? line : line.flatMap((span) => cutSpan(span, cuts));
  const groups: Span[][] = [];
  let right = -Infinity;
  for (const span of spans) {
    const gap = span.x0 - right;
    const isCut = gap > -1 && cuts.some(({ x }) => x > right - 1 && x < span.x0 + 1 && right > -Infinity);
    const isWide = gap > WIDE_GAP * Math.min(size, Math.max(span.size, groups.at(-1)?.at(-1)?.size ?? 0));
    if (isWide || isCut || groups.length === 0) groups.push([span]);
    else groups.at(-1)!.push(span);
    right = isWide || isCut ? span.x1 : Math.max(right, span.x1);
  }
  return groups.map(segmentOf);
}

/** The library joins texts that stand close. A line between two cells says that they are two. */
function cutSpan(span: Span, cuts: readonly VerticalRule[]): Span[] {
  const inside = cuts.filter(({ x }) => x > span.x0 + 1.5 && x < span.x1 - 1.5).sort((a, b) => a.x - b.x);
  if (inside.length === 0 || span.isRtl) return [span];
  const perChar = (span.x1 - span.x0) / span.text.length;
  const pieces: Span[] = [];
  let from = 0;
  for (const { x } of inside) {
    const at = nearestSpace(span.text, Math.round((x - span.x0) / perChar));
    if (at === null || at <= from) continue;
    pieces.push(sliceSpan(span, from, at));
    from = at + 1;
  }
  if (from < span.text.length) pieces.push(sliceSpan(span, from, span.text.length));
  return pieces;
}

/** null: there is none within three characters. */
export function nearestSpace(text: string, at: number): number | null {
  for (let off = 0; off <= 3; off++) {
    if (text[at - off] === ' ') return at - off;
    if (text[at + off] === ' ') return at + off;
  }
  return null;
}
