/**
 * Every field of a scrape, batch, crawl, map and extract body, in both versions: what is refused, with which issue. Nothing in
 * here fetches a page: accepted bodies ask for a host that does not exist.
 */
import { describe, expect, it } from '@jest/globals';
import { call, post, useGateway } from './api.js';

useGateway();

type Json = Record<string, unknown>;
type Path = (string | number)[];

const UNKNOWN_HOST = 'http://no-such-host.invalid/';

interface Place {
  name: string;
  path: string;
  version: 'v1' | 'v2';
  /** The options where this body has them. */
  wrap(options: Json): Json;
  /** Path of the options in the body. */
  prefix: Path;
}

const flat = (path: string, required: Json): Place => ({
  name: `POST /${path}`,
  path: `/${path}`,
  version: path.startsWith('v1') ? 'v1' : 'v2',
  wrap: (options) => ({ ...required, ...options }),
  prefix: [],
});
const nested = (path: string): Place => ({
  ...flat(path, {}),
  name: `POST /${path} scrapeOptions`,
  wrap: (options) => ({ url: UNKNOWN_HOST, scrapeOptions: options }),
  prefix: ['scrapeOptions'],
});
const V2_SCRAPE = flat('v2/scrape', { url: UNKNOWN_HOST });
const V1_SCRAPE = flat('v1/scrape', { url: UNKNOWN_HOST });
const V2_BATCH = flat('v2/batch/scrape', { urls: [UNKNOWN_HOST] });
const V1_BATCH = flat('v1/batch/scrape', { urls: [UNKNOWN_HOST] });
const V2_CRAWL = flat('v2/crawl', { url: UNKNOWN_HOST });
const V1_CRAWL = flat('v1/crawl', { url: UNKNOWN_HOST });
const V2_MAP = flat('v2/map', { url: UNKNOWN_HOST });
const V1_MAP = flat('v1/map', { url: UNKNOWN_HOST });
const V2_EXTRACT = flat('v2/extract', { urls: [UNKNOWN_HOST], prompt: 'x' });
const V1_EXTRACT = flat('v1/extract', { urls: [UNKNOWN_HOST], prompt: 'x' });
const SCRAPE_PLACES = [V2_SCRAPE, V2_BATCH, nested('v2/crawl'), V1_SCRAPE, V1_BATCH, nested('v1/crawl')];

interface Refused {
  options: Json;
  issue: Json & { path: Path };
}

const row = (options: Json, path: Path, code: string, extra: Json = {}): Refused => ({
  options,
  issue: { code, path, ...extra },
});
const wrongType = (options: Json, path: Path, expected: string, received: string): Refused =>
  row(options, path, 'invalid_type', { expected, received, message: expect.any(String) });
const tooSmall = (options: Json, path: Path, minimum: number, inclusive = true, type = 'number'): Refused =>
  row(options, path, 'too_small', { minimum, inclusive, type, message: expect.any(String) });
const tooBig = (options: Json, path: Path, maximum: number, type = 'number'): Refused =>
  row(options, path, 'too_big', { maximum, inclusive: true, type, message: expect.any(String) });
const unknownKey = (options: Json, path: Path, ...keys: string[]): Refused =>
  row(options, path, 'unrecognized_keys', { keys, message: expect.any(String) });
const booleans = (...names: string[]): Refused[] =>
  names.flatMap((name) => [
    wrongType({ [name]: 'true' }, [name], 'boolean', 'string'),
    wrongType({ [name]: 1 }, [name], 'boolean', 'number'),
  ]);

function cases(places: Place[], rows: Refused[]): [name: string, place: Place, refused: Refused][] {
  return places.flatMap((place) =>
    rows.map((refused): [string, Place, Refused] => [
      `${place.name} ${shown(refused.options)} ${refused.issue.code as string} at ${JSON.stringify(refused.issue.path)}`,
      place,
      refused,
    ]),
  );
}

const shown = (value: unknown): string => JSON.stringify(value).slice(0, 90);

/** The whole body is checked, not only the issue that is looked for. */
async function expectRefusal({ path, wrap, prefix }: Place, { options, issue }: Refused): Promise<void> {
  const { status, body } = await post(path, wrap(options));
  const details = body.details as (Json & { message: string })[];
  const expected = { message: expect.any(String), ...issue, path: [...prefix, ...issue.path] };
  const isMissing = issue.code === 'not_supported';
  expect({ status, details }).toEqual({
    status: isMissing ? 501 : 400,
    details: [expect.objectContaining(expected)],
  });
  const error = isMissing || issue.code === 'custom' ? details[0]!.message : 'Bad Request';
  expect(body).toEqual({ success: false, code: isMissing ? 'NOT_SUPPORTED' : 'BAD_REQUEST', error, details });
}

const WAITS = Array.from({ length: 51 }, () => ({ type: 'wait', milliseconds: 1 }));

const SCRAPE_OPTIONS: Refused[] = [
  ...booleans(
    'onlyMainContent',
    'mobile',
    'skipTlsVerification',
    'removeBase64Images',
    'blockAds',
    'storeInCache',
    'zeroDataRetention',
  ),
  wrongType({ includeTags: 'main' }, ['includeTags'], 'array', 'string'),
  wrongType({ includeTags: ['a', 1] }, ['includeTags', 1], 'string', 'number'),
  wrongType({ excludeTags: {} }, ['excludeTags'], 'array', 'object'),
  row({ excludeTags: ['*(*'] }, ['excludeTags', 0], 'custom'),
  tooSmall({ maxAge: -1 }, ['maxAge'], 0),
  wrongType({ maxAge: 1.5 }, ['maxAge'], 'integer', 'float'),
  wrongType({ maxAge: '0' }, ['maxAge'], 'number', 'string'),
  wrongType({ headers: [] }, ['headers'], 'object', 'array'),
  wrongType({ headers: { a: 1 } }, ['headers', 'a'], 'string', 'number'),
  row({ headers: { a: 'x\r\nb: y' } }, ['headers', 'a'], 'custom'),
  row({ headers: { Host: 'other.example' } }, ['headers', 'Host'], 'custom'),
  tooSmall({ waitFor: -1 }, ['waitFor'], 0),
  tooBig({ waitFor: 60_001 }, ['waitFor'], 60_000),
  row({ waitFor: 501, timeout: 1000 }, ['waitFor'], 'custom'),
  tooSmall({ timeout: 999 }, ['timeout'], 1000),
  wrongType({ timeout: '5000' }, ['timeout'], 'number', 'string'),
  wrongType({ actions: {} }, ['actions'], 'array', 'object'),
  tooBig({ actions: WAITS }, ['actions'], 50, 'array'),
  row({ actions: [{ type: 'wait', milliseconds: 1 }, { type: 'fly' }] }, ['actions', 1], 'invalid_union'),
  ...[
    { type: 'wait' },
    { type: 'wait', milliseconds: 0 },
    { type: 'click' },
    { type: 'write' },
    { type: 'press' },
    { type: 'scroll', direction: 'left' },
    { type: 'screenshot', quality: 101 },
    { type: 'pdf', scale: 0.05 },
    { type: 'pdf', scale: 2.1 },
    { type: 'executeJavascript', script: 'x'.repeat(100_001) },
    { type: 'screenshot', viewport: { width: 7681, height: 1 } },
    { type: 'executeJavascript' },
    { type: 'pdf', format: 'B5' },
  ].map((action) => row({ actions: [action] }, ['actions', 0], 'invalid_union')),
  row({ actions: [{ type: 'wait', milliseconds: 59_000 }], waitFor: 2000 }, ['actions'], 'custom'),
  wrongType({ location: 'DE' }, ['location'], 'object', 'string'),
  row({ location: { country: 'xyz' } }, ['location', 'country'], 'custom'),
  wrongType({ location: { languages: 'de' } }, ['location', 'languages'], 'array', 'string'),
  unknownKey({ location: { city: 'x' } }, ['location'], 'city'),
  row({ proxy: 'fast' }, ['proxy'], 'invalid_enum_value', {
    received: 'fast',
    options: expect.arrayContaining(['basic', 'stealth', 'auto', 'enhanced']),
  }),
  wrongType({ proxy: 1 }, ['proxy'], 'string', 'number'),
  row({ revalidate: 'page' }, ['revalidate'], 'invalid_enum_value', { received: 'page', options: ['source'] }),
  wrongType({ revalidate: true }, ['revalidate'], 'string', 'boolean'),
  wrongType({ formats: 'markdown' }, ['formats'], 'array', 'string'),
  row({ formats: ['markdown', 'nope'] }, ['formats', 1], 'invalid_enum_value'),
  row({ formats: ['changeTracking'] }, ['formats'], 'custom'),
  unknownKey({ urll: 1, alexandriaa: true }, [], 'urll', 'alexandriaa'),
  wrongType({ origin: 5 }, ['origin'], 'string', 'number'),
  tooBig({ integration: 'x'.repeat(65) }, ['integration'], 64, 'string'),
];

const notOffered = (options: Json, path: Path): Refused =>
  row(options, path, 'not_supported', { message: expect.stringContaining('is not supported by this version') });
const NOT_OFFERED: Refused[] = [
  ...['redactPII', 'lockdown', 'safeMode', 'checkPromptInjection', 'onlyCleanContent', 'alexandria'].map((name) =>
    notOffered({ [name]: true }, [name]),
  ),
  notOffered({ redactPII: { mode: 'fast' } }, ['redactPII']),
  notOffered({ threatProtection: {} }, ['threatProtection']),
  notOffered({ profile: { name: 'p' } }, ['profile']),
];
const V2_NOT_OFFERED: Refused[] = [
  notOffered({ parsers: [{ type: 'pdf', blocks: true }] }, ['parsers', 0, 'blocks']),
  notOffered({ formats: [{ type: 'json', prompt: 'x', checkPromptInjection: true }] }, [
    'formats',
    0,
    'checkPromptInjection',
  ]),
  ...['rawBase64', 'deterministicJson', 'menu', 'audio', 'video'].map((name) =>
    notOffered({ formats: ['markdown', name] }, ['formats', 1]),
  ),
];

const V2_SCRAPE_OPTIONS: Refused[] = [
  tooSmall({ minAge: -1 }, ['minAge'], 0),
  wrongType({ parsers: 'pdf' }, ['parsers'], 'array', 'string'),
  row({ parsers: ['doc'] }, ['parsers', 0], 'invalid_enum_value'),
  unknownKey({ parsers: [{ type: 'pdf', ocr: true }] }, ['parsers', 0], 'ocr'),
  row({ parsers: [{ type: 'pdf', mode: 'slow' }] }, ['parsers', 0, 'mode'], 'invalid_enum_value'),
  tooBig({ parsers: [{ type: 'pdf', maxPages: 10_001 }] }, ['parsers', 0, 'maxPages'], 10_000),
  wrongType({ parsers: [{ type: 'pdf', pages: 1 }] }, ['parsers', 0, 'pages'], 'boolean', 'number'),
  row({ formats: [5] }, ['formats', 0], 'invalid_union'),
  wrongType({ formats: [{}] }, ['formats', 0, 'type'], 'string', 'undefined'),
  row({ formats: [{ type: 'nope' }] }, ['formats', 0, 'type'], 'invalid_enum_value'),
  row({ formats: ['extract'] }, ['formats', 0], 'invalid_enum_value'),
  row({ formats: ['screenshot@fullPage'] }, ['formats', 0], 'invalid_enum_value'),
  unknownKey({ formats: [{ type: 'markdown', x: 1 }] }, ['formats', 0], 'x'),
  unknownKey({ formats: [{ type: 'product', x: 1 }] }, ['formats', 0], 'x'),
  row({ formats: ['json'] }, ['formats', 0], 'custom'),
  row({ formats: [{ type: 'json' }] }, ['formats', 0], 'custom'),
  tooBig({ formats: [{ type: 'json', prompt: 'x'.repeat(10_001) }] }, ['formats', 0, 'prompt'], 10_000, 'string'),
  row({ formats: ['screenshot', { type: 'screenshot', fullPage: true }] }, ['formats'], 'custom'),
  wrongType({ formats: [{ type: 'json', schema: 'x' }] }, ['formats', 0, 'schema'], 'object', 'string'),
  row(
    {
      formats: [
        { type: 'json', prompt: 'a' },
        { type: 'json', prompt: 'b' },
      ],
    },
    ['formats'],
    'custom',
  ),
  row({ formats: [{ type: 'query', prompt: 'a', mode: 'x' }] }, ['formats', 0, 'mode'], 'invalid_enum_value'),
  wrongType({ formats: [{ type: 'screenshot', fullPage: 1 }] }, ['formats', 0, 'fullPage'], 'boolean', 'number'),
  tooBig({ formats: [{ type: 'screenshot', quality: 101 }] }, ['formats', 0, 'quality'], 100),
  row(
    { formats: ['markdown', { type: 'changeTracking', modes: ['x'] }] },
    ['formats', 1, 'modes', 0],
    'invalid_enum_value',
  ),
  ...[
    'summary',
    { type: 'json', prompt: 'x' },
    { type: 'question', question: 'x' },
    { type: 'highlights', query: 'x' },
  ].map((format) =>
    row({ formats: [format] }, ['formats', 0], 'custom', { message: expect.stringContaining('model') }),
  ),
  row({ formats: ['markdown', { type: 'changeTracking', modes: ['json'] }] }, ['formats', 1, 'modes', 0], 'custom'),
];

const V1_SCRAPE_OPTIONS: Refused[] = [
  ...booleans('parsePDF'),
  unknownKey({ parsers: ['pdf'], minAge: 0 }, [], 'parsers', 'minAge'),
  row({ formats: ['images'] }, ['formats', 0], 'invalid_enum_value'),
  wrongType({ formats: [{ type: 'markdown' }] }, ['formats', 0], 'string', 'object'),
  row({ formats: ['screenshot', 'screenshot@fullPage'] }, ['formats'], 'custom'),
  row({ jsonOptions: { prompt: 'x' } }, ['jsonOptions'], 'custom'),
  row({ extract: { prompt: 'x' } }, ['extract'], 'custom'),
  ...['json', 'extract'].map((format) => {
    const key = format === 'json' ? 'jsonOptions' : 'extract';
    const options = { formats: ['markdown', format], [key]: { prompt: 'x', schema: {} } };
    return row(options, ['formats', 1], 'custom', { message: expect.stringContaining('model') });
  }),
  row({ formats: ['summary'] }, ['formats', 0], 'custom', { message: expect.stringContaining('model') }),
  wrongType({ changeTrackingOptions: [] }, ['changeTrackingOptions'], 'object', 'array'),
  unknownKey({ changeTrackingOptions: { x: 1 } }, ['changeTrackingOptions'], 'x'),
  row({ changeTrackingOptions: { modes: ['x'] } }, ['changeTrackingOptions', 'modes', 0], 'invalid_enum_value'),
  row(
    { formats: ['markdown', 'changeTracking'], changeTrackingOptions: { modes: ['json'] } },
    ['formats', 1, 'modes', 0],
    'custom',
    { message: expect.stringContaining('model') },
  ),
  row({ formats: ['json'], jsonOptions: {} }, ['jsonOptions'], 'custom'),
  wrongType({ geolocation: 'DE' }, ['geolocation'], 'object', 'string'),
  unknownKey({ geolocation: { city: 'x' } }, ['geolocation'], 'city'),
  wrongType({ agent: 'x' }, ['agent'], 'object', 'string'),
  unknownKey({ agent: { model: 'FIRE-1', x: 1 } }, ['agent'], 'x'),
];

describe('scrape options are refused', () => {
  it.each(cases(SCRAPE_PLACES, SCRAPE_OPTIONS))('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases(
      SCRAPE_PLACES.filter(({ version }) => version === 'v2'),
      V2_SCRAPE_OPTIONS,
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases(
      SCRAPE_PLACES.filter(({ version }) => version === 'v1'),
      V1_SCRAPE_OPTIONS,
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));

  it.each(cases([...SCRAPE_PLACES, V2_CRAWL, V1_CRAWL, V2_MAP, V1_MAP], NOT_OFFERED))('%s', (_name, place, refused) =>
    expectRefusal(place, refused),
  );
  it.each(
    cases(
      SCRAPE_PLACES.filter(({ version }) => version === 'v2'),
      V2_NOT_OFFERED,
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));

  it.each(['json', 'extract'])('v1 format %s needs its options', async (format) => {
    const { status, body } = await post('/v1/scrape', { url: UNKNOWN_HOST, formats: [format] });
    expect({ status, error: body.error }).toEqual({ status: 400, error: expect.stringContaining('requires') });
  });
});

const badUrl = (url: unknown): Refused => row({ url }, ['url'], 'invalid_string', { validation: 'url' });
const URLS: Refused[] = [
  wrongType({ url: null }, ['url'], 'string', 'undefined'),
  wrongType({ url: 5 }, ['url'], 'string', 'number'),
  ...['', 'nope', 'ftp://x.example/', 'mailto:a@x.example', 'javascript:alert(1)', 'http://http://x.example'].map(
    badUrl,
  ),
  ...[
    'http://',
    'http://x',
    'http://x.example:99999/',
    'http://a b.example/',
    `http://x.example/${'a'.repeat(2048)}`,
  ].map(badUrl),
];

const CRAWL_OPTIONS: Refused[] = [
  ...URLS,
  ...booleans(
    'regexOnFullURL',
    'ignoreQueryParameters',
    'deduplicateSimilarURLs',
    'crawlEntireDomain',
    'allowExternalLinks',
    'allowSubdomains',
    'ignoreRobotsTxt',
    'zeroDataRetention',
  ),
  wrongType({ includePaths: '^/a' }, ['includePaths'], 'array', 'string'),
  row({ includePaths: ['ok', '('] }, ['includePaths', 1], 'custom'),
  row({ excludePaths: ['(?<!a)b'] }, ['excludePaths', 0], 'custom'),
  row({ excludePaths: ['(a)\\1'] }, ['excludePaths', 0], 'custom'),
  tooSmall({ maxDiscoveryDepth: -1 }, ['maxDiscoveryDepth'], 0),
  wrongType({ maxDiscoveryDepth: 1.5 }, ['maxDiscoveryDepth'], 'integer', 'float'),
  tooSmall({ limit: 0 }, ['limit'], 1),
  wrongType({ limit: '5' }, ['limit'], 'number', 'string'),
  tooSmall({ delay: 0 }, ['delay'], 0, false),
  tooBig({ delay: 61 }, ['delay'], 60),
  tooSmall({ maxConcurrency: 0 }, ['maxConcurrency'], 1),
  wrongType({ scrapeOptions: [] }, ['scrapeOptions'], 'object', 'array'),
  unknownKey({ scrapeOptions: { url: UNKNOWN_HOST } }, ['scrapeOptions'], 'url'),
  unknownKey({ formats: ['markdown'] }, [], 'formats'),
];

describe('crawl bodies are refused', () => {
  it.each(cases([V2_CRAWL, V1_CRAWL], CRAWL_OPTIONS))('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases(
      [V2_CRAWL],
      [
        row({ sitemap: 'no' }, ['sitemap'], 'invalid_enum_value', { options: ['include', 'skip', 'only'] }),
        row({ prompt: 'only the blog' }, ['prompt'], 'custom', { message: expect.stringContaining('model') }),
        tooBig({ prompt: 'x'.repeat(10_001) }, ['prompt'], 10_000, 'string'),
        unknownKey({ maxDepth: 1 }, [], 'maxDepth'),
        unknownKey({ maxPathDepth: 1 }, [], 'maxPathDepth'),
        unknownKey({ allowBackwardLinks: true, ignoreSitemap: true }, [], 'allowBackwardLinks', 'ignoreSitemap'),
      ],
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases(
      [V1_CRAWL],
      [
        ...booleans('ignoreSitemap', 'allowBackwardLinks'),
        unknownKey({ prompt: 'blog', sitemap: 'skip' }, [], 'prompt', 'sitemap'),
        tooSmall({ maxDepth: -1 }, ['maxDepth'], 0),
        row({ url: `${UNKNOWN_HOST}a/b/c`, maxDepth: 2 }, ['url'], 'custom', {
          message: expect.stringContaining('maxDepth'),
        }),
        row({ url: `${UNKNOWN_HOST}${'a/'.repeat(11)}` }, ['url'], 'custom'),
      ],
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));
});

const BATCH_OPTIONS: Refused[] = [
  wrongType({ urls: null }, ['urls'], 'array', 'undefined'),
  wrongType({ urls: UNKNOWN_HOST }, ['urls'], 'array', 'string'),
  wrongType({ urls: [UNKNOWN_HOST, 5] }, ['urls', 1], 'string', 'number'),
  tooSmall({ urls: [] }, ['urls'], 1, true, 'array'),
  row({ urls: [UNKNOWN_HOST, 'nope'], ignoreInvalidURLs: false }, ['urls', 1], 'invalid_string', { validation: 'url' }),
  ...booleans('ignoreInvalidURLs'),
  tooSmall({ maxConcurrency: 0 }, ['maxConcurrency'], 1),
  row({ appendToId: 'xyz' }, ['appendToId'], 'invalid_string', { validation: 'uuid' }),
  unknownKey({ scrapeOptions: {} }, [], 'scrapeOptions'),
];

describe('batch bodies are refused', () => {
  it.each(cases([V2_BATCH, V1_BATCH], BATCH_OPTIONS))('%s', (_name, place, refused) => expectRefusal(place, refused));

  it('v1 is strict about addresses unless told otherwise', async () => {
    const urls = [UNKNOWN_HOST, 'nope'];
    expect(await post('/v1/batch/scrape', { urls })).toMatchObject({
      status: 400,
      body: { details: [{ path: ['urls', 1] }] },
    });
    const lenient = await post('/v1/batch/scrape', { urls, ignoreInvalidURLs: true });
    expect(lenient).toMatchObject({ status: 200, body: { invalidURLs: ['nope'] } });
    expect((await post('/v1/batch/scrape', { urls: [UNKNOWN_HOST] })).body).not.toHaveProperty('invalidURLs');
  });

  it.each(['v1', 'v2'])('%s names no index when nothing valid remains', async (version) => {
    const body = { urls: ['nope', 'file:///etc/passwd'], ignoreInvalidURLs: true };
    expect(await post(`/${version}/batch/scrape`, body)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
  });
});

const MAP_OPTIONS: Refused[] = [
  ...URLS,
  ...booleans('includeSubdomains', 'ignoreQueryParameters'),
  wrongType({ search: 5 }, ['search'], 'string', 'number'),
  tooSmall({ limit: 0 }, ['limit'], 1),
  tooBig({ limit: 100_001 }, ['limit'], 100_000),
  tooSmall({ timeout: 0 }, ['timeout'], 0, false),
  unknownKey({ formats: [] }, [], 'formats'),
];

describe('map bodies are refused', () => {
  it.each(cases([V2_MAP, V1_MAP], MAP_OPTIONS))('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases(
      [V2_MAP],
      [
        ...booleans('filterByPath', 'regexOnFullURL', 'allowSubdomains', 'allowExternalLinks', 'ignoreRobotsTxt'),
        ...booleans('crawlEntireDomain', 'deduplicateSimilarURLs'),
        row({ sitemap: 'no' }, ['sitemap'], 'invalid_enum_value'),
        row({ includePaths: ['('] }, ['includePaths', 0], 'custom'),
        wrongType({ headers: 'x' }, ['headers'], 'object', 'string'),
        wrongType({ location: 'x' }, ['location'], 'object', 'string'),
        unknownKey({ ignoreSitemap: true, sitemapOnly: true }, [], 'ignoreSitemap', 'sitemapOnly'),
      ],
    ),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));
  it.each(
    cases([V1_MAP], [...booleans('ignoreSitemap', 'sitemapOnly'), unknownKey({ sitemap: 'skip' }, [], 'sitemap')]),
  )('%s', (_name, place, refused) => expectRefusal(place, refused));
});

describe('what needs a language model is refused', () => {
  const EXTRACT_OPTIONS: Refused[] = [
    row({ prompt: null }, ['prompt'], 'custom', { message: 'Either prompt or schema is required' }),
    row({ prompt: null, urls: null, schema: {} }, ['prompt'], 'custom'),
    tooBig({ prompt: 'x'.repeat(10_001) }, ['prompt'], 10_000, 'string'),
    tooBig({ urls: Array<string>(101).fill(UNKNOWN_HOST) }, ['urls'], 100, 'array'),
    wrongType({ schema: [] }, ['schema'], 'object', 'array'),
    ...booleans('enableWebSearch', 'allowExternalLinks', 'ignoreSitemap', 'includeSubdomains', 'showSources'),
    ...booleans('ignoreInvalidURLs'),
    wrongType({ agent: 'x' }, ['agent'], 'object', 'string'),
    tooSmall({ limit: 0 }, ['limit'], 1),
    tooSmall({ timeout: 999 }, ['timeout'], 1000),
    unknownKey({ scrapeOptions: { nope: 1 } }, ['scrapeOptions'], 'nope'),
    unknownKey({ nope: 1 }, [], 'nope'),
  ];
  it.each(cases([V2_EXTRACT, V1_EXTRACT], EXTRACT_OPTIONS))('%s', (_name, place, refused) =>
    expectRefusal(place, refused),
  );

  it.each(['v1', 'v2'])('a valid extract of %s answers 501, its ids are unknown', async (version) => {
    const path = `/${version}/extract`;
    const body = { urls: [`${UNKNOWN_HOST}*`], prompt: 'x', schema: {}, agent: { model: 'FIRE-1' }, urlTrace: true };
    expect(await post(path, body)).toMatchObject({ status: 501, body: { success: false, code: 'NOT_SUPPORTED' } });
    for (const method of ['GET', 'DELETE']) {
      const unknown = await call(`${path}/00000000-0000-4000-8000-000000000000`, { method });
      expect({ status: unknown.status, body: unknown.body }).toEqual({
        status: 404,
        body: { success: false, error: 'Extract job not found' },
      });
      expect(await call(`${path}/xyz`, { method })).toMatchObject({ status: 400, body: { error: 'Invalid job ID' } });
    }
  });

  it('a preview of crawl options answers 400', async () => {
    const path = '/v2/crawl/params-preview';
    expect(await post(path, { url: UNKNOWN_HOST, prompt: 'blog', origin: 'js-sdk@4.42.0' })).toMatchObject({
      status: 400,
      body: { success: false, code: 'BAD_REQUEST', error: expect.stringContaining('language model') },
    });
    const { body } = await post(path, { prompt: '' });
    expect((body.details as Json[]).map(({ code, path: at }) => [code, at])).toEqual([
      ['invalid_type', ['url']],
      ['too_small', ['prompt']],
    ]);
  });
});

/** All that clients may send without effect, and every option at a legal value. */
const EFFECTLESS = {
  fastMode: true,
  useMock: 'x',
  redactPII: false,
  auditMetadata: { user: 'x' },
  domainTools: false,
  alexandria: false,
  toolDetail: 'full',
  lockdown: false,
  checkPromptInjection: false,
  onlyCleanContent: false,
  safeMode: false,
  useIndex: true,
  ignoreCache: true,
  urlTrace: true,
  enterprise: ['x'],
  __experimental_cache: true,
  __searchPreviewToken: 'x',
  origin: 'js-sdk@4.42.0',
  integration: 'n8n',
};
const LEGAL: Json = {
  formats: ['markdown', 'markdown', 'html', 'rawHtml', 'links'],
  onlyMainContent: false,
  includeTags: ['main', '.a', '#b'],
  excludeTags: ['*ad*', 'nav'],
  maxAge: 0,
  headers: { 'X-A': 'b' },
  waitFor: 0,
  mobile: false,
  skipTlsVerification: true,
  timeout: 5000,
  actions: [],
  location: { country: 'US', __note: 1 },
  removeBase64Images: false,
  blockAds: false,
  proxy: 'basic',
  storeInCache: false,
  revalidate: 'source',
  zeroDataRetention: false,
};
const V2_LEGAL: Json = {
  ...LEGAL,
  formats: ['markdown', { type: 'links', __note: 1 }, 'images'],
  parsers: [{ type: 'pdf', __x: 1 }],
};
const V1_LEGAL: Json = { ...LEGAL, parsePDF: true, geolocation: { country: 'us' } };
const nullsOf = (options: Json): Json => Object.fromEntries(Object.keys(options).map((key) => [key, null]));

async function expectAccepted({ path, wrap }: Place, options: Json): Promise<Json> {
  const { status, body } = await post(path, wrap(options));
  expect({ status, details: body.details }).toEqual({ status: 200, details: undefined });
  return body;
}

describe('bodies are accepted', () => {
  it.each(SCRAPE_PLACES.map((place): [string, Place] => [place.name, place]))('%s', async (_name, place) => {
    const legal = place.version === 'v1' ? V1_LEGAL : V2_LEGAL;
    for (const options of [legal, nullsOf({ ...legal, ...EFFECTLESS }), EFFECTLESS, { formats: [] }])
      await expectAccepted(place, options);
  });

  it.each([
    [V2_CRAWL, { prompt: '', sitemap: 'only', robotsUserAgent: 'x' }],
    [V1_CRAWL, { maxDepth: 0, ignoreSitemap: true, allowBackwardLinks: true }],
  ])('$name with every option', async (place, own: Json) => {
    const options = {
      includePaths: ['^/a'],
      excludePaths: [],
      regexOnFullURL: false,
      maxDiscoveryDepth: 0,
      ignoreQueryParameters: true,
      deduplicateSimilarURLs: true,
      limit: 1,
      crawlEntireDomain: false,
      allowExternalLinks: false,
      allowSubdomains: false,
      delay: 0.5,
      maxConcurrency: 100_000,
      ignoreRobotsTxt: false,
      zeroDataRetention: false,
      scrapeOptions: { zeroDataRetention: true, origin: 'x', integration: null },
    };
    await expectAccepted(place, { ...options, ...own, ...EFFECTLESS });
    await expectAccepted(place, nullsOf({ ...options, ...own }));
  });

  it.each([V2_CRAWL, V1_CRAWL, V2_BATCH, V1_BATCH])(
    '$name, with a warning about options that would be missed',
    async (place) => {
      const options: Json = { domainTools: true };
      const { warning } = await expectAccepted(place, options);
      for (const name of Object.keys(options)) expect(warning).toContain(name);
    },
  );

  it.each([
    [V1_CRAWL, { scrapeOptions: { agent: { model: 'FIRE-1', prompt: 'click' } } }],
    [V1_BATCH, { agent: { model: 'FIRE-1', sessionId: 's', waitBeforeClosingMs: 1 } }],
  ])('$name, with a warning about its agent', async (place, options) => {
    expect((await expectAccepted(place, options)).warning).toBe('The option agent has no effect.');
  });
});
