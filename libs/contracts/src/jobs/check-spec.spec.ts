import { describe, expect, it } from '@jest/globals';
import { checkSpec, patternsBreach, SPEC_LIMITS } from './check-spec.js';
import type { CrawlSpec } from './crawl-spec.js';
import type { AgentSpec } from './extract-spec.js';
import { plainScrape, type ScrapeSpec } from './scrape-spec.js';

const scrape = (more: Partial<ScrapeSpec> = {}) => plainScrape({ formats: [], timeoutMs: 1_000, ...more });
const script = (length: number) => ({ type: 'executeJavascript', script: 'x'.repeat(length) }) as const;
const crawl = (scope: object, more: object = {}) =>
  ({
    scope: { includePaths: [], excludePaths: [], ...scope },
    scrape: scrape(),
    webhook: null,
    ...more,
  }) as unknown as CrawlSpec;
const facts = (schema: object) => ({ type: 'json', prompt: null, schema, selectors: null, learn: false }) as never;

describe('checkSpec', () => {
  it.each([
    ['patterns', crawl({ includePaths: Array(1_001).fill('a') }), ['scope', 'includePaths'], 1_001],
    ['long patterns', crawl({ excludePaths: Array(150).fill('é'.repeat(800)) }), ['scope', 'excludePaths'], 240_000],
    ['headers', crawl({}, { scrape: scrape({ headers: { a: 'x'.repeat(16_384) } }) }), ['scrape', 'headers'], 16_385],
    [
      'headers of a webhook',
      crawl({}, { webhook: { headers: { ab: 'x'.repeat(20_000) } } }),
      ['webhook', 'headers'],
      20_002,
    ],
    ['scripts', scrape({ actions: [script(100_000), script(100_000), script(100_000)] }), ['actions'], 300_000],
    [
      'a schema of a format',
      scrape({ formats: [{ type: 'html' }, facts({ a: 'x'.repeat(204_800) })] }),
      ['formats', 1, 'schema'],
      204_808,
    ],
    ['a schema', { schema: { a: 'x'.repeat(204_800) }, scrape: scrape() } as unknown as AgentSpec, ['schema'], 204_808],
  ])('names the place and the number of %s', (_, spec, path, found) => {
    const breach = checkSpec(spec);
    expect(breach).toMatchObject({ path, found });
    expect(breach!.message).toContain(`${found}`);
    expect(breach!.message).toContain(`at most ${breach!.most} are allowed`);
  });

  it('counts the bytes of the whole', () => {
    const ballast = { prompt: 'x'.repeat(SPEC_LIMITS.bytes) };
    const breach = checkSpec(crawl({}, ballast));
    expect(breach).toMatchObject({ path: [], most: 524_288 });
    const size = Buffer.byteLength(JSON.stringify(crawl({}, ballast)));
    expect(breach!.found).toBe(size);
    expect(checkSpec(crawl({}, { prompt: 'x'.repeat(2 * SPEC_LIMITS.bytes - size) }))).toBeNull();
  });

  it('takes what is just within each limit', () => {
    const scope = { includePaths: Array(1_000).fill('a'.repeat(200)) as string[] };
    const most = scrape({ headers: { a: 'x'.repeat(16_383) }, actions: [script(131_072), script(131_072)] });
    expect(checkSpec(crawl(scope, { scrape: most }))).toBeNull();
  });

  it('takes a job of an older version, which lacks some fields', () => {
    expect(checkSpec({ scrape: { headers: {} } } as never)).toBeNull();
  });
});

describe('patternsBreach', () => {
  it('is none for an empty list', () => expect(patternsBreach([])).toBeNull());
});
