import { describe, expect, it } from '@jest/globals';
import { rateGroupOf } from './rate-group.js';

describe('rateGroupOf', () => {
  it.each([
    ['POST', '/v2/scrape', 'scrape'],
    ['POST', '/v1/batch/scrape', 'scrape'],
    ['POST', '/V2/Scrape/', 'scrape'],
    ['POST', '/v1/crawl', 'crawl'],
    ['POST', '/v2/crawl/params-preview', 'crawl'],
    ['POST', '/v2/crawl/explain', 'crawl'],
    ['POST', '/v2/crawl/5/pause', 'crawlStatus'],
    ['GET', '/v2/crawl/5', 'crawlStatus'],
    ['GET', '/v1/crawl/active', 'crawlStatus'],
    ['DELETE', '/v1/batch/scrape/5/errors', 'crawlStatus'],
    ['GET', '/v2/scrape/5', 'crawlStatus'],
    ['GET', '/v1/concurrency-check', 'crawlStatus'],
    ['POST', '/v2/map', 'map'],
    ['POST', '/v1/search', 'search'],
    ['POST', '/v2/agent', 'extract'],
    ['DELETE', '/v2/extract/5', 'extractStatus'],
    ['GET', '/v2/team/credit-usage/historical', 'account'],
    ['GET', '/v2/monitor', null],
    ['GET', '/', null],
  ])('%s %s counts as %s', (method, path, group) => {
    expect(rateGroupOf(method, path)).toBe(group);
  });
});
