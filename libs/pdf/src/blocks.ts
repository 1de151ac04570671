/** Lines of a column into paragraphs, headings, lists and code. */
import { splitAtTables } from './aligned-tables.js';
import { median } from './geometry.js';
import { lineOf, linesHtml, linesText, type Joining, type Line } from './lines.js';
import type { Row, Segment } from './span.js';
import { rowsOf } from './span.js';

export interface HeadingBlock {
  type: 'heading';
  html: string;
  text: string;
  size: number;
  /** By the structure tree, or by its number ("2.3" is 2); null: its size tells. */
  level: number | null;
}

export interface ItemBlock {
  type: 'item';
  html: string;
  /** Where its mark stands, in points. */
  indent: number;
  /** null: a bullet. */
  number: number | null;
}

export type Block = HeadingBlock | { type: 'html'; html: string } | { type: 'code'; text: string } | ItemBlock;

/** Properties of the text of the whole document. */
export interface Body extends Joining {
  /** Size of most of the text, in points. */
  size: number;
  isBold: boolean;
}

/** One column, top down. */
export function blocksOf(segments: readonly Segment[], body: Body): Block[] {
  return splitAtTables(rowsOf(segments), body).flatMap((stretch) =>
    stretch.type === 'table' ? [{ type: 'html', html: stretch.html } as const] : textBlocks(stretch.rows, body),
  );
}

interface Paragraph {
  lines: Line[];
  marker: Marker | null;
}

interface Marker {
  /** Characters of the line that it takes. */
  length: number;
  number: number | null;
}

function textBlocks(rows: readonly Row[], body: Body): Block[] {
  const lines = rows.map((row) => lineOf(row.segments));
  return groupParagraphs(lines).map((paragraph, i, all) => blockOf(paragraph, body, all[i + 1]));
}

const BULLET = /^[•‣▪●○◦■□–—▸➢✓∙⁃\uf0a7\uf0b7\uf0d8*-](?:\s|$)/;
const LETTER_BULLET = /^[o·](?:\s)/;
const NUMBERED = /^(?:\(?(\d{1,3})[.)]|\(?([a-z])[.)])(?:\s|$)/;
const LEADERS = /(?:\. ?){4,}\s*[\divxlc]+$/;

export function markerOf(line: Line): Marker | null {
  const bullet = BULLET.exec(line.text) ?? (isSetApart(line) ? LETTER_BULLET.exec(line.text) : null);
  if (bullet !== null && line.text.length > 1) return { length: bullet[0].trimEnd().length, number: null };
  const numbered = NUMBERED.exec(line.text);
  if (numbered === null || line.text.length <= numbered[0].length) return null;
  const number = numbered[1] === undefined ? numbered[2]!.charCodeAt(0) - 96 : Number(numbered[1]);
  return { length: numbered[0].trimEnd().length, number };
}

/** The first piece of the line is a mark of its own. */
function isSetApart({ spans }: Line): boolean {
  return spans.length > 1 && spans[0]!.text.trim().length === 1;
}

function groupParagraphs(lines: readonly Line[]): Paragraph[] {
  const shape = shapeOf(lines);
  const paragraphs: Paragraph[] = [];
  for (const [i, line] of lines.entries()) {
    const current = paragraphs.at(-1);
    const marker = line.isMono ? null : markerOf(line);
    const isItem = marker !== null && isListed(marker, { line, next: lines.slice(i + 1), before: paragraphs });
    if (current === undefined || isItem || startsParagraph(current, line, shape)) {
      paragraphs.push({ lines: [line], marker: isItem ? marker : null });
    } else current.lines.push(line);
  }
  return paragraphs;
}

/** A number starts a list only where it begins to count, or goes on. */
function isListed(
  marker: Marker,
  { line, next, before }: { line: Line; next: readonly Line[]; before: readonly Paragraph[] },
): boolean {
  if (marker.number === null) return true;
  if (before.slice(-8).some((earlier) => earlier.marker?.number === marker.number! - 1)) return true;
  const follows = next.slice(0, 25).some((later) => {
    const other = markerOf(later);
    return other?.number === marker.number! + 1 && Math.abs(later.x0 - line.x0) < line.size;
  });
  return follows || marker.number === 1;
}

interface Shape {
  left: number;
  right: number;
  pitch: number;
}

function shapeOf(lines: readonly Line[]): Shape {
  const pitches: number[] = [];
  for (let i = 1; i < lines.length; i++) {
    const pitch = lines[i]!.baseline - lines[i - 1]!.baseline;
    if (Math.abs(lines[i]!.size - lines[i - 1]!.size) < 0.5) pitches.push(pitch / lines[i]!.size);
  }
  const close = pitches.filter((pitch) => pitch > 0.8 && pitch < 2.6);
  const usual = close.length < 3 ? 1.3 : [...close].sort((a, b) => a - b)[Math.floor(close.length * 0.4)]!;
  const left = Math.min(...lines.map((line) => line.x0));
  return { left, right: Math.max(...lines.map((line) => line.x1)), pitch: Math.max(1, usual) };
}

/** Whether `line` begins something new after `current`. */
function startsParagraph(current: Paragraph, line: Line, shape: Shape): boolean {
  const last = current.lines.at(-1)!;
  const pitch = line.baseline - last.baseline;
  if (last.isMono !== line.isMono) return !runsOn(current, line, shape);
  if (line.isMono) return pitch > 3 * line.size;
  if (pitch > (shape.pitch * 1.25 + 0.1) * Math.max(line.size, last.size)) return true;
  if (Math.abs(line.size - last.size) > 0.1 * last.size) return true;
  if (LEADERS.test(last.text)) return true;
  if (last.isBold !== line.isBold && current.lines.every((each) => each.isBold === last.isBold)) {
    return startsAfterOtherWeight(current, line, shape);
  }
  return isIndented(current, line) || endsEarly(last, line, shape);
}

/** Words of code may fill a line of a paragraph: it stands where the others do, and the one before is full. */
function runsOn(current: Paragraph, line: Line, shape: Shape): boolean {
  const last = current.lines.at(-1)!;
  const isPlaced = Math.abs(line.x0 - last.x0) < 1 || (current.lines.length === 1 && line.x0 < last.x0);
  const isClose = line.baseline - last.baseline < (shape.pitch + 0.15) * last.size;
  const hasText = current.lines.some((each) => !each.isMono);
  return hasText && isPlaced && isClose && !endsEarly(last, line, shape);
}

/** Bold words at the begin of a paragraph may fill its first line. */
function startsAfterOtherWeight(current: Paragraph, line: Line, shape: Shape): boolean {
  const last = current.lines.at(-1)!;
  const isFull = last.x1 > shape.right - 3 * last.size;
  return line.isBold || !isFull || current.lines.length > 1;
}

function isIndented(current: Paragraph, line: Line): boolean {
  const last = current.lines.at(-1)!;
  const first = current.lines[0]!;
  const indent = line.x0 - last.x0;
  if (isCentred(last, line)) return false;
  if (current.marker !== null)
    return line.x0 < first.x0 + 0.3 * line.size || (current.lines.length > 1 && indent > line.size);
  if (indent > 0.8 * line.size)
    return current.lines.length > 1 || indent < 3 * line.size ? current.lines.length > 1 : true;
  return indent < -0.8 * line.size && current.lines.length > 1;
}

function isCentred(last: Line, line: Line): boolean {
  const middle = (last.x0 + last.x1) / 2;
  return Math.abs(middle - (line.x0 + line.x1) / 2) < 1.5 && Math.abs(last.x0 - line.x0) > 2;
}

/** The next word had found room: the line was ended on purpose. */
function endsEarly(last: Line, line: Line, { right }: Shape): boolean {
  if (isCentred(last, line)) return false;
  const words = line.text.split(/\s/, 1)[0]!.length + 1;
  const perChar = (line.x1 - line.x0) / Math.max(1, line.text.length);
  const isRtl = last.spans.some((span) => span.isRtl);
  const room = isRtl ? last.x0 - line.x0 : right - last.x1;
  const isOpen = /[,;\p{Ll}-]$/u.test(last.text) && /^\p{Ll}/u.test(line.text);
  return room > words * perChar + (isOpen ? 8 : 2) * last.size;
}

const MAX_HEADING = 220;

function blockOf({ lines, marker }: Paragraph, body: Body, next: Paragraph | undefined): Block {
  if (lines.every((line) => line.isMono)) return { type: 'code', text: codeText(lines) };
  const level = headingLevel(lines, { body, marker, next });
  if (level !== null) return headingBlock(lines, body, level === 0 ? null : level);
  if (marker !== null) return itemBlock(lines, marker, body);
  const html = linesHtml(lines, body);
  if (LEADERS.test(lines[0]!.text)) return { type: 'item', html, indent: lines[0]!.x0, number: null };
  return { type: 'html', html: `<p>${html}</p>` };
}

export function headingBlock(lines: readonly Line[], body: Body, level: number | null): HeadingBlock {
  const html = linesHtml(lines, { ...body, isPlain: true });
  return { type: 'heading', html, text: linesText(lines, body.vocabulary), size: lines[0]!.size, level };
}

const SECTION_NUMBER = /^(?:chapter |appendix |part )?(\d{1,2}(?:\.\d{1,2}){0,4}|[A-Z](?:\.\d{1,2}){1,4})\.?\s+\p{L}/iu;

/** 0: a heading whose size tells its level; null: none. */
// eslint-disable-next-line complexity -- one line a sign
function headingLevel(
  lines: readonly Line[],
  { body, marker, next }: { body: Body; marker: Marker | null; next: Paragraph | undefined },
): number | null {
  const text = lines.map((line) => line.text).join(' ');
  if (lines.length > 3 || text.length > MAX_HEADING || !/\p{L}{2}/u.test(text) || LEADERS.test(text)) return null;
  const size = Math.min(...lines.map((line) => line.size));
  if (size > body.size * 1.12 && !(marker !== null && marker.number === null)) return 0;
  const isBold = lines.every((line) => line.isBold) && !body.isBold;
  if (!isBold || size < body.size * 0.95 || lines.length > 2 || /[.,;:]$/.test(text)) return null;
  const numbered = SECTION_NUMBER.exec(text);
  if (numbered !== null) return numbered[1]!.split('.').length + 1;
  const isFollowed = next !== undefined && !next.lines.every((line) => line.isBold);
  return isFollowed && marker === null ? 0 : null;
}

export function itemBlock(lines: readonly Line[], marker: Marker, body: Body): ItemBlock {
  const [first, ...rest] = lines;
  const spans = withoutMarker(first!.spans, marker.length);
  const text = first!.text.slice(marker.length).trim();
  const html = spans.length === 0 ? '' : linesHtml([{ ...first!, spans, text }, ...rest], body);
  return { type: 'item', html, indent: first!.x0, number: marker.number };
}

function withoutMarker(spans: Line['spans'], length: number): Line['spans'] {
  let left = length;
  return spans.flatMap((span) => {
    if (left <= 0) return [span];
    const text = span.text.trimStart();
    const cut = text.slice(left).trimStart();
    left -= text.length;
    return cut === '' ? [] : [{ ...span, text: cut }];
  });
}

/** Code keeps its columns: letters of one width tell how far a line is indented. */
export function codeText(lines: readonly Line[]): string {
  const spans = lines.flatMap((line) => line.spans);
  const width = median(
    spans.filter((span) => span.text.length > 2).map((span) => (span.x1 - span.x0) / span.text.length),
  );
  const left = Math.min(...lines.map((line) => line.x0));
  const perChar = width > 0 ? width : lines[0]!.size * 0.6;
  const pitch = median(lines.slice(1).map((line, i) => line.baseline - lines[i]!.baseline));
  return lines
    .map((line, i) => {
      const isApart = i > 0 && line.baseline - lines[i - 1]!.baseline > pitch * 1.6;
      return (isApart ? '\n' : '') + codeLine(line, left, perChar);
    })
    .join('\n');
}

function codeLine({ spans }: Line, left: number, perChar: number): string {
  let text = '';
  for (const span of spans) {
    const column = Math.min(200, Math.round((span.x0 - left) / perChar));
    text = text.padEnd(Math.max(text.length, column)) + span.text;
  }
  return text.trimEnd();
}
