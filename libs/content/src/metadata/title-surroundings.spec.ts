import { describe, expect, it } from '@jest/globals';
import { parseHtml } from '@troupe/html';
import { bylinesAnywhere, datesAnywhere, readSurroundings, type Surroundings } from './title-surroundings.js';

const around = (html: string): Surroundings => {
  const tree = parseHtml(html);
  let heading = 1;
  while (tree.name(heading) !== 'h1') heading++;
  return readSurroundings(tree, heading);
};

describe('readSurroundings', () => {
  it('gives texts with digits nearest first, those before the heading twice as far', () => {
    expect(around('<p>far 1</p><p>near 2</p><h1>T 9</h1><i>after 3</i><p>words</p><p>after 4</p>').dated).toEqual([
      'near 2',
      'after 3',
      'far 1',
      'after 4',
    ]);
  });

  it('reads digits that are entities', () => {
    expect(around('<h1>T</h1><p>&#x35; May</p><p>&rsquo;&#8217;</p>').dated).toEqual(['5 May']);
  });

  it('gives bylines, a bare one with the text that follows', () => {
    expect(
      around('<h1>T</h1><p>By Ann Lee</p><p>Bypass</p><b>Von</b> <i>Bo Ray</i><p>écrit par Lu</p>').bylines,
    ).toEqual(['By Ann Lee', 'Von Bo Ray', 'écrit par Lu']);
  });
});

describe('bylinesAnywhere', () => {
  it.each([
    ['Author: Ann Lee', 'labelled'],
    ['– &nbsp;Posted by Ann Lee', 'labelled'],
    ['作者：李安', 'labelled'],
    ['Text&nbsp;: Ann Lee', 'labelled'],
    ['by Ann Lee', 'whole'],
    ['• Przez Ann Lee', 'whole'],
  ] as const)('finds %s', (text, kind) => {
    expect(bylinesAnywhere(parseHtml(`<p>Pages are posted.</p><p>${text}</p>`))[kind]).toHaveLength(1);
  });

  it('leaves other texts alone', () => {
    const tree = parseHtml('<p>Authority: none</p><p>1. by Ann Lee</p><p>Bye Ann Lee</p>');
    expect(bylinesAnywhere(tree)).toEqual({ labelled: [], whole: [] });
  });
});

describe('datesAnywhere', () => {
  it.each(['3 May 2020', '13 May 2020', ' 3 May 2020', '2020-05-03', 'on 2020-05-03', '03.05.1999'])(
    'finds %s',
    (text) => {
      expect(datesAnywhere(parseHtml(`<p>${text}</p>`))).toEqual([text.trim()]);
    },
  );

  it('leaves other numbers alone', () => {
    expect(datesAnywhere(parseHtml('<p>12 of 1200 pages</p><p>120 200</p><p>2020</p>'))).toEqual([]);
  });
});
