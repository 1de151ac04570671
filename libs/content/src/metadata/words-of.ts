const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** The short way for most texts. */
const ASCII = /^[\x00-\x7f]*$/;
const NO_ASCII_WORD = /[^a-z0-9]+/g;
const MAX_CHARS = 2000;
const SPACE = 32;

/** Words of a text, lower case, one space between: what two spellings of a title or a name have in common. */
export function wordsOf(text: string): string {
  const lower = text.slice(0, MAX_CHARS).toLowerCase();
  if (isPlain(lower)) return lower;
  return ASCII.test(lower) ? lower.replace(NO_ASCII_WORD, ' ').trim() : (lower.match(WORD) ?? []).join(' ');
}

/** Whether a text is words with one space between already. */
function isPlain(text: string): boolean {
  let wasSpace = true;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const isSpace = c === SPACE;
    if (isSpace ? wasSpace : !((c >= 97 && c <= 122) || (c >= 48 && c <= 57))) return false;
    wasSpace = isSpace;
  }
  return !wasSpace || text === '';
}

/** Whether the words of one (`wordsOf`) stand in the other as they are, in a row. */
export function holdsWords(all: string, part: string): boolean {
  return part !== '' && ` ${all} `.includes(` ${part} `);
}
