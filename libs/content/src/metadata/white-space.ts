const NEEDS_COLLAPSING = /\s\s|[^\S ]/;
const WHITE_SPACE = /\s+/g;
const SPACE = 32;
const NO_BREAK_SPACE = 160;
const LAST_LATIN_SPACE = 0x167f;
const OTHER_SPACE = /\s/;

/** White space collapsed and trimmed; most texts are so already. */
export function collapsed(text: string): string {
  return (NEEDS_COLLAPSING.test(text) ? text.replace(WHITE_SPACE, ' ') : text).trim();
}

/** Whether a UTF-16 unit is what `\s` matches. */
export function isSpace(c: number): boolean {
  if (c <= LAST_LATIN_SPACE) return c === SPACE || (c >= 9 && c <= 13) || c === NO_BREAK_SPACE;
  return OTHER_SPACE.test(String.fromCharCode(c));
}
