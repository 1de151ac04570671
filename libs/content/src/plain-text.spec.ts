import { describe, expect, it } from '@jest/globals';
import { TroupeError } from '@troupe/contracts';
import { parseHtml } from '@troupe/html';
import { orElse, writePlainText } from './plain-text.js';
import { wholePage } from '@troupe/main-content';

describe('the plain way', () => {
  it('is taken, and told, when the clever one fails', () => {
    const told: string[] = [];
    const result = orElse(
      () => {
        throw new RangeError('Maximum call stack size exceeded');
      },
      () => 'plain',
      () => told.push('warning'),
    );
    expect({ result, told }).toEqual({ result: 'plain', told: ['warning'] });
  });

  it('is not taken for what the caller asked for wrongly', () => {
    const ask = (): string => {
      throw new TroupeError('BAD_REQUEST', 'no selector');
    };
    expect(() =>
      orElse(
        ask,
        () => 'plain',
        () => undefined,
      ),
    ).toThrow('no selector');
  });

  it('writes a paragraph per block, without what is never shown, and nothing that reads as markup', () => {
    const tree = parseHtml(
      '<title>t</title><h1>A  <b>*b*</b></h1><p>1. c<br># d<script>e</script><ul><li>- f</ul>&lt;i>',
    );
    expect(writePlainText(tree, wholePage(tree))).toBe('A \\*b\\*\n\n1\\. c\n\n\\# d\n\n\\- f\n\n\\<i>');
  });
});
