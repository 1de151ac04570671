import { describe, expect, it } from '@jest/globals';
import { plainScrape, type AnySpec, type JobKind } from '@troupe/contracts';
import { refuseTooLarge } from './spec-limits.js';

const scrape = plainScrape({ formats: [], timeoutMs: 1_000, headers: { a: 'x'.repeat(20_000) } });
const page = plainScrape({ formats: [], timeoutMs: 1_000 });

describe('wishes that are too large', () => {
  it.each<[JobKind | 'scrape', object, (string | number)[]]>([
    ['crawl', { scrape, webhook: null }, ['scrapeOptions', 'headers']],
    ['batch', { scrape, webhook: null }, ['headers']],
    ['scrape', scrape, ['headers']],
    ['crawl', { scrape: page, scope: { includePaths: Array(1_001).fill('a'), excludePaths: [] } }, ['includePaths']],
    ['agent', { scrape: page, schema: { a: 'x'.repeat(300_000) } }, ['schema']],
    ['extract', { scrape: page, urls: Array(600).fill('x'.repeat(1_000)) }, []],
  ])('of a %s are refused with their place in the body', (kind, spec, path) => {
    let thrown: unknown;
    try {
      refuseTooLarge(kind, spec as AnySpec);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'BAD_REQUEST', httpStatus: 400, details: [{ path }] });
    expect((thrown as Error).message).toMatch(/\d+.*at most \d+ are allowed/);
  });
});
