import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { TroupeError, DEFAULT_PDF } from '@troupe/contracts';
import { readBody } from '../validation/read-body.js';
import { BatchDto } from './batch.dto.js';
import { batchFromV2, type BatchRules } from './batch.mapper.js';
import { CrawlDto } from './crawl.dto.js';
import { crawlSpecFromV2, crawlSpecToV2 } from './crawl.mapper.js';
import { MapDto } from './map.dto.js';
import { mapSpecFromV2, mapWarning } from './map.mapper.js';
import { ScrapeDto } from './scrape.dto.js';
import { scrapeSpecFromV2, scrapeSpecToV2 } from './scrape.mapper.js';

const LIMITS = {
  maxScrapeTimeoutMs: 600_000,
  changeTrackingDiffShape: 'auto' as const,
  allowIgnoreRobots: false,
  concurrency: 10,
};
const spec = (rest: object = {}) => scrapeSpecFromV2(scrapeBody(rest), LIMITS);
const scrapeBody = (rest: object = {}) => readBody(ScrapeDto, { url: 'https://example.com', ...rest }).body;
const crawlBody = (rest: object = {}) => readBody(CrawlDto, { url: 'example.com/docs', ...rest }).body;

describe('scrapeSpecFromV2', () => {
  it('fills in the defaults of v2', () => {
    expect(scrapeSpecFromV2(scrapeBody(), LIMITS)).toEqual({
      formats: [{ type: 'markdown' }],
      onlyMainContent: true,
      includeTags: [],
      excludeTags: [],
      headers: {},
      waitForMs: 0,
      skipTlsVerification: true,
      timeoutMs: 30_000,
      removeBase64Images: true,
      engine: 'auto',
      mobile: false,
      blockAds: true,
      location: null,
      actions: [],
      proxy: 'auto',
      parsers: { pdf: DEFAULT_PDF, image: false },
      cache: { maxAgeMs: 172_800_000, minAgeMs: null, store: true },
      changeTracking: null,
      zeroRetention: false,
    });
  });

  it('honours a sent timeout exactly, up to the ceiling', () => {
    expect(scrapeSpecFromV2(scrapeBody({ timeout: 1234 }), LIMITS).timeoutMs).toBe(1234);
    expect(scrapeSpecFromV2(scrapeBody({ timeout: 9_999_999 }), LIMITS).timeoutMs).toBe(600_000);
  });

  it('gives a language model a minute when no timeout was sent', () => {
    expect(spec({ formats: ['summary'] }).timeoutMs).toBe(60_000);
    const tracking = { type: 'changeTracking', modes: ['json'], prompt: 'x' };
    expect(spec({ formats: ['markdown', tracking] }).timeoutMs).toBe(60_000);
    expect(spec({ formats: ['markdown', 'changeTracking'] }).timeoutMs).toBe(30_000);
    expect(spec({ formats: ['summary'], proxy: 'stealth' }).timeoutMs).toBe(120_000);
  });

  it('knows the formats that a model writes, and shows them as they were asked for', () => {
    const schema = { type: 'object', properties: { price: { type: ['number', 'null'] } } };
    const formats = [
      { type: 'json', prompt: 'price', schema },
      'summary',
      { type: 'question', question: 'Why?' },
      { type: 'highlights', query: 'because' },
      'markdown',
      { type: 'changeTracking', modes: ['git-diff', 'json'], schema, tag: null },
    ];
    const meant = spec({ formats });
    expect(meant.formats).toEqual([
      { type: 'json', prompt: 'price', schema, selectors: null, learn: false },
      { type: 'summary' },
      { type: 'question', question: 'Why?' },
      { type: 'highlights', query: 'because' },
      { type: 'markdown' },
    ]);
    expect(scrapeSpecToV2(meant).formats).toEqual(formats);
  });

  it('reads a query as the question or the quotation that it is', () => {
    const words = (mode?: string) => spec({ formats: [{ type: 'query', prompt: 'why', mode }] }).formats;
    expect(words()).toEqual([{ type: 'question', question: 'why' }]);
    expect(words('freeform')).toEqual(words());
    expect(words('directQuote')).toEqual([{ type: 'highlights', query: 'why' }]);
  });

  it('merges repeated formats and keeps an empty list empty', () => {
    const formats = ['markdown', { type: 'markdown' }, 'links'];
    expect(scrapeSpecFromV2(scrapeBody({ formats }), LIMITS).formats).toEqual([
      { type: 'markdown' },
      { type: 'links' },
    ]);
    expect(scrapeSpecFromV2(scrapeBody({ formats: [] }), LIMITS).formats).toEqual([]);
  });

  it('starts with the browser when the page needs time', () => {
    expect(scrapeSpecFromV2(scrapeBody({ waitFor: 500 }), LIMITS)).toMatchObject({ waitForMs: 500, engine: 'browser' });
  });
});

describe('the cache in v2 words', () => {
  it.each([
    [{ maxAge: 5 }, { maxAgeMs: 5, minAgeMs: null, store: true }],
    [{ storeInCache: false }, { maxAgeMs: 172_800_000, minAgeMs: null, store: false }],
    [{ headers: { cookie: 'a=b' } }, { maxAgeMs: 0, minAgeMs: null, store: false }],
    [{ headers: {} }, { maxAgeMs: 172_800_000, minAgeMs: null, store: true }],
    [{ zeroDataRetention: true }, { maxAgeMs: 0, minAgeMs: null, store: false }],
    [{ formats: ['markdown', 'changeTracking'] }, { maxAgeMs: 0, minAgeMs: null, store: true }],
    [
      { maxAge: 5, revalidate: 'source' },
      { maxAgeMs: 5, minAgeMs: null, store: true, revalidate: 'source' },
    ],
    [{ minAge: 7 }, { maxAgeMs: Number.MAX_SAFE_INTEGER, minAgeMs: 7, store: true }],
    [
      { minAge: 7, maxAge: 9 },
      { maxAgeMs: 9, minAgeMs: 7, store: true },
    ],
  ])('%j', (rest, cache) => {
    expect(spec(rest).cache).toEqual(cache);
  });

  it('refuses a page from the cache only, when nothing may be kept in it', () => {
    expect(() => spec({ minAge: 1, zeroDataRetention: true })).toThrow(
      expect.objectContaining({ code: 'SCRAPE_ZDR_VIOLATION_ERROR', httpStatus: 500 }),
    );
  });
});

describe('change tracking in v2 words', () => {
  const tracked = (format: unknown = 'changeTracking', rest: object = {}) =>
    spec({ formats: ['markdown', format], ...rest });

  it('gives the page time to settle and prefers the browser', () => {
    expect(tracked()).toMatchObject({
      waitForMs: 5_000,
      engine: 'browserIfAny',
      formats: [{ type: 'markdown' }],
      changeTracking: { tag: null, diff: false },
    });
    expect(tracked(undefined, { waitFor: 100 })).toMatchObject({ waitForMs: 5_000, engine: 'browser' });
    expect(tracked(undefined, { waitFor: 7_000 })).toMatchObject({ waitForMs: 7_000 });
  });

  it.each([
    ['js-sdk@4.1.0', 'object'],
    ['python-sdk@4', 'object'],
    ['mcp', 'object'],
    ['cli', 'object'],
    ['api', 'string'],
    ['website', 'string'],
    ['client', 'string'],
    [undefined, 'string'],
  ])('shows differences to origin %s as %s', (origin, diffShape) => {
    const format = { type: 'changeTracking', modes: ['git-diff'], tag: 'daily' };
    expect(tracked(format, { origin }).changeTracking).toEqual({ tag: 'daily', diff: true, diffShape, json: null });
  });

  it('lets the setting decide over the origin', () => {
    const rules = { ...LIMITS, changeTrackingDiffShape: 'object' as const };
    const body = scrapeBody({ formats: ['markdown', 'changeTracking'], origin: 'api' });
    expect(scrapeSpecFromV2(body, rules).changeTracking?.diffShape).toBe('object');
  });

  it('keeps what its names for changes are to be', () => {
    const format = { type: 'changeTracking', modes: ['json'], prompt: 'price', schema: { type: 'object' } };
    const { changeTracking } = tracked(format);
    expect(changeTracking).toMatchObject({ diff: false, json: { prompt: 'price', schema: { type: 'object' } } });
    expect(tracked({ ...format, modes: [] }).changeTracking?.json).toBeNull();
  });

  it('reaches the crawl with the origin of the crawl', () => {
    const body = crawlBody({ origin: 'js-sdk@4', scrapeOptions: { formats: ['markdown', 'changeTracking'] } });
    expect(crawlSpecFromV2(body, LIMITS).scrape.changeTracking?.diffShape).toBe('object');
  });
});

describe('zero data retention in v2 words', () => {
  it('is said by the crawl, not by its scrape options', () => {
    const inner = crawlBody({ scrapeOptions: { zeroDataRetention: true } });
    expect(crawlSpecFromV2(inner, LIMITS).scrape.zeroRetention).toBe(false);
    expect(crawlSpecFromV2(crawlBody({ zeroDataRetention: true }), LIMITS).scrape.zeroRetention).toBe(true);
  });
});

describe('how a page is seen, in v2 words', () => {
  const seen = (rest: object) => scrapeSpecFromV2(scrapeBody(rest), LIMITS);

  it.each([
    [{ actions: [{ type: 'wait', milliseconds: 1 }] }],
    [{ formats: ['screenshot'] }],
    [{ formats: ['branding'] }],
    [{ mobile: true }],
    [{ location: { country: 'DE' } }],
    [{ location: { languages: ['de'] } }],
  ])('%j needs a browser', (rest) => {
    expect(seen(rest).engine).toBe('browser');
  });

  it('needs none for defaults', () => {
    const rest = { actions: [], mobile: false, location: { country: 'us' }, blockAds: true };
    expect(seen(rest)).toMatchObject({ engine: 'auto', location: null, proxy: 'auto', blockAds: true });
  });

  it('keeps the options of a screenshot, and each format once', () => {
    const screenshot = { type: 'screenshot', quality: 50, viewport: { width: 10, height: 20 } };
    expect(seen({ formats: ['markdown', screenshot, 'markdown'] }).formats).toEqual([
      { type: 'markdown' },
      { ...screenshot, fullPage: false },
    ]);
  });

  it('puts the selectors of all attributes formats together', () => {
    const [a, b] = ['a', 'b'].map((selector) => ({ selector, attribute: 'id' }));
    const formats = [
      { type: 'attributes', selectors: [a] },
      { type: 'attributes', selectors: [b] },
    ];
    expect(seen({ formats }).formats).toEqual([{ type: 'attributes', selectors: [a, b] }]);
  });

  it.each([
    [
      { type: 'wait', milliseconds: 5 },
      { type: 'wait', ms: 5, selector: null },
    ],
    [
      { type: 'click', selector: '#a' },
      { type: 'click', selector: '#a', all: false },
    ],
    [
      { type: 'write', text: 'x' },
      { type: 'write', text: 'x', selector: null },
    ],
    [{ type: 'scroll' }, { type: 'scroll', direction: 'down', selector: null }],
    [{ type: 'pdf' }, { type: 'pdf', format: 'Letter', landscape: false, scale: 1 }],
  ])('reads the action %j', (words, action) => {
    const spec = seen({ actions: [words] });
    expect(spec.actions).toEqual([action]);
    expect(spec.cache).toMatchObject({ maxAgeMs: 0, store: false });
    expect(seen({ actions: scrapeSpecToV2(spec).actions }).actions).toEqual(spec.actions);
  });

  it.each([
    [undefined, 'auto', 30_000],
    ['basic', 'basic', 30_000],
    ['stealth', 'stealth', 120_000],
    ['enhanced', 'stealth', 120_000],
  ])('proxy %s is %s, with %i ms', (word, proxy, timeoutMs) => {
    expect(seen(word === undefined ? {} : { proxy: word })).toMatchObject({ proxy, timeoutMs });
  });

  it.each([
    [undefined, { pdf: DEFAULT_PDF, image: false }],
    [[], { pdf: null, image: false }],
    [['pdf', 'image'], { pdf: DEFAULT_PDF, image: true }],
    [
      [{ type: 'pdf', maxPages: 3, pageMarkdown: true }],
      { pdf: { ...DEFAULT_PDF, maxPages: 3, pages: true }, image: false },
    ],
  ])('reads the parsers %j', (parsers, expected) => {
    expect(seen(parsers === undefined ? {} : { parsers }).parsers).toEqual(expected);
  });
});

describe('crawlSpecFromV2', () => {
  it('keeps the caller’s text and crawls the canonical start', () => {
    const spec = crawlSpecFromV2(crawlBody(), LIMITS);
    expect(spec.url).toBe('example.com/docs');
    expect(spec.scope.base).toBe('http://example.com/docs');
    expect(spec).toMatchObject({
      limit: 10_000,
      delayMs: 0,
      maxConcurrency: null,
      ignoreRobots: false,
      robotsAgent: null,
    });
  });

  it('turns seconds of delay into ms and clamps concurrency to the team’s', () => {
    expect(crawlSpecFromV2(crawlBody({ delay: 0.25, maxConcurrency: 99 }), LIMITS)).toMatchObject({
      delayMs: 250,
      maxConcurrency: 10,
    });
  });

  it('ignores another robots agent unless that is permitted', () => {
    const body = crawlBody({ robotsUserAgent: 'other' });
    expect(crawlSpecFromV2(body, LIMITS).robotsAgent).toBeNull();
    expect(crawlSpecFromV2(body, { ...LIMITS, allowIgnoreRobots: true }).robotsAgent).toBe('other');
  });

  it('shows the options of a crawl so that reading them again gives the same crawl', () => {
    const rest = {
      includePaths: ['^/a'],
      maxDiscoveryDepth: 2,
      delay: 1.5,
      limit: 7,
      scrapeOptions: { formats: ['html'], timeout: 5000 },
    };
    const spec = crawlSpecFromV2(crawlBody(rest), LIMITS);
    expect(crawlSpecFromV2(crawlBody(crawlSpecToV2(spec)), LIMITS)).toEqual(spec);
  });
});

describe('batchFromV2', () => {
  const rules: BatchRules = {
    ...LIMITS,
    maxBatchUrls: 5,
    checkTarget: (url) => {
      if (new URL(url).hostname === '10.0.0.1') throw new TroupeError('SCRAPE_TARGET_FORBIDDEN', 'no');
    },
  };
  const batch = (urls: string[], rest: object = {}) => batchFromV2(readBody(BatchDto, { urls, ...rest }).body, rules);

  it('reports bad and blocked entries by their text and keeps repeated ones', () => {
    const order = batch(['https://a.example', 'nope', '10.0.0.1/', 'b.example', 'https://a.example']);
    expect(order.invalidUrls).toEqual(['nope', '10.0.0.1/']);
    expect(order.urls).toEqual([
      { url: 'https://a.example', host: 'a.example' },
      { url: 'b.example', host: 'b.example' },
      { url: 'https://a.example', host: 'a.example' },
    ]);
  });

  it('has an empty list of invalid URLs when all are fine, and none in strict mode', () => {
    expect(batch(['https://a.example']).invalidUrls).toEqual([]);
    expect(batch(['https://a.example'], { ignoreInvalidURLs: false }).invalidUrls).toBeNull();
  });

  it('names the index of a bad entry in strict mode and forbids a blocked one', () => {
    const strict = { ignoreInvalidURLs: false };
    expect(() => batch(['https://a.example', 'nope'], strict)).toThrow(
      expect.objectContaining({ details: [expect.objectContaining({ path: ['urls', 1] })] }),
    );
    expect(() => batch(['http://10.0.0.1/'], strict)).toThrow(
      expect.objectContaining({ code: 'SCRAPE_TARGET_FORBIDDEN' }),
    );
  });

  it('refuses a batch without one valid URL, and one with too many', () => {
    expect(() => batch(['nope'])).toThrow(expect.objectContaining({ status: 400 }));
    expect(() => batch(Array<string>(6).fill('https://a.example'))).toThrow(
      expect.objectContaining({ details: [expect.objectContaining({ code: 'too_big', maximum: 5 })] }),
    );
  });
});

describe('mapSpecFromV2', () => {
  const map = (rest: object) => mapSpecFromV2(readBody(MapDto, { url: 'example.com/docs', ...rest }).body);

  it('has a limit of 100 and a ceiling of two minutes', () => {
    expect(map({})).toMatchObject({
      url: 'http://example.com/docs',
      limit: 100,
      timeoutMs: 120_000,
      includeSubdomains: true,
    });
    expect(map({ timeout: 500_000 }).timeoutMs).toBe(120_000);
  });

  it('says where its pages are asked for from, if that matters', () => {
    expect(map({}).location).toBeNull();
    expect(map({ location: { country: 'us' } }).location).toBeNull();
    expect(map({ location: { country: 'de' } }).location).toEqual({ country: 'DE', languages: [] });
  });

  it('warns when a section yields at most one link', () => {
    const spec = map({});
    expect(mapWarning(spec, [{ url: 'http://example.com/docs' }])).toContain('Only one link');
    expect(mapWarning({ ...spec, limit: 1 }, [])).toBeUndefined();
    expect(mapWarning({ ...spec, url: 'http://example.com/' }, [])).toBeUndefined();
  });
});
