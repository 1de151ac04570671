import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { InvalidBodyError } from '../validation/issue.js';
import { readBody } from '../validation/read-body.js';
import { crawlSpecFromV2 } from '../v2/crawl.mapper.js';
import { scrapeSpecFromV2 } from '../v2/scrape.mapper.js';
import { BatchV1Dto } from './batch.dto.js';
import { batchFromV1 } from './batch.mapper.js';
import { CrawlV1Dto } from './crawl.dto.js';
import { crawlFromV1, crawlSpecToV1 } from './crawl.mapper.js';
import { MapV1Dto } from './map.dto.js';
import { mapFromV1, mapLinksToV1 } from './map.mapper.js';
import { ScrapeV1Dto } from './scrape.dto.js';
import { scrapeFromV1, scrapeOptionsFromV1 } from './scrape.mapper.js';

const LIMITS = {
  maxScrapeTimeoutMs: 600_000,
  changeTrackingDiffShape: 'auto' as const,
  allowIgnoreRobots: false,
  concurrency: 10,
};
const scrape = (rest: object = {}) => scrapeFromV1(readBody(ScrapeV1Dto, { url: 'https://example.com', ...rest }));
const batch = (rest: object = {}) => batchFromV1(readBody(BatchV1Dto, { urls: ['https://example.com'], ...rest }));
const crawl = (rest: object = {}) => crawlFromV1(readBody(CrawlV1Dto, { url: 'https://example.com/docs', ...rest }));
const map = (rest: object = {}) => mapFromV1(readBody(MapV1Dto, { url: 'https://example.com', ...rest })).body;

describe('scrapeFromV1', () => {
  it('spells out the defaults in which v1 differs', () => {
    expect(scrape().body).toMatchObject({
      url: 'https://example.com',
      formats: ['markdown'],
      parsers: ['pdf'],
      maxAge: 0,
      skipTlsVerification: false,
      proxy: 'basic',
      timeout: 30_000,
    });
    expect(scrapeSpecFromV2(scrape().body, LIMITS)).toMatchObject({ skipTlsVerification: false, timeoutMs: 30_000 });
  });

  it('keeps what was sent, in the words of v2', () => {
    const sent = { maxAge: 5, skipTlsVerification: true, proxy: 'auto', timeout: 1234, storeInCache: false };
    expect(scrape({ ...sent, parsePDF: false }).body).toMatchObject({ ...sent, parsers: [] });
  });

  it('translates the names of formats', () => {
    const changeTrackingOptions = { modes: ['git-diff'], tag: null };
    const formats = ['screenshot@fullPage', 'changeTracking', 'markdown'];
    expect(scrape({ formats, changeTrackingOptions }).body.formats).toEqual([
      { type: 'screenshot', fullPage: true },
      { type: 'changeTracking', modes: ['git-diff'] },
      'markdown',
    ]);
  });

  it('translates json and its old name with their options', () => {
    const schema = { type: 'object' };
    const options = { systemPrompt: 'Be short.', prompt: 'The title', schema, temperature: 0 };
    const json = scrape({ formats: ['json'], jsonOptions: options });
    expect(json.body.formats).toEqual([{ type: 'json', prompt: 'Be short.\n\nThe title', schema }]);
    expect(json.warnings).toEqual(['The option temperature has no effect.']);
    const { body } = scrape({ formats: ['extract'], extract: { schema } });
    expect(body.formats).toEqual([{ type: 'json', schema, key: 'extract' }]);
    expect(body).not.toHaveProperty('jsonOptions');
  });

  it('wants options that say something, and one of both names', () => {
    const issues = (body: object) => {
      try {
        scrape(body);
      } catch (error) {
        return (error as InvalidBodyError).issues.map(({ path }) => path.join('.'));
      }
      return [];
    };
    expect(issues({ formats: ['json'] })).toEqual(['formats']);
    expect(issues({ formats: ['json'], jsonOptions: {} })).toEqual(['jsonOptions']);
    expect(issues({ formats: ['json'], jsonOptions: { schema: [] } })).toEqual(['jsonOptions.schema']);
    const both = { formats: ['json', 'extract'], jsonOptions: { prompt: 'x' }, extract: { prompt: 'x' } };
    expect(issues(both)).toEqual(['formats']);
  });

  it('prefers location to its old name', () => {
    expect(scrape({ geolocation: { country: 'DE' } }).body.location).toEqual({ country: 'DE' });
    const both = { geolocation: { country: 'DE' }, location: { country: 'FR' } };
    expect(scrape(both).body.location).toEqual({ country: 'FR' });
  });

  it('gives a model a minute and an agent five when no timeout was sent', () => {
    expect(scrapeOptionsFromV1({ formats: ['json'], jsonOptions: { prompt: 'x' } }).timeout).toBe(60_000);
    expect(scrapeOptionsFromV1({ formats: ['summary'], timeout: 2000 }).timeout).toBe(2000);
    expect(scrapeOptionsFromV1({ agent: {} }).timeout).toBe(300_000);
  });

  it('warns that an agent has no effect', () => {
    expect(scrape({ agent: { prompt: 'x' } }).warnings).toEqual(['The option agent has no effect.']);
    expect(crawl({ scrapeOptions: { agent: {} } }).warnings).toEqual(['The option agent has no effect.']);
    expect(scrape().warnings).toEqual([]);
  });
});

describe('batchFromV1', () => {
  it('is strict about addresses unless told otherwise', () => {
    expect(batch().body).toMatchObject({ ignoreInvalidURLs: false, urls: ['https://example.com'], maxAge: 0 });
    expect(batch({ ignoreInvalidURLs: true, webhook: 'https://h.example' }).body).toMatchObject({
      ignoreInvalidURLs: true,
      webhook: 'https://h.example',
    });
  });
});

describe('crawlFromV1', () => {
  it('limits the path to ten segments and reads the sitemap by default', () => {
    const spec = crawlSpecFromV2(crawl().body, LIMITS);
    expect(spec.scope).toMatchObject({ maxPathDepth: 10, maxDepth: null, sitemap: 'include', entireDomain: false });
    expect(spec.scrape.skipTlsVerification).toBe(false);
  });

  it('knows the old names', () => {
    const { scope } = crawlSpecFromV2(
      crawl({ maxDepth: 3, maxDiscoveryDepth: 2, ignoreSitemap: true, allowBackwardLinks: true }).body,
      LIMITS,
    );
    expect(scope).toMatchObject({ maxPathDepth: 3, maxDepth: 2, sitemap: 'skip', entireDomain: true });
  });

  it('prefers crawlEntireDomain to its old name', () => {
    expect(crawl({ allowBackwardLinks: true, crawlEntireDomain: false }).body.crawlEntireDomain).toBe(false);
  });

  it.each([
    ['https://example.com/a/b/c', 2, false],
    ['https://example.com/a/b/c', 3, true],
    ['https://example.com/a/b/index.html', 2, true],
    ['example.com//a//b/', 2, true],
    ['https://example.com/', 0, true],
  ])('of %s with maxDepth %i: %s', (url, maxDepth, isAccepted) => {
    if (isAccepted) expect(crawl({ url, maxDepth }).body.maxPathDepth).toBe(maxDepth);
    else
      expect(() => crawl({ url, maxDepth })).toThrow(
        expect.objectContaining({ details: [expect.objectContaining({ code: 'custom', path: ['url'] })] }),
      );
  });

  it('shows a crawl so that reading it again gives the same crawl', () => {
    const scrapeOptions = { formats: ['html'], timeout: 5000 };
    const spec = crawlSpecFromV2(crawl({ maxDepth: 4, ignoreSitemap: true, delay: 2, scrapeOptions }).body, LIMITS);
    const shown = crawlSpecToV1(spec);
    expect(shown).toMatchObject({ maxDepth: 4, ignoreSitemap: true, allowBackwardLinks: false });
    expect(crawlSpecFromV2(crawl(shown).body, LIMITS)).toEqual(spec);
  });
});

describe('mapFromV1', () => {
  it('has a limit of 5000 and reads the sitemap', () => {
    expect(map()).toMatchObject({ url: 'https://example.com', limit: 5000, sitemap: 'include' });
  });

  it.each([
    [{ ignoreSitemap: true }, 'skip'],
    [{ sitemapOnly: true }, 'only'],
    [{ sitemapOnly: true, ignoreSitemap: true }, 'only'],
  ])('reads %j as sitemap %s', (rest, sitemap) => {
    expect(map(rest).sitemap).toBe(sitemap);
  });

  it('answers with plain addresses', () => {
    expect(mapLinksToV1([{ url: 'https://a.example' }, { url: 'https://b.example' }])).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
  });
});
