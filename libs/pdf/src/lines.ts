/** Lines of text, and how several of them read as one: words broken at a line's end joined, raised marks, emphasis, links. */
import { escapeHtml, link } from '@troupe/html';
import { leadOf, type Segment, type Span } from './span.js';

export interface Line {
  /** In the order of reading. */
  spans: Span[];
  text: string;
  x0: number;
  x1: number;
  baseline: number;
  size: number;
  isBold: boolean;
  isMono: boolean;
}

const RTL_LETTERS = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/g;
const LTR_LETTERS = /[A-Za-z\u00c0-\u024f\u0370-\u052f]/g;

export function isRtlText(text: string): boolean {
  return (text.match(RTL_LETTERS)?.length ?? 0) > (text.match(LTR_LETTERS)?.length ?? 0);
}

export function lineOf(segments: readonly Segment[]): Line {
  return lineOfSpans(segments.flatMap((segment) => segment.spans));
}

/** @param placed in the order in which they stand, left to right */
export function lineOfSpans(placed: Span[]): Line {
  const isRtl = isRtlText(placed.map((span) => span.text).join(''));
  const spans = isRtl ? rightToLeft(placed) : placed;
  const lead = leadOf(spans);
  const isAll = (has: (span: Span) => boolean) => spans.every((span) => has(span) || !/[\p{L}\p{N}]/u.test(span.text));
  const x0 = Math.min(...spans.map((span) => span.x0));
  const x1 = Math.max(...spans.map((span) => span.x1));
  const text = spans.map((span, i) => (needsSpace(spans[i - 1], span) ? ` ${span.text}` : span.text)).join('');
  const isBold = lead.isBold && isAll((span) => span.isBold);
  const isMono = lead.isMono && isAll((span) => span.isMono);
  return { spans, text: text.trim(), x0, x1, baseline: lead.baseline, size: lead.size, isBold, isMono };
}

/** Runs in the other direction inside keep their own order. */
function rightToLeft(spans: readonly Span[]): Span[] {
  const reversed = [...spans].sort((a, b) => b.x1 - a.x1);
  const out: Span[] = [];
  let run: Span[] = [];
  for (const span of reversed) {
    if (/[A-Za-z0-9]/.test(span.text) && !isRtlText(span.text)) run.unshift(span);
    else {
      out.push(...run, span);
      run = [];
    }
  }
  return [...out, ...run];
}

const CJK = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/;

/** Pieces of a line stand apart by more than letters do. */
function needsSpace(before: Span | undefined, span: Span): boolean {
  if (before === undefined || before.text.endsWith(' ') || span.text.startsWith(' ')) return false;
  const gap = span.x0 >= before.x0 ? span.x0 - before.x1 : before.x0 - span.x1;
  const size = Math.min(before.size, span.size);
  if (CJK.test(before.text.at(-1)!) && CJK.test(span.text[0]!)) return gap > size * 0.6;
  return gap > size * 0.14;
}

/** Words of the whole document, to tell a word broken at a line's end from one with a hyphen of its own. */
export class Vocabulary {
  private readonly words = new Set<string>();
  private static readonly MAX_WORDS = 200_000;

  add(text: string): void {
    if (this.words.size > Vocabulary.MAX_WORDS) return;
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*(?!-?$)/gu)) this.words.add(word);
  }

  /** How the two halves around a hyphen at a line's end read. */
  joinsWithHyphen(before: string, after: string): boolean {
    const first = /[\p{L}\p{N}-]+$/u.exec(before.toLowerCase())?.[0] ?? '';
    const second = /^[\p{L}\p{N}]+/u.exec(after.toLowerCase())?.[0] ?? '';
    if (this.words.has(`${first}${second}`)) return false;
    return (
      this.words.has(`${first}-${second}`) || (this.words.has(first) && this.words.has(second) && first.length > 3)
    );
  }
}

type Mark = 'sup' | 'sub' | null;

interface Piece {
  text: string;
  isBold: boolean;
  isItalic: boolean;
  isMono: boolean;
  href: string | null;
  mark: Mark;
}

export interface Joining {
  vocabulary: Vocabulary;
  /** True for a heading: its letters are bold anyway. */
  isPlain?: boolean;
}

/** Lines that belong together as HTML of one paragraph. */
export function linesHtml(lines: readonly Line[], { vocabulary, isPlain = false }: Joining): string {
  const pieces: Piece[] = [];
  for (const [i, line] of lines.entries()) appendLine(pieces, line, i === 0 ? null : vocabulary);
  return piecesHtml(mergePieces(pieces), isPlain).trim();
}

/** Lines as text alone. */
export function linesText(lines: readonly Line[], vocabulary: Vocabulary): string {
  const pieces: Piece[] = [];
  for (const [i, line] of lines.entries()) appendLine(pieces, line, i === 0 ? null : vocabulary);
  return pieces
    .map((piece) => piece.text)
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

const BROKEN_WORD = /\p{L}[-\u00ad\u2010]$/u;

function appendLine(pieces: Piece[], line: Line, vocabulary: Vocabulary | null): void {
  const last = pieces.at(-1);
  let glue = '';
  if (last !== undefined && vocabulary !== null) glue = closeLine(last, line, vocabulary);
  for (const [i, span] of line.spans.entries()) {
    const gap = i === 0 ? glue : needsSpace(line.spans[i - 1], span) ? ' ' : '';
    pieces.push({ ...pieceOf(span, line), text: gap + span.text });
  }
}

/** Ends the line before `line`; returns what stands between the two. */
function closeLine(last: Piece, line: Line, vocabulary: Vocabulary): string {
  const text = last.text.trimEnd();
  last.text = text;
  if (text.endsWith('\u00ad')) {
    last.text = text.slice(0, -1);
    return '';
  }
  if (isBrokenAddress(last, line)) return '';
  if (BROKEN_WORD.test(text) && /^\p{Ll}/u.test(line.text)) {
    if (!vocabulary.joinsWithHyphen(text.slice(0, -1), line.text)) last.text = text.slice(0, -1);
    return '';
  }
  if (/[\p{L}\p{N}][-/]$/u.test(text) && /^[\p{L}\p{N}]/u.test(line.text)) return '';
  return CJK.test(text.at(-1) ?? '') && CJK.test(line.text[0] ?? '') ? '' : ' ';
}

/** An address goes on in the next line as if there were no end. */
function isBrokenAddress(last: Piece, line: Line): boolean {
  const next = line.spans[0]!;
  if (last.href === null || next.href !== last.href) return false;
  const joined = `${/\S+$/.exec(last.text)?.[0] ?? ''}${/^\S+/.exec(next.text)?.[0] ?? ''}`;
  return last.href.toLowerCase().includes(joined.toLowerCase());
}

function pieceOf({ text, isBold, isItalic, isMono, href, size, baseline }: Span, line: Line): Piece {
  return { text, isBold, isItalic, isMono, href, mark: markOf({ text, size, baseline }, line) };
}

function markOf({ text, size, baseline }: Pick<Span, 'text' | 'size' | 'baseline'>, line: Line): Mark {
  if (size > line.size * 0.85 || text.trim().length > 6) return null;
  const raise = line.baseline - baseline;
  if (raise > line.size * 0.15) return 'sup';
  return raise < -line.size * 0.08 ? 'sub' : null;
}

/** Neighbours of one kind become one piece; blanks take the kind of what they follow. */
function mergePieces(pieces: readonly Piece[]): Piece[] {
  const merged: Piece[] = [];
  for (const piece of pieces) {
    const last = merged.at(-1);
    if (last !== undefined && (piece.text.trim() === '' || isAlike(last, piece))) last.text += piece.text;
    else merged.push({ ...piece });
  }
  return merged;
}

function isAlike(a: Piece, b: Piece): boolean {
  const hasSameFace = a.isBold === b.isBold && a.isItalic === b.isItalic && a.isMono === b.isMono;
  return hasSameFace && a.href === b.href && a.mark === b.mark;
}

function piecesHtml(pieces: readonly Piece[], isPlain: boolean): string {
  const isAllMono = pieces.every((piece) => piece.isMono);
  return pieces.map((piece) => pieceHtml(piece, isPlain, isAllMono)).join('');
}

function pieceHtml(piece: Piece, isPlain: boolean, isAllMono: boolean): string {
  const text = piece.text.replace(/\s+/g, ' ');
  const core = text.trim();
  if (core === '') return text;
  const before = text.startsWith(' ') ? ' ' : '';
  const after = text.endsWith(' ') ? ' ' : '';
  let html = escapeHtml(core);
  if (piece.mark !== null) html = `<${piece.mark}>${html}</${piece.mark}>`;
  const hasLetters = /[\p{L}\p{N}]/u.test(core);
  if (piece.isMono && !isPlain && !isAllMono && hasLetters) html = `<code>${html}</code>`;
  else if (hasLetters && !isPlain) {
    if (piece.isItalic) html = `<em>${html}</em>`;
    if (piece.isBold) html = `<strong>${html}</strong>`;
  }
  return before + (piece.href === null ? html : link(piece.href, html)) + after;
}
