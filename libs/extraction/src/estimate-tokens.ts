/**
 * Tokens of a text, told from its characters alone: one pass, no tables. Near what tokenizers of current models count for prose,
 * markup and code, and rather too many than too few: a part that is cut by it fits. The provider says how many a call really used.
 */

/** Characters that make a token, by what they are; measured on pages with the tokenizers o200k and cl100k. */
const PER_TOKEN = { word: 5.5, digits: 3, noise: 1.35, latin: 2.2, script: 1.7, marks: 2 };
/** Longer ones are no words: keys, hashes, base64. */
const MAX_WORD_CHARS = 24;

type Kind = 'word' | 'space' | 'marks' | 'latin' | 'script' | 'wide';

export function estimateTokens(text: string): number {
  let tokens = 0;
  let start = 0;
  while (start < text.length) {
    const kind = kindOf(text.charCodeAt(start));
    let end = start + 1;
    while (end < text.length && kindOf(text.charCodeAt(end)) === kind) end++;
    tokens += tokensOfRun(text, kind, { start, end });
    start = end;
  }
  return Math.ceil(tokens);
}

function kindOf(code: number): Kind {
  if (isLetter(code) || isDigit(code)) return 'word';
  if (code === 32 || (code >= 9 && code <= 13)) return 'space';
  if (code < 128) return 'marks';
  if (code < 0x0590) return 'latin';
  return code < 0x2e80 ? 'script' : 'wide';
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function tokensOfRun(text: string, kind: Kind, { start, end }: { start: number; end: number }): number {
  const chars = end - start;
  switch (kind) {
    case 'word':
      return chars > MAX_WORD_CHARS ? chars / PER_TOKEN.noise : tokensOfWord(text, start, end);
    case 'space':
      // One space belongs to the word after it, but not to a number.
      return chars === 1 && text.charCodeAt(start) === 32 && !isDigit(text.charCodeAt(end)) ? 0 : 1;
    case 'wide':
      return chars;
    default:
      return Math.max(1, chars / PER_TOKEN[kind]);
  }
}

/** Letters and digits, in turns: `item42b`. */
function tokensOfWord(text: string, from: number, end: number): number {
  let tokens = 0;
  let start = from;
  while (start < end) {
    const isNumber = isDigit(text.charCodeAt(start));
    let stop = start + 1;
    while (stop < end && isDigit(text.charCodeAt(stop)) === isNumber) stop++;
    tokens += isNumber ? Math.ceil((stop - start) / PER_TOKEN.digits) : Math.max(1, (stop - start) / PER_TOKEN.word);
    start = stop;
  }
  return tokens;
}
