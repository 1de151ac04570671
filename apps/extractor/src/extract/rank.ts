/**
 * Ranks pages by how likely they answer a question, from the words of their addresses, titles and descriptions: BM25,
 * where a word counts the more the fewer pages have it. Pure and deterministic.
 */
import { TimeSlice } from '@troupe/observability';

export interface Rankable {
  url: string;
  title?: string;
  description?: string;
}

/** Usual values of BM25: how fast repetitions of a word stop counting, and how much long texts lower the rank. */
const K1 = 1.2;
const B = 0.5;
/** A word of the address or the title says more than one of the description. */
const WEIGHT = { url: 2, title: 3, description: 1 } as const;
const MAX_QUERY_WORDS = 200;
const MAX_TEXT_CHARS = 4_000;
const MAX_WORD_CHARS = 40;
const WORD = /[\p{L}\p{N}]+/gu;
/** `unitPrice` -> `unit Price` */
const HUMP = /(\p{Ll}|\p{N})(\p{Lu})/gu;
const EMPTY_WORDS = new Set(
  (
    'a an and any all are as at be by com do each find for from get give has have how html http https i in index is it its list ' +
    'me my name names of on or org our out page pages please php return show site some tell that the their them this to url ' +
    'was we web what when where which who will with www you your'
  ).split(' '),
);

/** The significant words of a text, plurals by their stem. */
export function wordsOf(text: string): string[] {
  const plain = text.slice(0, MAX_TEXT_CHARS).normalize('NFKC').replace(HUMP, '$1 $2').toLowerCase();
  return (plain.match(WORD) ?? [])
    .filter((word) => word.length > 1 && word.length <= MAX_WORD_CHARS)
    .flatMap(contentWord);
}

function contentWord(word: string): string[] {
  if (EMPTY_WORDS.has(word)) return [];
  if (word.length > 4 && word.endsWith('ies')) return [`${word.slice(0, -3)}y`];
  return [word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word];
}

/** The `count` best pages, best first; of equals, and of those that match nothing, the earlier one first. */
export async function mostRelevant<T extends Rankable>(
  pages: readonly T[],
  query: string,
  count: number,
): Promise<T[]> {
  const wanted = new Set(wordsOf(query).slice(0, MAX_QUERY_WORDS));
  const slice = new TimeSlice();
  const texts: CountedText[] = [];
  for (const page of pages) {
    texts.push(countWords(page, wanted));
    if (slice.isOver) await slice.next();
  }
  const meanLength = texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  const rarity = rarityOf(texts);
  const scored = pages.map((page, at) => ({ page, at, score: scoreOf(texts[at]!, rarity, meanLength) }));
  scored.sort((a, b) => b.score - a.score || a.at - b.at);
  return scored.slice(0, count).map(({ page }) => page);
}

interface CountedText {
  /** Weighted count of each wanted word that is there. */
  counts: Map<string, number>;
  length: number;
}

function countWords({ url, title = '', description = '' }: Rankable, wanted: ReadonlySet<string>): CountedText {
  const counts = new Map<string, number>();
  let length = 0;
  for (const [text, weight] of [
    [decoded(url), WEIGHT.url],
    [title, WEIGHT.title],
    [description, WEIGHT.description],
  ] as const) {
    for (const word of wordsOf(text)) {
      length++;
      if (wanted.has(word)) counts.set(word, (counts.get(word) ?? 0) + weight);
    }
  }
  return { counts, length };
}

function decoded(url: string): string {
  const place = url.replace(/^[a-z]+:\/\/[^/]*/i, '');
  try {
    return decodeURIComponent(place);
  } catch {
    return place;
  }
}

function rarityOf(texts: readonly CountedText[]): Map<string, number> {
  const having = new Map<string, number>();
  for (const { counts } of texts) for (const word of counts.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  const rarity = (n: number): number => Math.log(1 + (texts.length - n + 0.5) / (n + 0.5));
  return new Map([...having].map(([word, n]) => [word, rarity(n)]));
}

function scoreOf({ counts, length }: CountedText, rarity: ReadonlyMap<string, number>, meanLength: number): number {
  const norm = K1 * (1 - B + (B * length) / Math.max(1, meanLength));
  let score = 0;
  for (const [word, n] of counts) score += (rarity.get(word)! * n * (K1 + 1)) / (n + norm);
  return score;
}
