/** docs/api/map.md, docs/api/search.md and the description of the interface, row by row. Nothing in here fetches a page. */
import { describe, expect, it } from '@jest/globals';
import { call, post, useGateway } from './api.js';

useGateway();

const MAP = { url: 'https://x.example' };
const issuesOf = (body: Record<string, unknown>) => body.details as { code: string; path: unknown[] }[];

describe('POST /v2/map', () => {
  it.each([
    [{}, 'invalid_type', ['url']],
    [{ ...MAP, url: 'nope' }, 'invalid_string', ['url']],
    [{ ...MAP, limit: 0 }, 'too_small', ['limit']],
    [{ ...MAP, limit: 100_001 }, 'too_big', ['limit']],
    [{ ...MAP, limit: 1.5 }, 'invalid_type', ['limit']],
    [{ ...MAP, sitemap: 'yes' }, 'invalid_enum_value', ['sitemap']],
    [{ ...MAP, includeSubdomains: 'true' }, 'invalid_type', ['includeSubdomains']],
    [{ ...MAP, ignoreQueryParameters: 1 }, 'invalid_type', ['ignoreQueryParameters']],
    [{ ...MAP, filterByPath: 'no' }, 'invalid_type', ['filterByPath']],
    [{ ...MAP, search: 5 }, 'invalid_type', ['search']],
    [{ ...MAP, timeout: 0 }, 'too_small', ['timeout']],
    [{ ...MAP, headers: { a: 1 } }, 'invalid_type', ['headers', 'a']],
    [{ ...MAP, location: { country: 'xyz' } }, 'custom', ['location', 'country']],
    [{ ...MAP, includePaths: ['('] }, 'custom', ['includePaths', 0]],
    [{ ...MAP, nope: 1 }, 'unrecognized_keys', []],
  ])('%j answers 400 with %s at %j', async (body, code, path) => {
    const answer = await post('/v2/map', body);
    expect(answer).toMatchObject({ status: 400, body: { success: false, code: 'BAD_REQUEST' } });
    expect(issuesOf(answer.body)[0]).toMatchObject({ code, path });
  });

  it('a private address answers 403', async () => {
    expect(await post('/v2/map', { url: 'http://10.0.0.1/' })).toMatchObject({
      status: 403,
      body: { code: 'SCRAPE_TARGET_FORBIDDEN' },
    });
  });

  it('what crawls know and maps ignore is accepted', async () => {
    const ignored = {
      allowSubdomains: false,
      ignoreRobotsTxt: true,
      maxDiscoveryDepth: 3,
      crawlEntireDomain: true,
      deduplicateSimilarURLs: true,
      delay: 1,
      origin: 'js-sdk@4.42.0',
      integration: null,
    };
    expect((await post('/v2/map', { url: 'http://10.0.0.1/', ...ignored })).status).toBe(403);
  });

  it('a host that does not exist answers 500 MAP_FAILED, a site that is too slow 408 MAP_TIMEOUT', async () => {
    expect(await post('/v2/map', { url: 'http://no-such-host.invalid/' })).toMatchObject({
      status: 500,
      body: { success: false, code: 'MAP_FAILED' },
    });
    expect(await post('/v2/map', { url: 'http://no-such-host.invalid/', timeout: 1 })).toMatchObject({
      status: 408,
      body: { success: false, code: 'MAP_TIMEOUT' },
    });
  });
});

describe('searches without a provider', () => {
  it.each(['/v2/search', '/v1/search'])('POST %s answers 501 whatever the body, to those with a key', async (path) => {
    for (const body of [{}, { query: 'x' }]) {
      expect(await post(path, body)).toMatchObject({ status: 501, body: { success: false, code: 'NOT_SUPPORTED' } });
    }
    expect((await call(path, { raw: '{}', headers: { authorization: '' } })).status).toBe(401);
  });
});

describe('the description of the interface', () => {
  const bare = { headers: { authorization: '' } };

  it('is at /openapi.json for anybody', async () => {
    const { status, headers, body } = await call('/openapi.json', bare);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('application/json');
    expect(body).toMatchObject({ openapi: '3.1.0', paths: { '/v2/scrape': { post: expect.anything() } } });
  });

  it('has a page to try calls, made of our own files only', async () => {
    const page = await call('/docs', bare);
    expect(page.status).toBe(200);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
    expect(files).toHaveLength(3);
    for (const file of files) {
      expect(file).not.toMatch(/^(https?:)?\/\//);
      expect((await call(new URL(file, 'http://x/docs').pathname, bare)).status).toBe(200);
    }
    expect(page.text).toContain("url: '/openapi.json'");
    expect(page.text).toContain("validatorUrl: 'none'");
  });
});
