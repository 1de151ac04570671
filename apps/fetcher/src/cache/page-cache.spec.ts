import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ScrapeSpec } from '@troupe/contracts';
import type { EngineResponse } from '../http/engine.js';
import { cacheKeyOf } from './cached-page.js';
import { CACHED_SPEC, MemoryCache } from './memory-cache.fixture.js';

const URL_A = 'http://site.test/a';
const URL_B = 'http://site.test/b';
const TEAM = 'team';

const specOf = (cache: Partial<ScrapeSpec['cache']>): ScrapeSpec => ({
  ...CACHED_SPEC,
  cache: { ...CACHED_SPEC.cache, ...cache },
});

function responseOf(more: Partial<EngineResponse> = {}): EngineResponse {
  return {
    statusCode: 200,
    statusText: '',
    headers: { etag: '"1"', 'x-robots-tag': 'nofollow' },
    body: Buffer.from('body'),
    finalUrl: URL_B,
    redirects: [],
    contentType: 'text/html',
    retryAfterMs: null,
    ms: 3,
    rendered: false,
    engine: 'http',
    proxyUsed: 'basic',
    captured: null,
    timezone: null,
    ...more,
  };
}

describe('the page cache', () => {
  let memory: MemoryCache;
  const lookUp = (spec: ScrapeSpec, urls = [URL_A]) => memory.cache.lookUp(TEAM, urls, spec);

  beforeEach(() => {
    memory = new MemoryCache();
    memory.put(TEAM, URL_A, { body: 'text', ageMs: 5_000, meta: { etag: '"1"', finalUrl: URL_B } });
  });

  it('gives back the answer as it was', async () => {
    const view = await lookUp(specOf({}));
    const remembered = await view.recall(URL_A);
    expect(Buffer.from(remembered!.response.body).toString()).toBe('text');
    expect(remembered!.response).toMatchObject({ statusCode: 200, finalUrl: URL_B, ms: 0 });
    expect(remembered!.metadata).toEqual({ cacheState: 'hit', cachedAt: new Date(1_000_000).toISOString() });
  });

  it.each([
    [{ maxAgeMs: 5_000 }, false],
    [{ maxAgeMs: 5_001 }, true],
    [{ minAgeMs: 5_000 }, true],
    [{ minAgeMs: 5_001 }, false],
  ])('for %j holds a page of 5 s: %s', async (cache, isHeld) => {
    expect((await lookUp(specOf(cache))).holds(URL_A)).toBe(isHeld);
  });

  it('is not asked when no age is good enough', async () => {
    const view = await lookUp(specOf({ maxAgeMs: 0 }));
    expect(memory.questions).toEqual([]);
    expect(view.metadata).toEqual({});
    expect(await view.recall(URL_A)).toBeNull();
  });

  it('asks once for all pages of a lane', async () => {
    const view = await lookUp(specOf({}), [URL_A, URL_B]);
    expect(memory.questions).toHaveLength(1);
    expect([view.holds(URL_A), view.holds(URL_B)]).toEqual([true, false]);
    expect(view.metadata).toEqual({ cacheState: 'miss' });
  });

  it('asks together what was asked while an answer was on its way', async () => {
    await Promise.all([lookUp(specOf({})), lookUp(specOf({}), [URL_B]), lookUp(specOf({}), [URL_B])]);
    expect(memory.questions.map((keys) => keys.length)).toEqual([1, 2]);
  });

  it('keeps teams and kinds of requests apart', async () => {
    expect((await memory.cache.lookUp('other', [URL_A], specOf({}))).holds(URL_A)).toBe(false);
    expect((await lookUp({ ...specOf({}), waitForMs: 100 })).holds(URL_A)).toBe(false);
    expect((await lookUp({ ...specOf({}), engine: 'browser' })).holds(URL_A)).toBe(false);
    expect((await lookUp({ ...specOf({}), skipTlsVerification: false })).holds(URL_A)).toBe(false);
    expect((await lookUp({ ...specOf({}), onlyMainContent: true, formats: [] })).holds(URL_A)).toBe(true);
  });

  it('is as good as empty while the index does not answer, and is left alone for a while', async () => {
    memory.isAway = true;
    const view = await lookUp(specOf({}));
    expect(view.metadata).toEqual({});
    expect(await view.recall(URL_A)).toBeNull();
    await lookUp(specOf({}));
    expect(memory.questions).toHaveLength(1);
    expect(memory.warnings).toHaveLength(1);
  });

  it('does not hold a page whose body is gone', async () => {
    memory.put(TEAM, URL_B, { body: null, ageMs: 1 });
    expect(await (await lookUp(specOf({}), [URL_B])).recall(URL_B)).toBeNull();
  });

  it('forbids the fetch of a page that may only come from it', async () => {
    const missed = await lookUp(specOf({ minAgeMs: 1 }), [URL_B]);
    expect(() => missed.checkMayFetch(URL_B)).toThrow(expect.objectContaining({ code: 'SCRAPE_NO_CACHED_DATA' }));
    memory.isAway = true;
    const unknown = await lookUp(specOf({ minAgeMs: 1 }), [URL_B]);
    expect(() => unknown.checkMayFetch(URL_B)).toThrow(expect.objectContaining({ httpStatus: 503, retryable: true }));
    expect(() => (missed.checkMayFetch.bind(missed), undefined)).not.toThrow();
  });

  describe('for a page that is fetched', () => {
    it('asks its site about the entry, and serves it when it still holds', async () => {
      const use = (await lookUp(specOf({ maxAgeMs: 1 }))).use(URL_A);
      expect(use.conditions).toEqual({ 'if-none-match': '"1"' });
      expect(await use.confirm('http://site.test/elsewhere')).toBeNull();
      expect(memory.renewed).toEqual([]);
      const confirmed = await use.confirm(URL_B);
      expect(Buffer.from(confirmed!.body).toString()).toBe('text');
      expect(memory.renewed).toMatchObject([{ team: TEAM }]);
      expect(use.copy(confirmed!)).toBeNull();
    });

    it('asks nothing about the work of scripts', async () => {
      memory.put(TEAM, URL_A, { body: 'text', ageMs: 5_000, meta: { etag: '"1"', rendered: true } });
      expect((await lookUp(specOf({ maxAgeMs: 1 }))).use(URL_A).conditions).toBeNull();
    });

    it('keeps a good answer under the URL that was asked for', async () => {
      const use = (await lookUp(specOf({}))).use(URL_A);
      const response = responseOf();
      const copy = use.copy(response)!;
      response.body.fill(0);
      use.keep(response, copy);
      expect(memory.kept).toMatchObject([
        {
          key: cacheKeyOf(TEAM, URL_A, CACHED_SPEC),
          url: URL_A,
          meta: { finalUrl: URL_B, etag: '"1"', robotsTag: 'nofollow' },
        },
      ]);
      expect(Buffer.from(memory.kept[0]!.body).toString()).toBe('body');
    });

    it('asks nothing about what is older than a week', async () => {
      memory.put(TEAM, URL_A, { body: 'text', ageMs: 7 * 24 * 3_600_000 + 1, meta: { etag: '"1"' } });
      expect((await lookUp(specOf({ maxAgeMs: 1 }))).use(URL_A).conditions).toBeNull();
    });

    it('hands the page to those who wait for it, and says when it is stored', async () => {
      const told: string[] = [];
      const sharing = {
        land: ({ finalUrl }: { finalUrl: string }, body: Uint8Array) =>
          void told.push(`${finalUrl} ${Buffer.from(body).toString()}`),
        stored: () => void told.push('stored'),
      };
      const use = (await lookUp(specOf({}))).use(URL_A, sharing);
      const response = responseOf();
      use.keep(response, use.copy(response)!);
      expect(told).toEqual([`${URL_B} body`, 'stored']);
      const again = (await lookUp(specOf({ maxAgeMs: 1 }))).use(URL_A, sharing);
      const confirmed = (await again.confirm(URL_B))!;
      expect(memory.renewed).toEqual([]);
      again.keep(confirmed, again.copy(confirmed)!);
      expect(told.slice(2)).toEqual([`${URL_B} text`, 'stored']);
      expect(memory.renewed).toHaveLength(1);
    });

    it.each<[string, Partial<EngineResponse>, boolean]>([
      ['no-store', { headers: { 'cache-control': 'private, No-Store' } }, false],
      ['private', { headers: { 'cache-control': 'private="set-cookie", max-age=0' } }, true],
      ['that differs by anything', { headers: { vary: 'accept, *' } }, false],
      ['that differs by headers that we send by ourselves', { headers: { vary: 'User-Agent, Accept-Language' } }, true],
      ['that differs by cookies, and got none', { headers: { vary: 'Cookie' } }, true],
      [
        'that differs by cookies, and may have got some on the way',
        { headers: { vary: 'Cookie' }, redirects: [URL_B] },
        false,
      ],
      ['that differs by cookies, which a browser may have', { headers: { vary: 'Cookie' }, rendered: true }, false],
    ])('of a page %s', async (_, response, isKept) => {
      const copy = (await lookUp(specOf({}))).use(URL_A).copy(responseOf(response));
      expect(copy !== null).toBe(isKept);
    });

    it('never keeps what was made for its caller, whatever its spec says', async () => {
      for (const personal of [{ headers: { cookie: 'a=b' } }, { zeroRetention: true }] as const)
        expect((await lookUp({ ...specOf({}), ...personal })).use(URL_A).copy(responseOf())).toBeNull();
    });

    it.each<[string, Partial<EngineResponse>, Partial<ScrapeSpec['cache']>, boolean]>([
      ['an error page', { statusCode: 404 }, {}, true],
      ['a body of many megabytes', { body: new Uint8Array(5 * 1024 * 1024 + 1) }, {}, true],
      ['what shall not be stored', {}, { store: false }, true],
      ['what there is no room for', {}, {}, false],
    ])('does not keep %s', async (_, response, cache, hasRoom) => {
      memory.hasRoom = hasRoom;
      expect((await lookUp(specOf(cache))).use(URL_A).copy(responseOf(response))).toBeNull();
    });
  });
});
