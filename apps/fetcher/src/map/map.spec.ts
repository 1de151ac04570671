import { describe, expect, it } from '@jest/globals';
import type { MapLink, MapSpec } from '@troupe/contracts';
import { MapScope } from './map-scope.js';
import { bestLinks, LinkSearch } from './map-search.js';

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
    location: null,
    timeoutMs: 1000,
    ...more,
  };
}

const accepts = (base: string, more: Partial<MapSpec>, url: string) =>
  new MapScope(specOf({ url: base, ...more }), base).accept(url) !== null;

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
    const scope = new MapScope(specOf({ url: 'http://site.test/' }), 'http://site.test/');
    expect(scope.accept('http://site.test/a?x=1')).toEqual(scope.accept('http://site.test/a?y=2'));
    expect(scope.accept('http://site.test/a?x=1')?.url).toBe('http://site.test/a');
  });
});

describe('the place of a map', () => {
  const scope = new MapScope(specOf(), 'http://site.test/docs');

  it('stays the same when the start page redirects inside it, to www or to https', () => {
    expect(['http://site.test/docs/en', 'https://www.site.test/docs/'].every((url) => scope.isHome(url))).toBe(true);
  });

  it('changes with another host or another section', () => {
    expect(['http://other.test/docs', 'http://site.test/guide'].some((url) => scope.isHome(url))).toBe(false);
  });

  it('is the section that the start page was found in', () => {
    const moved = new MapScope(specOf(), 'http://site.test/guide/');
    expect(moved.accept('http://site.test/guide/a')).not.toBeNull();
    expect(moved.accept('http://site.test/docs/a')).toBeNull();
  });

  it('is the whole site when its root redirects to a page below', () => {
    const scope = new MapScope(specOf({ url: 'http://site.test' }), 'http://site.test/en/');
    expect(scope.accept('http://site.test/de/')).not.toBeNull();
  });
});

describe('the search of a map', () => {
  const links: MapLink[] = [
    { url: 'http://site.test/deep/path/install/more' },
    { url: 'http://site.test/about', description: 'How to install it' },
    { url: 'http://site.test/install' },
    { url: 'http://site.test/start', title: 'Install and run' },
    { url: 'http://site.test/blog' },
  ];
  const searchLinks = async (text: string, count = 100) => {
    const search = new LinkSearch(text);
    const best = await bestLinks(
      links.map((link) => ({ link, rank: search.rank(link) })),
      count,
    );
    return best.map(({ url }) => new URL(url).pathname);
  };

  it('finds text in title, address and description, best first', async () => {
    expect(await searchLinks('INSTALL')).toEqual(['/install', '/start', '/deep/path/install/more', '/about']);
    expect(await searchLinks('install', 2)).toEqual(['/install', '/start']);
  });

  it('takes the separators and escapes of addresses for what they stand for', () => {
    const rank = (text: string, url: string) => new LinkSearch(text).rank({ url });
    expect(rank('getting started', 'http://site.test/getting-started')).toBeGreaterThan(0);
    expect(rank('größe', 'http://site.test/gr%C3%B6%C3%9Fe')).toBeGreaterThan(0);
    expect(rank('100', 'http://site.test/%ZZ100')).toBeGreaterThan(0);
  });
});
