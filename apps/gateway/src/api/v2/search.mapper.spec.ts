import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { type SearchAnswer, type SearchResult } from '../../search/search.service.js';
import { searchAnswerToV1 } from '../v1/search.mapper.js';
import { InvalidBodyError } from '../validation/issue.js';
import { readBody } from '../validation/read-body.js';
import { SearchDto } from './search.dto.js';
import { searchAnswerToV2, searchSpecFromV2, searchWarnings } from './search.mapper.js';

const LIMITS = { maxScrapeTimeoutMs: 600_000, changeTrackingDiffShape: 'auto' as const };
const bodyOf = (rest: object) => readBody(SearchDto, { query: 'q', ...rest }).body;
const specOf = (rest: object = {}) => searchSpecFromV2(bodyOf(rest), LIMITS);

function issuesOf(rest: object) {
  try {
    searchSpecFromV2(readBody(SearchDto, { query: 'q', ...rest }).body, LIMITS);
    return [];
  } catch (error) {
    if (error instanceof InvalidBodyError) return error.issues;
    throw error;
  }
}

describe('searchSpecFromV2', () => {
  it('fills in the defaults', () => {
    expect(specOf()).toEqual({
      query: 'q',
      limit: 10,
      sources: [{ source: 'web', language: 'en-US', maxAge: null }],
      categories: [],
      includeDomains: [],
      excludeDomains: [],
      dropsForbidden: false,
      safe: false,
      scrape: null,
      timeoutMs: 60_000,
    });
  });

  it('takes sources as names and as objects, whose own words win', () => {
    const sources = [{ type: 'web', tbs: 'qdr:w2', lang: 'de', country: 'AT' }, 'news', { type: 'images' }, 'news'];
    expect(specOf({ sources, tbs: 'qdr:d', lang: 'fr' }).sources).toEqual([
      { source: 'web', language: 'de-AT', maxAge: 'week' },
      { source: 'news', language: 'fr-US', maxAge: 'day' },
      { source: 'images', language: 'fr-US', maxAge: 'day' },
    ]);
  });

  it('assumes no country when a location is given', () => {
    expect(specOf({ location: 'Berlin' }).sources[0]!.language).toBe('en');
  });

  it('scrapes only when a format is asked for', () => {
    expect(specOf({ scrapeOptions: { onlyMainContent: true } }).scrape).toBeNull();
    expect(specOf({ scrapeOptions: { formats: ['links'] } }).scrape).toMatchObject({ formats: [{ type: 'links' }] });
  });

  it('leaves out the hosted source that the MCP server names beside the web, and all that comes with it', () => {
    const sent = { sources: ['web', 'alexandria'], domainTools: true, toolDetail: 'compact' };
    expect(specOf(sent).sources).toEqual([{ source: 'web', language: 'en-US', maxAge: null }]);
    expect(searchWarnings(bodyOf(sent))).toEqual([]);
    expect(searchWarnings(bodyOf({ domainTools: true }))).toEqual(['The option domainTools has no effect.']);
  });

  it.each(['alexandria', { type: 'alexandria' }, 'exchange'])(
    'refuses %j alone in the words clients know',
    (source) => {
      expect(() => specOf({ sources: [source] })).toThrow(
        expect.objectContaining({ status: 403, message: 'This endpoint is not enabled for this team.' }),
      );
    },
  );

  it('answers 501 by name for what is not offered', () => {
    expect(() => bodyOf({ enterprise: ['anon'] })).toThrow(
      expect.objectContaining({ httpStatus: 501, message: 'enterprise anon is not supported by this version' }),
    );
  });

  it('warns of words that the provider cannot be told', () => {
    expect(searchWarnings(bodyOf({ tbs: 'qdr:h' }))).toEqual([]);
    expect(searchWarnings(bodyOf({ tbs: 'sbd:1', sources: [{ type: 'web', filter: '0' }] }))).toEqual([
      'The option filter has no effect with this search provider.',
      'The search provider does not know tbs sbd:1.',
    ]);
  });

  it.each([
    [{ query: undefined }, 'invalid_type', ['query']],
    [{ query: '  ' }, 'custom', ['query']],
    [{ limit: 0 }, 'too_small', ['limit']],
    [{ limit: 101 }, 'too_big', ['limit']],
    [{ sources: ['library'] }, 'invalid_enum_value', ['sources', 0]],
    [{ sources: [{ type: 'news', tbs: 'x' }] }, 'unrecognized_keys', ['sources', 0]],
    [{ sources: [{ type: 'web', lang: 5 }] }, 'invalid_type', ['sources', 0, 'lang']],
    [{ categories: ['gov'] }, 'not_supported', ['categories', 0]],
    [{ categories: [{ type: 'law' }] }, 'invalid_enum_value', ['categories', 0, 'type']],
    [{ categories: ['pdf', { type: 'developer' }] }, 'custom', ['categories']],
    [{ safe: 'yes' }, 'invalid_type', ['safe']],
    [{ includeDomains: ['https://a.test'] }, 'custom', ['includeDomains', 0]],
    [{ includeDomains: ['a.test'], excludeDomains: ['b.test'] }, 'custom', ['excludeDomains']],
    [{ timeout: 0 }, 'too_small', ['timeout']],
    [{ scrapeOptions: { formats: ['markdown', { type: 'changeTracking' }] } }, 'custom', ['scrapeOptions', 'formats']],
    [{ scrapeOptions: { nope: 1 } }, 'unrecognized_keys', ['scrapeOptions']],
    [{ enterprise: ['zdr'] }, 'not_supported', ['enterprise']],
    [{ nope: 1 }, 'unrecognized_keys', []],
  ])('refuses %j with %s at %j', (rest, code, path) => {
    expect(issuesOf(rest)[0]).toMatchObject({ code, path });
  });

  it('accepts what clients send', () => {
    const python = { limit: 5, timeout: 300_000, sources: [{ type: 'web' }], ignoreInvalidURLs: false, tbs: null };
    expect(issuesOf({ ...python, origin: 'python-sdk@4.55.0', highlights: true, enterprise: ['default'] })).toEqual([]);
    expect(
      issuesOf({ categories: ['github', { type: 'pdf' }], includeDomains: ['a.test'], excludeDomains: [] }),
    ).toEqual([]);
  });
});

describe('the answer of a search', () => {
  const result: SearchResult = {
    url: 'http://a.test/',
    title: 'A "title"',
    text: 'text',
    date: '2026-01-01',
    imageUrl: 'http://a.test/i.png',
    imageSize: { width: 4, height: 3 },
    position: 1,
    category: null,
    page: null,
  };
  const answer = (over: Partial<SearchResult>, warnings: string[] = []): SearchAnswer => ({
    id: 'x',
    creditsUsed: 2,
    warnings,
    failures: [],
    results: new Map([
      ['web', [{ ...result, ...over }, result]],
      ['images', [result]],
      ['news', [{ ...result, ...over }]],
    ]),
  });
  const parse = (pieces: Iterable<Uint8Array | string>): unknown =>
    JSON.parse(Buffer.concat([...pieces].map((piece) => Buffer.from(piece))).toString('utf8'));

  it('has the keys of each source and no others', () => {
    expect(parse(searchAnswerToV2(answer({ category: 'pdf' }, ['w'])))).toEqual({
      success: true,
      id: 'x',
      creditsUsed: 2,
      data: {
        web: [
          { url: 'http://a.test/', title: 'A "title"', description: 'text', position: 1, category: 'pdf' },
          { url: 'http://a.test/', title: 'A "title"', description: 'text', position: 1 },
        ],
        images: [
          {
            title: 'A "title"',
            imageUrl: 'http://a.test/i.png',
            imageWidth: 4,
            imageHeight: 3,
            url: 'http://a.test/',
            position: 1,
          },
        ],
        news: [
          {
            title: 'A "title"',
            url: 'http://a.test/',
            snippet: 'text',
            date: '2026-01-01',
            imageUrl: 'http://a.test/i.png',
            position: 1,
            category: 'pdf',
          },
        ],
      },
      warning: 'w',
    });
  });

  it('carries documents beside the keys of the result, and says beside the data what could not be scraped', () => {
    const document = Buffer.from('{"markdown":"# M","metadata":{"statusCode":200}}');
    const { data } = parse(searchAnswerToV2(answer({ page: document }))) as { data: { web: object[] } };
    expect(data.web[0]).toMatchObject({
      url: 'http://a.test/',
      position: 1,
      markdown: '# M',
      metadata: { statusCode: 200 },
    });
    const failures = [{ url: 'http://a.test/', code: 'SCRAPE_TIMEOUT', error: 'late' }];
    const failed = parse(searchAnswerToV2({ ...answer({}, ['w']), failures })) as { data: { web: object[] } };
    expect(Object.keys(failed.data.web[0]!)).toEqual(['url', 'title', 'description', 'position']);
    expect(failed).toMatchObject({ errors: failures, warning: 'w' });
    expect(parse(searchAnswerToV1({ ...answer({}), failures }))).toMatchObject({ errors: failures });
  });

  it('is a flat list in v1', () => {
    const document = Buffer.from('{"markdown":"# M"}');
    expect(parse(searchAnswerToV1(answer({ page: document })))).toEqual({
      success: true,
      data: [
        { url: 'http://a.test/', title: 'A "title"', description: 'text', markdown: '# M' },
        { url: 'http://a.test/', title: 'A "title"', description: 'text' },
      ],
    });
  });
});
