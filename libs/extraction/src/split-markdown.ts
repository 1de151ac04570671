/**
 * A long page as parts that a model can read one by one.
 *
 * Parts end before a heading where one stands in their last part, else between blocks; tables go on with their header, code with
 * its fences, and every part begins with the headings under which it stands. Parts are made when they are asked for: a caller that
 * reads only so many does not pay for the rest of the page.
 */
import { cutBlock } from './cut-block.js';
import { estimateTokens } from './estimate-tokens.js';
import { markdownBlocks, type MarkdownBlock } from './markdown-blocks.js';

export interface MarkdownPart {
  text: string;
  /** As `estimateTokens` counts them. */
  tokens: number;
  /** Characters of the page that are read when this part is; the repeated headings and headers are not counted. */
  readChars: number;
}

interface Piece extends MarkdownBlock {
  tokens: number;
}

/** A heading here or later in a part is a better end than the last block that fits. */
const BREAK_FROM = 0.6;
/** Share of a part that the headings above it may take. */
const TRAIL_SHARE = 0.2;
const SEPARATOR_TOKENS = 1;
/** A longer text need not be counted: it does not fit. */
const MAX_CHARS_PER_TOKEN = 8;

export function* splitMarkdown(markdown: string, maxTokens: number): Generator<MarkdownPart> {
  const whole = wholePart(markdown, maxTokens);
  if (whole === null) yield* splitLong(markdown, maxTokens);
  else if (whole.text !== '') yield whole;
}

/** The page as one part; null when it is too long for that. */
function wholePart(markdown: string, maxTokens: number): MarkdownPart | null {
  if (markdown.length > maxTokens * MAX_CHARS_PER_TOKEN) return null;
  const text = markdown.trim();
  const tokens = estimateTokens(text);
  return tokens > maxTokens ? null : { text, tokens, readChars: markdown.length };
}

function* splitLong(markdown: string, maxTokens: number): Generator<MarkdownPart> {
  const splitter = new Splitter(maxTokens);
  for (const piece of piecesOf(markdown, maxTokens)) {
    const part = splitter.add(piece);
    if (part !== null) yield part;
  }
  const last = splitter.end();
  if (last !== null) yield last;
}

/** Blocks that fit into a part together with the headings above them. */
function* piecesOf(markdown: string, maxTokens: number): Generator<Piece> {
  const room = Math.max(1, Math.floor(maxTokens * (1 - TRAIL_SHARE)));
  for (const block of markdownBlocks(markdown)) {
    const tokens = estimateTokens(block.text) + SEPARATOR_TOKENS;
    if (tokens <= room) yield { ...block, tokens };
    else {
      for (const text of cutBlock(block, room))
        yield { ...block, text, tokens: estimateTokens(text) + SEPARATOR_TOKENS };
    }
  }
}

class Splitter {
  private pieces: Piece[] = [];
  private tokens = 0;
  /** Headings open where the pieces begin. */
  private trail: Piece[] = [];
  private readChars = 0;

  constructor(private readonly maxTokens: number) {}

  /** The part that is full now, if any. */
  add(piece: Piece): MarkdownPart | null {
    const isFull = this.pieces.length > 0 && this.tokens + piece.tokens > this.maxTokens;
    const part = isFull ? this.cut(this.bestBreak()) : null;
    this.pieces.push(piece);
    this.tokens += piece.tokens;
    return part;
  }

  end(): MarkdownPart | null {
    return this.pieces.length === 0 ? null : this.cut(this.pieces.length);
  }

  /** Number of pieces to end with: before the highest heading late in the part, else all but headings at the end. */
  private bestBreak(): number {
    const pieces = this.pieces;
    let tokens = 0;
    let best: number | null = null;
    for (const [index, { kind, level, tokens: size }] of pieces.entries()) {
      const isLate = index > 0 && tokens >= this.maxTokens * BREAK_FROM;
      if (isLate && kind === 'heading' && level <= (best === null ? 6 : pieces[best]!.level)) best = index;
      tokens += size;
    }
    if (best !== null) return best;
    let end = pieces.length;
    while (end > 1 && pieces[end - 1]!.kind === 'heading') end--;
    return end;
  }

  private cut(count: number): MarkdownPart {
    const taken = this.pieces.splice(0, count);
    const all = [...this.trailAbove(taken[0]), ...taken];
    this.readChars += taken.reduce((chars, { text }) => chars + text.length, 0);
    for (const piece of taken) this.follow(piece);
    this.tokens = sum(this.trailAbove(this.pieces[0])) + sum(this.pieces);
    return { text: all.map(({ text }) => text).join('\n\n'), tokens: sum(all), readChars: this.readChars };
  }

  private follow(piece: Piece): void {
    if (piece.kind !== 'heading') return;
    this.trail = [...this.trail.filter(({ level }) => level < piece.level), piece];
  }

  /** Headings over a piece, the nearest first to be kept, as long as there is room. A heading ends those of its level. */
  private trailAbove(first: Piece | undefined): Piece[] {
    const above = first?.kind === 'heading' ? this.trail.filter(({ level }) => level < first.level) : this.trail;
    let room = this.maxTokens * TRAIL_SHARE;
    const fitting: Piece[] = [];
    for (const heading of above.toReversed()) {
      room -= heading.tokens;
      if (room < 0) break;
      fitting.unshift(heading);
    }
    return fitting;
  }
}

function sum(pieces: readonly Piece[]): number {
  return pieces.reduce((total, { tokens }) => total + tokens, 0);
}
