const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** The short way for most texts. */
const ASCII = /^[\x00-\x7f]*$/;
const NO_ASCII_WORD = /[^a-z0-9]+/g;
const MAX_CHARS = 2000;

/** Words of a text, lower case, one space between: what two spellings of a title or a name have in common. */
export function wordsOf(text: string): string {
  const lower = text.slice(0, MAX_CHARS).toLowerCase();
  return ASCII.test(lower) ? lower.replace(NO_ASCII_WORD, ' ').trim() : (lower.match(WORD) ?? []).join(' ');
}

/** Whether the words of one (`wordsOf`) stand in the other as they are, in a row. */
export function holdsWords(all: string, part: string): boolean {
  return part !== '' && ` ${all} `.includes(` ${part} `);
}
