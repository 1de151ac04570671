const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** Words of a text, lower case, one space between: what two spellings of a title or a name have in common. */
export function wordsOf(text: string): string {
  return (text.slice(0, 2000).toLowerCase().match(WORD) ?? []).join(' ');
}

/** Whether the words of one (`wordsOf`) stand in the other as they are, in a row. */
export function holdsWords(all: string, part: string): boolean {
  return part !== '' && ` ${all} `.includes(` ${part} `);
}
