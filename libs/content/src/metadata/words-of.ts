const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Matches a text that is not plain words with one space between. */
const NOT_PLAIN = /[^a-z0-9 ]|^ | {2}| $/;
/** The short way for most texts. */
const ASCII = /^[\x00-\x7f]*$/;
const NO_ASCII_WORD = /[^a-z0-9]+/g;
const MAX_CHARS = 2000;
const SPACE = 32;

/** Words of a text, lower case, one space between: what two spellings of a title or a name have in common. */
export function wordsOf(text: string): string {
  const lower = text.slice(0, MAX_CHARS).toLowerCase();
  if (!NOT_PLAIN.test(lower)) return lower;
  return ASCII.test(lower) ? lower.replace(NO_ASCII_WORD, ' ').trim() : (lower.match(WORD) ?? []).join(' ');
}

/** Whether the words of one (`wordsOf`) stand in the other as they are, in a row. */
export function holdsWords(all: string, part: string): boolean {
  if (part === '') return false;
  for (let at = all.indexOf(part); at >= 0;) {
    if (isWordStart(all, at) && isWordStart(all, at + part.length + 1)) return true;
    const space = all.indexOf(' ', at);
    if (space < 0) return false;
    at = all.indexOf(part, space + 1);
  }
  return false;
}

/** Also true right behind the end. */
function isWordStart(words: string, at: number): boolean {
  return at === 0 || at === words.length + 1 || words.charCodeAt(at - 1) === SPACE;
}
