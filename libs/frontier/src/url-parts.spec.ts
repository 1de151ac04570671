import { describe, expect, it } from '@jest/globals';
import { originOf, splitUrl, splitUrlOn } from './url-parts.js';

describe('the short way for URLs on a known origin', () => {
  const BASES = ['http://site.test/', 'https://www.site.test:8443/a/b', 'http://site.test', 'http://[::1]:80/x?y'];
  const URLS = BASES.flatMap((base) => [
    base,
    `${originOf(base)}/`,
    `${originOf(base)}/a/b?c#d`,
    `${originOf(base)}/a#b?c`,
    `${originOf(base)}?a=/b`,
    `${originOf(base)}.evil.test/`,
    `${originOf(base)}1/`,
    'https://other.test/a',
    'mailto:a@b.test',
  ]);

  it.each(BASES)('splits as the long way does: %s', (base) => {
    const known = splitUrl(base)!;
    for (const url of URLS) expect(splitUrlOn(originOf(base), known, url)).toEqual(splitUrl(url));
  });
});
