const WORD = /[\p{L}\p{N}]+/gu;
const PHRASE_WORDS = 3;

/** Which phrases of three words a text holds, whatever its punctuation and markup. */
export class Phrases {
  private readonly known = new Set<number>();

  add(text: string): void {
    for (const phrase of phrasesOf(text)) this.known.add(phrase);
  }

  /** Part of the text's phrases that are not known, 0 to 1; 0 for a text without words. */
  newShare(text: string): number {
    const phrases = phrasesOf(text);
    let fresh = 0;
    for (const phrase of phrases) if (!this.known.has(phrase)) fresh++;
    return phrases.length === 0 ? 0 : fresh / phrases.length;
  }
}

/** Hashes of all runs of three words; of the words there are when they are fewer. */
function phrasesOf(text: string): number[] {
  const hashes: number[] = [];
  for (const [word] of text.toLowerCase().matchAll(WORD)) hashes.push(hashOf(word));
  const width = Math.min(PHRASE_WORDS, hashes.length);
  const phrases: number[] = [];
  for (let i = 0; width > 0 && i + width <= hashes.length; i++) {
    let phrase = 0;
    for (let k = 0; k < width; k++) phrase = Math.imul(phrase, 31) + hashes[i + k]!;
    phrases.push(phrase | 0);
  }
  return phrases;
}

function hashOf(word: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193);
  return hash;
}
