/** A block that is too long for one part, as pieces that still read alone. */
import { estimateTokens } from './estimate-tokens.js';
import type { MarkdownBlock } from './markdown-blocks.js';

/** Fewest characters that are looked at as a piece: every cut moves on. */
const MIN_CHARS = 16;
const CHARS_PER_TOKEN = 4;

/** Tables and code by lines, each piece with the header or the fences; text by lines, sentences, words. */
export function* cutBlock(block: MarkdownBlock, maxTokens: number): Generator<string> {
  const { open, lines, close } = frameOf(block);
  const room = Math.max(1, maxTokens - estimateTokens(open) - estimateTokens(close));
  for (const text of pack(lines, { room, glue: '\n' }))
    yield [open, text, close].filter((part) => part !== '').join('\n');
}

interface Frame {
  open: string;
  lines: string[];
  close: string;
}

function frameOf({ kind, text }: MarkdownBlock): Frame {
  const lines = text.split('\n');
  if (kind === 'table') return { open: lines.slice(0, 2).join('\n'), lines: lines.slice(2), close: '' };
  if (kind !== 'code') return { open: '', lines, close: '' };
  const fence = /^\s*(`+|~+)/.exec(lines[0]!)?.[1] ?? '```';
  const isClosed = lines.length > 1 && lines.at(-1)!.trim().startsWith(fence);
  return { open: lines[0]!, lines: lines.slice(1, isClosed ? -1 : undefined), close: fence };
}

interface Packing {
  room: number;
  glue: string;
}

/** Pieces joined while they fit; one that does not fit alone is cut further. */
function* pack(pieces: readonly string[], { room, glue }: Packing): Generator<string> {
  let held: string[] = [];
  let tokens = 0;
  for (const piece of pieces) {
    const size = estimateTokens(piece) + 1;
    if (tokens + size > room && held.length > 0) {
      yield held.join(glue);
      [held, tokens] = [[], 0];
    }
    if (size > room) yield* cutText(piece, room);
    else {
      held.push(piece);
      tokens += size;
    }
  }
  if (held.length > 0) yield held.join(glue);
}

/** At the last end of a sentence, else the last space, else anywhere, of as much as fits. */
function* cutText(text: string, room: number): Generator<string> {
  let rest = text;
  while (rest !== '') {
    const fitting = fittingChars(rest, room);
    const end = fitting >= rest.length ? rest.length : breakBefore(rest, fitting);
    const piece = rest.slice(0, end).trim();
    if (piece !== '') yield piece;
    rest = rest.slice(end);
  }
}

function fittingChars(text: string, room: number): number {
  let chars = Math.min(text.length, room * CHARS_PER_TOKEN * 2);
  while (chars > MIN_CHARS && estimateTokens(text.slice(0, chars)) > room) chars = Math.floor(chars * 0.75);
  return Math.max(chars, Math.min(MIN_CHARS, text.length));
}

/** Not in the first half, so that pieces stay few; never inside a surrogate pair. */
function breakBefore(text: string, chars: number): number {
  const head = text.slice(0, chars);
  const half = chars / 2;
  const sentence = Math.max(
    ...['. ', '! ', '? ', '。', '！', '？', '; '].map((mark) => head.lastIndexOf(mark) + mark.length),
  );
  if (sentence > half && sentence <= chars) return sentence;
  const space = head.lastIndexOf(' ') + 1;
  if (space > half) return space;
  const last = text.charCodeAt(chars - 1);
  return last >= 0xd800 && last <= 0xdbff ? chars - 1 : chars;
}
