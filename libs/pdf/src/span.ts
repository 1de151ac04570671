import { median, type Box } from './geometry.js';

/** A piece of text in one font on one line, as the file places it. */
export interface Span {
  text: string;
  x0: number;
  x1: number;
  /** The line that letters stand on. */
  baseline: number;
  /** Size of the font, in points. */
  size: number;
  isBold: boolean;
  isItalic: boolean;
  isMono: boolean;
  isRtl: boolean;
  /** Where a link on it leads; null: no link. */
  href: string | null;
  /** Id of the structure tree's leaf it belongs to; null: none. */
  tag: string | null;
  /** Part of no content, says the file: heads and feet of pages, ornaments. */
  isArtifact: boolean;
}

export function spanBox({ x0, x1, baseline, size }: Span): Box {
  return { x0, x1, y0: baseline - size * 0.8, y1: baseline + size * 0.2 };
}

/** The part of a span between two of its characters. */
export function sliceSpan(span: Span, from: number, to: number): Span {
  const perChar = (span.x1 - span.x0) / span.text.length;
  const left = span.isRtl ? span.text.length - to : from;
  const right = span.isRtl ? span.text.length - from : to;
  return { ...span, text: span.text.slice(from, to), x0: span.x0 + left * perChar, x1: span.x0 + right * perChar };
}

/** Spans in a line next to each other: what stands in one column, or one cell. Left to right, as they stand. */
export interface Segment extends Box {
  spans: Span[];
  baseline: number;
  size: number;
}

export interface Row {
  segments: Segment[];
  baseline: number;
  size: number;
}

export function segmentOf(spans: Span[]): Segment {
  const lead = leadOf(spans);
  const x0 = Math.min(...spans.map((span) => span.x0));
  const x1 = Math.max(...spans.map((span) => span.x1));
  const { baseline, size } = lead;
  return { spans, baseline, size, x0, x1, y0: baseline - size * 0.8, y1: baseline + size * 0.2 };
}

/** The span that says where a line stands and how large it is: the one with the most text. */
export function leadOf(spans: readonly Span[]): Span {
  return spans.reduce((lead, span) => (span.text.length * span.size > lead.text.length * lead.size ? span : lead));
}

export function textOf(spans: readonly Span[]): string {
  return spans.map((span) => span.text).join(' ');
}

interface Placed {
  baseline: number;
  size: number;
  x0: number;
}

/** Groups what stands on one line, top down. A raised or lowered mark belongs to the line it touches most. */
export function groupLines<P extends Placed>(items: readonly P[]): P[][] {
  const sorted = [...items].sort((a, b) => a.baseline - b.baseline || a.x0 - b.x0);
  const lines: { anchor: P; members: P[] }[] = [];
  for (const item of sorted) {
    const line = lines.slice(-3).findLast(({ anchor }) => sharesLine(anchor, item));
    if (line === undefined) lines.push({ anchor: item, members: [item] });
    else {
      line.members.push(item);
      if (item.size > line.anchor.size * 1.05) line.anchor = item;
    }
  }
  lines.sort((a, b) => a.anchor.baseline - b.anchor.baseline);
  return lines.map(({ members }) => members.sort((a, b) => a.x0 - b.x0));
}

function sharesLine(a: Placed, b: Placed): boolean {
  const top = Math.max(a.baseline - a.size * 0.75, b.baseline - b.size * 0.75);
  const bottom = Math.min(a.baseline + a.size * 0.2, b.baseline + b.size * 0.2);
  return bottom - top >= 0.55 * 0.95 * Math.min(a.size, b.size);
}

/** Segments of a region as rows, top down. */
export function rowsOf(segments: readonly Segment[]): Row[] {
  return groupLines(segments).map((members) => ({
    segments: members,
    baseline: median(members.map((segment) => segment.baseline)),
    size: Math.max(...members.map((segment) => segment.size)),
  }));
}
