import { describe, expect, it } from '@jest/globals';
import type { MapSpec } from '@troupe/contracts';
import { MapScope } from './map-scope.js';
import { searchLinks } from './map-search.js';

function specOf(more: Partial<MapSpec> = {}): MapSpec {
  return {
    url: 'http://site.test/docs',
    search: null,
    limit: 100,
    sitemap: 'include',
    includeSubdomains: true,
    ignoreQueryParameters: true,
    allowExternalLinks: false,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    filterByPath: true,
    headers: {},
    timeoutMs: 1000,
    ...more,
  };
}

const accepts = (base: string, more: Partial<MapSpec>, url: string) =>
  new MapScope(specOf(more), base).accept(url) !== null;

describe('the scope of a map', () => {
  it('is the section that the URL names, by whole segments', () => {
    const isIn = (url: string) => accepts('http://site.test/docs', {}, url);
    expect(['http://site.test/docs', 'http://site.test/docs/', 'http://site.test/docs/a'].every(isIn)).toBe(true);
    expect(['http://site.test/', 'http://site.test/docs-old', 'http://site.test/blog'].some(isIn)).toBe(false);
  });

  it('is the whole site when paths do not count', () => {
    expect(accepts('http://site.test/docs', { filterByPath: false }, 'http://site.test/blog')).toBe(true);
  });

  it('holds subdomains and other hosts as told', () => {
    const base = 'http://example.com/';
    expect(accepts(base, {}, 'http://api.example.com/x')).toBe(true);
    expect(accepts(base, { includeSubdomains: false }, 'http://api.example.com/x')).toBe(false);
    expect(accepts(base, {}, 'http://example.org/x')).toBe(false);
    expect(accepts(base, { allowExternalLinks: true }, 'http://example.org/x')).toBe(true);
  });

  it('sees one page behind queries when it ignores them', () => {
    const scope = new MapScope(specOf(), 'http://site.test/');
    expect(scope.accept('http://site.test/a?x=1')).toEqual(scope.accept('http://site.test/a?y=2'));
    expect(scope.accept('http://site.test/a?x=1')?.url).toBe('http://site.test/a');
  });
});

describe('the search of a map', () => {
  const links = [
    { url: 'http://site.test/deep/path/install/more' },
    { url: 'http://site.test/about', description: 'How to install it' },
    { url: 'http://site.test/install' },
    { url: 'http://site.test/start', title: 'Install and run' },
    { url: 'http://site.test/blog' },
  ];

  it('finds text in title, address and description, best first', () => {
    expect(searchLinks(links, 'INSTALL').map(({ url }) => new URL(url).pathname)).toEqual([
      '/install',
      '/start',
      '/deep/path/install/more',
      '/about',
    ]);
  });

  it('takes the separators of addresses for spaces', () => {
    expect(searchLinks([{ url: 'http://site.test/getting-started' }], 'getting started')).toHaveLength(1);
  });

  it('keeps everything when nothing is searched for', () => {
    expect(searchLinks(links, '  ')).toEqual(links);
  });
});
