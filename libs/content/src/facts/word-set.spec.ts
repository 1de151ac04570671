import { describe, expect, it } from '@jest/globals';
import { WordSet } from './word-set.js';

function wordsIn(words: string[], text: string, from = 0, to = text.length): readonly string[] {
  return new WordSet(words).in(text, from, to).map((place) => words[place]!);
}

describe('words of a set', () => {
  it.each([
    ['price', ['price']],
    ['old price sale', ['price']],
    ['\tauthor\n  byline ', ['author', 'byline']],
    ['priceless', ['price']],
    ['byline-author', ['byline']],
    ['resale-price sprice', []],
    ['pric', []],
    ['', []],
    ['über author', ['author']],
    ['ąuthor ńame author', ['author']],
  ])('begin words of %j', (text, expected) => {
    expect(wordsIn(['author', 'byline', 'price'], text)).toEqual(expected);
  });

  it('are found inside a range only', () => {
    const text = 'price author price';
    expect(wordsIn(['price'], text, 5)).toEqual(['price']);
    expect(wordsIn(['price'], text, 0, 12)).toEqual(['price']);
    expect(wordsIn(['author'], text, 6, 11)).toEqual([]);
  });

  it('may be short, long, and begin with one another', () => {
    expect(wordsIn(['a', 'ab', 'abc'], 'xa abc b ab')).toEqual(['a', 'ab', 'abc', 'a', 'ab']);
    const long = 'w'.repeat(300);
    expect(wordsIn([long], `${long} ${'w'.repeat(299)}`)).toEqual([long]);
    expect(wordsIn(['prix€', 'größe'], 'größe prix€ prixè')).toEqual(['größe', 'prix€']);
  });

  it('are those that a look at every place finds', () => {
    const letters = ['a', 'b', ' ', 'c'];
    const words = ['ab', 'bca', 'cc'];
    for (let n = 0; n < 4 ** 7; n++) {
      const text = Array.from({ length: 7 }, (_, i) => letters[(n >> (2 * i)) & 3]).join('');
      const plain = [...text].flatMap((_, at) =>
        at === 0 || text[at - 1] === ' ' ? words.filter((word) => text.startsWith(word, at)) : [],
      );
      if (plain.join() !== wordsIn(words, text).join()) expect([text, wordsIn(words, text)]).toEqual([text, plain]);
    }
  });
});
