/** Joins accents that a file paints over letters as signs of their own, as TeX's older fonts do, with their letters. */
import type { Span } from './span.js';

/** Signs that stand alone, and the combining mark of each. */
const MARKS: Record<string, string> = {
  '`': '\u0300',
  '\u00b4': '\u0301',
  '^': '\u0302',
  '\u02c6': '\u0302',
  '~': '\u0303',
  '\u02dc': '\u0303',
  '\u00af': '\u0304',
  '\u02d8': '\u0306',
  '\u02d9': '\u0307',
  '\u00a8': '\u0308',
  '\u02da': '\u030a',
  '\u02dd': '\u030b',
  '\u02c7': '\u030c',
  '\u00b8': '\u0327',
  '\u02db': '\u0328',
};
/** Letters that lose their dot under an accent. */
const DOTLESS: Record<string, string> = { '\u0131': 'i', '\u0237': 'j' };

/** In parts of the font's size: how far a letter reaches back under its accent. Letters that are set close do so by less. */
const MIN_OVERLAP = 0.2;
const MAX_OVERLAP = 1.1;
/** Over capitals an accent is raised. */
const MAX_RAISE = 0.4;

/**
 * The two spans as they read when the first ends in an accent that stands over the second's first letter; null when it does not.
 * @param before what the file paints right before `span`
 */
export function joinAccent(before: Span, span: Span): { before: Span | null; span: Span } | null {
  const mark = MARKS[before.text.at(-1) ?? ''];
  if (mark === undefined || before.isRtl || span.isRtl || !isUnder(before, span)) return null;
  const [first = ''] = span.text;
  const letter = `${DOTLESS[first] ?? first}${mark}`.normalize('NFC');
  if (!/^\p{L}$/u.test(letter)) return null;
  const text = before.text.slice(0, -1);
  const left = text.trim() === '' ? null : { ...before, text, x1: Math.max(before.x0 + 0.1, span.x0) };
  return { before: left, span: { ...span, text: letter + span.text.slice(first.length) } };
}

function isUnder(before: Span, span: Span): boolean {
  const overlap = before.x1 - span.x0;
  const raise = Math.abs(before.baseline - span.baseline);
  return overlap > MIN_OVERLAP * span.size && overlap < MAX_OVERLAP * span.size && raise < MAX_RAISE * span.size;
}
