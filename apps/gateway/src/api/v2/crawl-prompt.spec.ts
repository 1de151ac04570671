import 'reflect-metadata';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { CrawlWishes } from '@troupe/contracts';
import { CompileThread } from '../../compile/compile-thread.js';
import { BodyCheck } from '../validation/body-check.js';
import { readBody } from '../validation/read-body.js';
import { CrawlDto } from './crawl.dto.js';
import { crawlSpecFromV2 } from './crawl.mapper.js';
import { checkedWishes, promptEcho, underBody } from './crawl-prompt.js';

const thread = new CompileThread();
const bodies = new BodyCheck(thread);
afterAll(() => thread.onApplicationShutdown());

const WISHES: CrawlWishes = { includePaths: ['^/blog/'], limit: 50, sitemap: 'skip' };
const bodyOf = (more: object) => readBody(CrawlDto, { url: 'https://example.com', prompt: 'blog', ...more }).body;

describe('options out of a sentence', () => {
  it('fill in what the body does not say', () => {
    const body = underBody(
      WISHES,
      bodyOf({ limit: 3, includePaths: null, sitemap: undefined, allowSubdomains: false }),
    );
    expect(body).toMatchObject({
      url: 'https://example.com',
      includePaths: ['^/blog/'],
      limit: 3,
      sitemap: 'skip',
      allowSubdomains: false,
    });
    expect(underBody({ allowSubdomains: true }, bodyOf({ allowSubdomains: false })).allowSubdomains).toBe(false);
  });

  it('are shown as understood and as they came to be', () => {
    const rules = {
      maxScrapeTimeoutMs: 1,
      changeTrackingDiffShape: 'auto' as const,
      allowIgnoreRobots: false,
      concurrency: 1,
    };
    const spec = crawlSpecFromV2(underBody(WISHES, bodyOf({ limit: 3 })), rules);
    const echo = promptEcho(WISHES, spec);
    expect(echo.promptGeneratedOptions).toEqual(WISHES);
    expect(echo.finalCrawlerOptions).toMatchObject({ includePaths: ['^/blog/'], limit: 3, sitemap: 'skip' });
    expect(echo.finalCrawlerOptions).not.toHaveProperty('scrapeOptions');
  });

  it.each([
    ['a pattern that does not compile', { excludePaths: ['('] }, 'excludePaths.0'],
    ['a number that is none', { limit: 2.5 }, 'limit'],
    ['a word that a crawl does not know', { maxPages: 5 }, 'maxPages'],
  ])('are refused with %s', async (_, wishes: object, path) => {
    await expect(checkedWishes(bodies, { url: 'https://example.com', wishes })).rejects.toThrow(path);
    await expect(checkedWishes(bodies, { url: 'https://example.com', wishes })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
  });
});
