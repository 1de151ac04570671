import 'reflect-metadata';
import { afterAll, describe, expect, it } from '@jest/globals';
import { CompileThread } from '../../compile/compile-thread.js';
import { BatchDto } from '../v2/batch.dto.js';
import { CrawlDto } from '../v2/crawl.dto.js';
import { MapDto } from '../v2/map.dto.js';
import { ScrapeDto } from '../v2/scrape.dto.js';
import { BodyCheck } from './body-check.js';
import { InvalidBodyError, type Issue } from './issue.js';
import { readBody } from './read-body.js';

const thread = new CompileThread();
const bodies = new BodyCheck(thread);
afterAll(() => thread.onApplicationShutdown());

function issuesOf(type: new () => object, raw: unknown): Issue[] {
  try {
    readBody(type, raw);
    return [];
  } catch (error) {
    if (error instanceof InvalidBodyError) return error.issues;
    throw error;
  }
}

const scrape = (rest: object) => issuesOf(ScrapeDto, { url: 'https://example.com', ...rest });
const crawl = (rest: object) => issuesOf(CrawlDto, { url: 'https://example.com', ...rest });

describe('readBody', () => {
  it('reports a missing url the way zod does', () => {
    expect(issuesOf(ScrapeDto, {})).toEqual([
      { code: 'invalid_type', expected: 'string', received: 'undefined', path: ['url'], message: 'Required' },
    ]);
  });

  it('reports all issues, not only the first', () => {
    const issues = issuesOf(ScrapeDto, { urll: 'x', waitFor: 70_000, mobile: 'true', formats: ['markdown', 'nope'] });
    expect(issues.map(({ code, path }) => [code, path])).toEqual(
      expect.arrayContaining([
        ['unrecognized_keys', []],
        ['invalid_type', ['url']],
        ['too_big', ['waitFor']],
        ['invalid_type', ['mobile']],
        ['invalid_enum_value', ['formats', 1]],
      ]),
    );
    expect(issues).toHaveLength(5);
  });

  it('spells too_big with its maximum', () => {
    expect(scrape({ waitFor: 70_000 })).toEqual([
      {
        code: 'too_big',
        maximum: 60_000,
        type: 'number',
        inclusive: true,
        path: ['waitFor'],
        message: 'Number must be ≤ 60000',
      },
    ]);
  });

  it('takes the message of a first custom issue as the error, else Bad Request', () => {
    expect(() => readBody(ScrapeDto, { url: 'x.com', timeout: 2000, waitFor: 1500 })).toThrow(
      'waitFor must not exceed',
    );
    expect(() => readBody(ScrapeDto, {})).toThrow(/^Bad Request$/);
  });

  it('never converts a string to a number or a boolean', () => {
    expect(scrape({ timeout: '5000' })[0]).toMatchObject({
      code: 'invalid_type',
      expected: 'number',
      received: 'string',
    });
    expect(scrape({ onlyMainContent: 'true' })[0]).toMatchObject({ code: 'invalid_type', expected: 'boolean' });
    expect(scrape({ maxAge: 1.5 })[0]).toMatchObject({ code: 'invalid_type', expected: 'integer', received: 'float' });
  });

  it('treats null as absent for optional fields and as missing for required ones', () => {
    expect(scrape({ timeout: null, integration: null, location: { country: null } })).toEqual([]);
    expect(issuesOf(ScrapeDto, { url: null })[0]).toMatchObject({ message: 'Required' });
  });

  it('finds unknown keys inside scrapeOptions, format objects and webhooks', () => {
    expect(crawl({ scrapeOptions: { foo: 1 } })[0]).toMatchObject({
      code: 'unrecognized_keys',
      keys: ['foo'],
      path: ['scrapeOptions'],
    });
    expect(scrape({ formats: [{ type: 'markdown', x: 1 }] })[0]).toMatchObject({
      code: 'unrecognized_keys',
      path: ['formats', 0],
    });
    expect(crawl({ webhook: { url: 'https://h.example', x: 1 } })[0]).toMatchObject({
      code: 'unrecognized_keys',
      path: ['webhook'],
    });
  });

  it('ignores keys that begin with two underscores at every level', () => {
    const note = { __note: 1 };
    expect(
      crawl({ ...note, scrapeOptions: { ...note, formats: [{ type: 'html', ...note }], location: note } }),
    ).toEqual([]);
    expect(scrape({ parsers: [{ type: 'pdf', ...note }] })).toEqual([]);
  });

  it('knows what is asked of a language model, and asks for each thing once', () => {
    expect(
      scrape({
        formats: [
          'summary',
          { type: 'json', schema: { type: 'object' } },
          { type: 'question', question: 'Why?' },
          { type: 'query', prompt: 'why', mode: 'directQuote' },
          'markdown',
          { type: 'changeTracking', modes: ['json'], prompt: 'price', schema: { type: 'object' } },
        ],
      }),
    ).toEqual([]);
    const repeated = [
      { type: 'json', prompt: 'a' },
      { type: 'json', prompt: 'b' },
      { type: 'question', question: 'a' },
      { type: 'query', prompt: 'a' },
    ];
    expect(scrape({ formats: repeated }).map(({ message }) => message)).toEqual([
      expect.stringContaining('json'),
      expect.stringContaining('answer'),
    ]);
    const wrong = [
      { type: 'json', prompt: 'a', schema: 'string' },
      { type: 'query', prompt: 'a', mode: 'any' },
      { type: 'changeTracking', modes: ['text'], schema: [] },
    ];
    expect(scrape({ formats: wrong }).map(({ path }) => path)).toEqual([
      ['formats', 0, 'schema'],
      ['formats', 1, 'mode'],
      ['formats', 2, 'schema'],
      ['formats', 2, 'modes', 0],
    ]);
  });

  it('does not mistake names of Object.prototype for known keys', () => {
    const raw = JSON.parse('{"url":"https://x.com","constructor":1,"toString":2,"hasOwnProperty":3}') as object;
    expect(issuesOf(ScrapeDto, raw)[0]).toMatchObject({ keys: ['constructor', 'toString', 'hasOwnProperty'] });
  });

  it('accepts what clients send without effect here, at both levels', () => {
    const ignored = {
      fastMode: false,
      useMock: 'x',
      __experimental_cache: 1,
      lockdown: false,
      auditMetadata: {},
      redactPII: false,
    };
    expect(scrape({ ...ignored, origin: 'js-sdk@4.42.0', integration: 'n8n' })).toEqual([]);
    expect(crawl({ ...ignored, scrapeOptions: { ...ignored, origin: 'mcp', integration: null } })).toEqual([]);
  });

  it.each([
    ...['redactPII', 'lockdown', 'safeMode', 'checkPromptInjection', 'threatProtection'],
    ...['profile', 'onlyCleanContent', 'alexandria'],
  ])('answers 501 for the option %s, whose silence would mislead', (name) => {
    expect(scrape({ [name]: true })).toEqual([
      { code: 'not_supported', path: [name], message: `${name} is not supported by this version` },
    ]);
    expect(() => readBody(ScrapeDto, { url: 'x.com', [name]: true })).toThrow(
      expect.objectContaining({ httpStatus: 501, message: `${name} is not supported by this version` }),
    );
  });

  it('says first what is not offered, and what else is wrong beside it', () => {
    expect(() => readBody(ScrapeDto, { urll: 1, alexandria: { provider: 'p' } })).toThrow(
      expect.objectContaining({ httpStatus: 501, message: 'alexandria is not supported by this version' }),
    );
    expect(issuesOf(ScrapeDto, { urll: 1, alexandria: {} }).map(({ code }) => code)).toEqual([
      'not_supported',
      'unrecognized_keys',
      'invalid_type',
    ]);
  });

  it('mentions options without effect that a caller would miss', () => {
    const { warnings } = readBody(ScrapeDto, { url: 'x.com', domainTools: true });
    expect(warnings).toEqual(['The option domainTools has no effect.']);
  });

  it('names the index of a pattern that does not compile or needs look-around', async () => {
    const body = {
      url: 'https://example.com',
      includePaths: ['^/a', '('],
      excludePaths: ['(?=a)'],
      scrapeOptions: { excludeTags: ['nav', '*(*'] },
    };
    const refusal = await bodies.read(CrawlDto, body).catch((error: unknown) => error);
    expect((refusal as InvalidBodyError).issues.map(({ path }) => path)).toEqual([
      ['includePaths', 1],
      ['excludePaths', 0],
      ['scrapeOptions', 'excludeTags', 1],
    ]);
  });

  it('names the place of a schema that does not compile, unless there is no model to read it', async () => {
    const body = { url: 'https://example.com', formats: ['markdown', { type: 'json', schema: { type: 'nothing' } }] };
    await expect(bodies.read(ScrapeDto, body, { team: 'a', hasModel: true })).rejects.toMatchObject({
      issues: [
        { code: 'custom', path: ['formats', 1, 'schema'], message: expect.stringContaining('does not compile') },
      ],
    });
    await expect(bodies.read(ScrapeDto, body, { team: 'a', hasModel: false })).resolves.toMatchObject({ warnings: [] });
  });

  it('refuses patterns that are too long together, with their length', () => {
    const issues = crawl({ includePaths: Array.from({ length: 101 }, () => 'x'.repeat(2000)) });
    expect(issues).toEqual([
      {
        code: 'custom',
        path: ['includePaths'],
        message: 'The patterns take 202000 bytes, at most 200000 are allowed',
      },
    ]);
  });

  it('accepts the body that the Python SDK sends with every option at its default', () => {
    const options = { onlyMainContent: true, mobile: false, removeBase64Images: true, fastMode: false, blockAds: true };
    const body = {
      ignoreQueryParameters: false,
      deduplicateSimilarURLs: true,
      crawlEntireDomain: false,
      allowExternalLinks: false,
    };
    const rest = {
      allowSubdomains: false,
      ignoreRobotsTxt: false,
      regexOnFullURL: false,
      zeroDataRetention: false,
      prompt: null,
    };
    expect(crawl({ ...body, ...rest, scrapeOptions: { ...options, maxAge: 14_400_000, storeInCache: true } })).toEqual(
      [],
    );
  });

  it('checks actions although they are not offered', () => {
    expect(scrape({ actions: [{ type: 'fly' }] })[0]).toMatchObject({ code: 'invalid_union', path: ['actions', 0] });
    expect(scrape({ actions: [{ type: 'click' }] })[0]).toMatchObject({ code: 'invalid_union' });
    expect(scrape({ actions: [{ type: 'wait', milliseconds: 59_000 }], waitFor: 2000 })[0]).toMatchObject({
      code: 'custom',
      path: ['actions'],
    });
    expect(scrape({ actions: [{ type: 'wait', selector: '#a', extra: 1 }] })).toEqual([]);
  });

  it.each([
    [{ formats: ['json'] }, 'custom', ['formats', 0]],
    [{ formats: [{ type: 'json' }] }, 'custom', ['formats', 0]],
    [{ formats: [{ type: 'json', prompt: ' ' }] }, 'custom', ['formats', 0]],
    [{ formats: ['changeTracking'] }, 'custom', ['formats']],
    [{ formats: ['screenshot', { type: 'screenshot', fullPage: true }] }, 'custom', ['formats']],
    [{ formats: ['audio'] }, 'not_supported', ['formats', 0]],
    [{ formats: 'markdown' }, 'invalid_type', ['formats']],
    [{ timeout: 999 }, 'too_small', ['timeout']],
    [{ proxy: 'fast' }, 'invalid_enum_value', ['proxy']],
    [{ parsers: 'pdf' }, 'invalid_type', ['parsers']],
    [{ headers: { a: 1 } }, 'invalid_type', ['headers', 'a']],
    [{ headers: { a: 'x\r\nb: y' } }, 'custom', ['headers', 'a']],
    [{ location: { country: 'xyz' } }, 'custom', ['location', 'country']],
  ])('refuses %j with %s at %j', (rest, code, path) => {
    expect(scrape(rest)[0]).toMatchObject({ code, path });
  });

  it.each([
    [CrawlDto, { limit: 0 }, 'too_small', ['limit']],
    [CrawlDto, { delay: 0 }, 'too_small', ['delay']],
    [CrawlDto, { delay: 61 }, 'too_big', ['delay']],
    [CrawlDto, { sitemap: 'no' }, 'invalid_enum_value', ['sitemap']],
    [CrawlDto, { scrapeOptions: [] }, 'invalid_type', ['scrapeOptions']],
    [MapDto, { limit: 100_001 }, 'too_big', ['limit']],
    [MapDto, { timeout: 0 }, 'too_small', ['timeout']],
  ])('refuses %p %j', (type, rest, code, path) => {
    expect(issuesOf(type, { url: 'https://example.com', ...rest })[0]).toMatchObject({ code, path });
  });

  it('asks a batch for at least one url, all of them strings', () => {
    expect(issuesOf(BatchDto, { urls: [] })[0]).toMatchObject({ code: 'too_small', path: ['urls'] });
    expect(issuesOf(BatchDto, { urls: ['https://a.example', 5] })[0]).toMatchObject({
      code: 'invalid_type',
      path: ['urls', 1],
    });
    expect(issuesOf(BatchDto, {})[0]).toMatchObject({ message: 'Required', path: ['urls'] });
  });

  it('answers a body nested without end with an error instead of a crash', () => {
    let deep: unknown = [];
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(() => readBody(ScrapeDto, { url: 'x.com', includeTags: deep })).toThrow('nested deeper than 100 levels');
  });

  it.each(['__proto__', 'constructor', 'toString', 'then', 'hasOwnProperty', 'toJSON'])(
    'keeps a property %s of a schema as the caller wrote it',
    (name) => {
      const schema = JSON.parse(`{"type":"object","properties":{"${name}":{"type":"string"}}}`) as object;
      const { body } = readBody(ScrapeDto, { url: 'x.com', formats: [{ type: 'json', schema }] });
      expect(JSON.stringify(body.formats)).toBe(JSON.stringify([{ type: 'json', schema }]));
      const odd = JSON.parse(`{"url":"x.com","location":{"${name}":1},"headers":{"${name}":{}}}`) as object;
      expect(issuesOf(ScrapeDto, odd)).toContainEqual(expect.objectContaining({ path: ['headers', name] }));
    },
  );

  it.each([undefined, 'text', 5, [], true])('refuses %p as a body', (raw) => {
    expect(issuesOf(ScrapeDto, raw)[0]).toMatchObject({ code: 'invalid_type', expected: 'object', path: [] });
  });
});
