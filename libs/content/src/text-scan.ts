/** What the characters of a text ask of a writer, found in one look at each of them. */

/** As bits. */
export const FOUND = {
  wideSpace: 1,
  /** A character that may need an escape. */
  markup: 2,
  /** An ampersand: in a source a character reference, in a text what may need an escape. */
  entity: 4,
  tex: 8,
  /** A space outside ASCII, an invisible or a wide character. */
  other: 16,
  /** White space alone, or nothing. */
  blank: 32,
  /** Set in every result, so that 0 means not looked at. */
  scanned: 64,
} as const;

const SPACE = 128;
const NO_BREAK_SPACE = 0xa0;
const SOFT_HYPHEN = 0xad;
/** Bits of each UTF-16 unit, and `SPACE`. */
const CLASS_OF = new Uint8Array(65536);
CLASS_OF[32] = SPACE;
for (const c of '\t\n\v\f\r') CLASS_OF[c.charCodeAt(0)] = FOUND.wideSpace;
for (const c of '\\`*_[]<~') CLASS_OF[c.charCodeAt(0)] = FOUND.markup;
CLASS_OF[38] = FOUND.entity;
CLASS_OF[36] = FOUND.tex;
CLASS_OF[92] = FOUND.markup | FOUND.tex;
CLASS_OF[NO_BREAK_SPACE] = FOUND.wideSpace | FOUND.other;
CLASS_OF[SOFT_HYPHEN] = FOUND.other;
/** Spaces, invisible and wide characters. */
for (const [from, to] of [
  [0x2000, 0x2010],
  [0x2028, 0x2030],
  [0x205f, 0x2070],
  [0x3000, 0xac00],
  [0xf900, 0x10000],
] as const)
  CLASS_OF.fill(FOUND.other, from, to);

/** Bits of a range that begins and ends with something else than white space. */
export function scanText(text: string, from: number, to: number): number {
  let found = 0;
  let previous = 0;
  for (let i = from; i < to; i++) {
    const one = CLASS_OF[text.charCodeAt(i)]!;
    // A space behind a space: the bit of `SPACE` moves to that of `wideSpace`.
    found |= one | ((one & previous) >>> 7);
    previous = one;
  }
  return (found & (SPACE - 1)) | FOUND.scanned;
}

/**
 * `scanText` of a text node without the white space at its ends, and its length in characters that are no white space.
 *
 * @param lengths what `lengths[node]` is set in
 */
export function scanNode(text: string, from: number, to: number, node: number, lengths: Int32Array): number {
  const first = skipWhite(text, from, to);
  const last = trimWhite(text, first, to);
  if (first === last) return FOUND.blank | FOUND.scanned;
  let found = 0;
  let previous = 0;
  let length = 0;
  for (let i = first; i < last; i++) {
    const c = text.charCodeAt(i);
    const one = CLASS_OF[c]!;
    found |= one | ((one & previous) >>> 7);
    previous = one;
    // 1 above code 32, else 0: without a branch it takes half the time.
    length += (32 - c) >>> 31;
  }
  lengths[node] = length;
  return (found & (SPACE - 1)) | FOUND.scanned;
}

/** White space of HTML, and vertical tabs. */
export function isWhite(c: number): boolean {
  return c === 32 || (c >= 9 && c <= 13);
}

/** Index behind the white space that a range begins with. */
export function skipWhite(source: string, from: number, to: number): number {
  let at = from;
  while (at < to && isWhite(source.charCodeAt(at))) at++;
  return at;
}

/** End of a range without the white space at its end. */
export function trimWhite(source: string, from: number, to: number): number {
  let at = to;
  while (at > from && isWhite(source.charCodeAt(at - 1))) at--;
  return at;
}
