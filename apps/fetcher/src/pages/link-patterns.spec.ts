import { describe, expect, it } from '@jest/globals';
import type { ConvertRequest, ConvertResult, Outlink, ScopeSpec } from '@troupe/contracts';
import { LinkPatterns } from './link-patterns.js';

const SCOPE: ScopeSpec = {
  base: 'http://a.test/',
  version: 0,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  maxDepth: 1,
  maxPathDepth: null,
  entireDomain: true,
  allowExternalLinks: false,
  allowSubdomains: false,
  ignoreQueryParameters: false,
  deduplicateSimilarUrls: false,
  sitemap: 'skip',
};

const linkTo = (path: string): Outlink => ({ url: `http://a.test${path}`, h: path });

/** The question to the inner converter, and its result. */
async function convert(scope: Partial<ScopeSpec>, found: string[], { depth = 0, maxLinks = 10 } = {}) {
  const asked: ConvertRequest['discover'][] = [];
  const inner = {
    convert: async (request: ConvertRequest) => {
      asked.push(request.discover);
      const excluded = { byRule: { external: 1 }, sample: [] };
      return { outlinks: found.map(linkTo), excluded } as unknown as ConvertResult;
    },
  };
  const discover = { scope: { ...SCOPE, ...scope }, depth, maxLinks, obeyNofollow: true };
  const { outlinks, excluded } = await new LinkPatterns(inner).convert({ discover } as ConvertRequest);
  return { asked: asked[0]!, paths: outlinks.map(({ h }) => h), excluded };
}

describe('links of a page', () => {
  it('are matched with patterns after the conversion, which knows of none', async () => {
    const { asked, paths, excluded } = await convert({ includePaths: ['^/docs'], excludePaths: ['old'] }, [
      '/docs/a',
      '/blog',
      '/docs/old',
      '/docs/b',
    ]);
    expect(asked.scope).toMatchObject({ includePaths: [], excludePaths: [], maxDepth: null });
    expect(paths).toEqual(['/docs/a', '/docs/b']);
    expect(excluded.byRule).toEqual({ external: 1, include: 1, exclude: 1 });
    expect(excluded.sample.map(({ url, rule }) => [url, rule])).toEqual([
      ['http://a.test/blog', 'include'],
      ['http://a.test/docs/old', 'exclude'],
    ]);
  });

  it('are as many as asked for, out of more that were found', async () => {
    const found = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? `/docs/${i}` : `/${i}`));
    const { asked, paths } = await convert({ includePaths: ['^/docs'] }, found, { maxLinks: 10 });
    expect(asked.maxLinks).toBe(50);
    expect(paths).toHaveLength(10);
  });

  it('are told the first rule against them, depth last', async () => {
    const { excluded } = await convert({ includePaths: ['^/docs'] }, ['/docs/a', '/blog'], { depth: 1 });
    expect(excluded.byRule).toEqual({ external: 1, depth: 1, include: 1 });
  });

  it('are left to the conversion where there are no patterns', async () => {
    const { asked, paths } = await convert({}, ['/a']);
    expect(asked.scope).toEqual(SCOPE);
    expect(paths).toEqual(['/a']);
  });
});
