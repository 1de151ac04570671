import { describe, expect, it } from '@jest/globals';
import { categoryOf, isWanted, queryText } from './search-filters.js';

const NONE = { query: 'q', categories: [], includeDomains: [], excludeDomains: [] };

describe('the filters of a search', () => {
  it('become operators of the query', () => {
    expect(queryText(NONE)).toBe('q');
    expect(queryText({ ...NONE, categories: ['github'] })).toBe('q site:github.com');
    expect(queryText({ ...NONE, categories: ['github', 'pdf'], includeDomains: ['a.test'] })).toBe(
      'q (site:github.com OR filetype:pdf) site:a.test',
    );
    expect(queryText({ ...NONE, excludeDomains: ['a.test', 'b.test'] })).toBe('q -site:a.test -site:b.test');
  });

  it('hold for what comes back, too', () => {
    const include = { ...NONE, includeDomains: ['a.test'] };
    expect([isWanted('http://a.test/', include), isWanted('http://www.a.test/', include)]).toEqual([true, true]);
    expect([isWanted('http://ba.test/', include), isWanted('http://c.test/', include)]).toEqual([false, false]);
    expect(isWanted('http://x.a.test/', { ...NONE, excludeDomains: ['a.test'] })).toBe(false);
    expect(isWanted('http://a.test/', { ...NONE, categories: ['pdf'] })).toBe(false);
  });

  it('know papers, repositories and files by their addresses', () => {
    const asked = ['github', 'research', 'pdf'] as const;
    expect(categoryOf('https://github.com/a/b', asked)).toBe('github');
    expect(categoryOf('https://arxiv.org/abs/1', asked)).toBe('research');
    expect(categoryOf('https://a.test/x.PDF', asked)).toBe('pdf');
    expect(categoryOf('https://docs.python.readthedocs.io/x', ['developer'])).toBe('developer');
    expect(categoryOf('https://a.test/', asked)).toBeNull();
    expect(categoryOf('https://github.com/a/b', ['pdf'])).toBeNull();
  });
});
