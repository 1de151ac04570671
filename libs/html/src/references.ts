/** Character references in text, for the usual case that they stand for ordinary characters. */
import { decodeHTML } from 'entities/decode';
import { FOUND, scanText } from './text-scan.js';

const REFERENCE = /^&#?[a-zA-Z0-9]{1,31};$/;
const MAX_REFERENCE_CHARS = 34;
/** References of all pages so far; more of them than this are looked up every time. */
const MAX_KNOWN = 2000;
/** Length of a reference that is remembered: a longer one is a slice that would keep its whole page in memory. */
const MAX_KNOWN_CHARS = 12;

interface Decoded {
  readonly text: string;
  /** Result of `scanText` on it. */
  readonly found: number;
}

const known = new Map<string, Decoded | null>();

/**
 * Decodes a text in which every `&` begins a complete reference to a character other than white space and those that
 * `scanText` counts among the others; null when one does not.
 *
 * @param found what `scanText` found in `raw`
 */
export function decodeOrdinary(raw: string, found: number): Decoded | null {
  let text = '';
  let from = 0;
  let bits = found & ~FOUND.entity;
  for (let at = raw.indexOf('&'); at >= 0; at = raw.indexOf('&', from)) {
    const end = raw.indexOf(';', at) + 1;
    if (end === 0 || end - at > MAX_REFERENCE_CHARS) return null;
    const character = lookUp(raw.slice(at, end));
    if (character === null) return null;
    bits |= character.found;
    text += raw.slice(from, at) + character.text;
    from = end;
  }
  return { text: text + raw.slice(from), found: bits };
}

function lookUp(reference: string): Decoded | null {
  const decoded = known.get(reference);
  if (decoded !== undefined) return decoded;
  const character = decodeReference(reference);
  if (known.size < MAX_KNOWN && reference.length <= MAX_KNOWN_CHARS) known.set(reference, character);
  return character;
}

function decodeReference(reference: string): Decoded | null {
  if (!REFERENCE.test(reference)) return null;
  const text = decodeHTML(reference);
  const found = scanText(text, 0, text.length);
  if (text.trim() === '' || (found & (FOUND.wideSpace | FOUND.other | FOUND.tex)) !== 0) return null;
  return { text, found };
}
