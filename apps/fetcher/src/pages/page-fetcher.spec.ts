import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  plainScrape,
  TroupeError,
  type ConvertRequest,
  type ConvertResult,
  type EngineName,
  type PageVerdict,
} from '@troupe/contracts';
import { DownloadError } from '../http/engine-errors.js';
import { Ladder } from './ladder.js';
import type { EngineRequest, EngineResponse } from '../http/engine.js';
import { packDocument } from '@troupe/packing';
import { MemoryCache, CACHED_SPEC } from '../cache/memory-cache.fixture.js';
import { NeedsBrowserError, PageFetcher, type PageRequest } from './page-fetcher.js';
import { BusyAnswerError, TransportError } from '../slots/transport-error.js';

const URL_A = 'http://site.test/a';

/** Engines and a converter that answer from a script. */
class Workshop {
  readonly asked: EngineName[] = [];
  readonly requests: EngineRequest[] = [];
  readonly converted: ConvertRequest[] = [];
  answers: Partial<Record<EngineName, Partial<EngineResponse> | Error>> = {};
  verdicts: Partial<Record<EngineName, PageVerdict>> = {};
  refresh: Record<string, string> = {};
  markdown = 'text';

  fetcher(hasBrowser = true): PageFetcher {
    const engines = { http: this.engine('http'), got: this.engine('got'), browser: this.engine('browser') };
    return new PageFetcher(engines, new Ladder({ hasBrowser }), {
      convert: (request) => Promise.resolve(this.convert(request)),
    });
  }

  private engine(engine: EngineName) {
    return {
      fetch: async (request: EngineRequest): Promise<EngineResponse> => {
        this.asked.push(engine);
        this.requests.push(request);
        const answer = this.answers[engine] ?? {};
        if (answer instanceof Error) throw answer;
        return {
          statusCode: 200,
          statusText: '',
          headers: { 'x-engine': engine },
          body: Buffer.from(engine),
          finalUrl: request.url,
          redirects: [],
          contentType: 'text/html',
          retryAfterMs: null,
          ms: 3,
          rendered: engine === 'browser',
          engine,
          proxyUsed: 'basic',
          captured: null,
          timezone: null,
          ...answer,
        };
      },
    };
  }

  private convert(request: ConvertRequest): ConvertResult {
    this.converted.push(request);
    const engine = this.asked.at(-1) ?? 'http';
    const json = Buffer.from(JSON.stringify({ markdown: this.markdown, metadata: request.metadata }));
    return {
      verdict: this.verdicts[engine] ?? 'content',
      document: request.encoding === 'packed' ? packDocument(json) : json,
      documentBytes: json.byteLength,
      title: null,
      outlinks: [],
      excluded: { byRule: {}, sample: [] },
      refreshUrl: this.refresh[request.url] ?? null,
      canonicalUrl: null,
      numPages: null,
      isDocument: false,
    };
  }
}

function browserRequest(): PageRequest {
  return requestOf({ spec: { ...requestOf().spec, engine: 'browser' } });
}

function requestOf(more: Partial<PageRequest> = {}): PageRequest {
  return {
    url: URL_A,
    spec: plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 1000 }),
    budgetMs: 1000,
    signal: new AbortController().signal,
    onHop: () => Promise.resolve(),
    onAnswer: () => undefined,
    onClimb: () => Promise.resolve(),
    keepsBusyAnswers: false,
    discover: () => null,
    metadata: { sourceURL: 'a' },
    encoding: 'packed',
    reportsShells: false,
    handsOver: false,
    cache: null,
    team: '00000000-0000-4000-8000-000000000001',
    contextKey: null,
    ...more,
  };
}

describe('a page', () => {
  let shop: Workshop;
  beforeEach(() => {
    shop = new Workshop();
  });

  it('that the first engine can read costs one request', async () => {
    const page = await shop.fetcher().fetch(requestOf());
    expect(shop.asked).toEqual(['http']);
    expect(page).toMatchObject({ statusCode: 200, engine: 'http', finalUrl: URL_A, fetchMs: 3, busy: null });
  });

  it('that scripts must fill goes to the browser', async () => {
    shop.verdicts = { http: 'shell' };
    expect(await shop.fetcher().fetch(requestOf())).toMatchObject({ engine: 'browser' });
    expect(shop.asked).toEqual(['http', 'browser']);
  });

  it('that is a file to the browser comes plainly, once', async () => {
    shop.answers = { browser: new DownloadError(URL_A) };
    shop.verdicts = { http: 'shell' };
    const { spec } = requestOf();
    const request = requestOf({ spec: { ...spec, engine: 'browser' } });
    expect(await shop.fetcher().fetch(request)).toMatchObject({ engine: 'http' });
    expect(shop.asked).toEqual(['browser', 'http']);
  });

  it('asks before it is fetched once more', async () => {
    shop.verdicts = { http: 'shell' };
    let climbs = 0;
    await shop.fetcher().fetch(requestOf({ onClimb: async () => void climbs++ }));
    expect(climbs).toBe(1);
  });

  it('behind a bot wall is tried by every engine and then is blocked', async () => {
    const wall = { statusCode: 403, body: Buffer.from('Just a moment... captcha') };
    shop.answers = { http: wall, got: wall, browser: wall };
    shop.verdicts = { http: 'challenge', got: 'challenge', browser: 'challenge' };
    await expect(shop.fetcher().fetch(requestOf())).rejects.toMatchObject({ code: 'SCRAPE_BLOCKED' });
    expect(shop.asked).toEqual(['http', 'got', 'browser']);
  });

  it('that shows nothing after every engine is empty, unless it is an error page', async () => {
    shop.verdicts = { http: 'empty', browser: 'empty' };
    await expect(shop.fetcher().fetch(requestOf())).rejects.toMatchObject({ code: 'SCRAPE_EMPTY' });
    shop.answers = { http: { statusCode: 404 }, browser: { statusCode: 404 } };
    expect(await shop.fetcher().fetch(requestOf())).toMatchObject({ statusCode: 404 });
  });

  it('that shows nothing but is on a picture, or was acted on, is a page', async () => {
    const nothing = { screenshots: [], scrapes: [], javascriptReturns: [], pdfs: [] };
    for (const captured of [{ screenshot: 'data:' }, { actions: nothing }]) {
      shop.answers.browser = { captured };
      shop.verdicts = { browser: 'empty' };
      const page = await shop.fetcher().fetch(browserRequest());
      expect(page).toMatchObject({ statusCode: 200, engine: 'browser' });
    }
  });

  it('that was acted on is where its actions have led, though it would refresh to another', async () => {
    shop.answers.browser = {
      captured: { actions: { screenshots: [], scrapes: [], javascriptReturns: [], pdfs: [] } },
    };
    shop.refresh = { [URL_A]: 'http://site.test/b' };
    expect(await shop.fetcher().fetch(browserRequest())).toMatchObject({ finalUrl: URL_A });
  });

  it('that needs a browser where none is, is kept when it can be read', async () => {
    shop.verdicts = { http: 'shell' };
    expect(await shop.fetcher(false).fetch(requestOf())).toMatchObject({ engine: 'http' });
    shop.markdown = ' ';
    await expect(shop.fetcher(false).fetch(requestOf())).rejects.toMatchObject({
      code: 'SCRAPE_EMPTY',
      message: expect.stringContaining('browser'),
    });
  });

  it('that needs a browser elsewhere says so, and can still be kept', async () => {
    shop.verdicts = { http: 'shell' };
    const error: unknown = await shop
      .fetcher(false)
      .fetch(requestOf({ reportsShells: true }))
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NeedsBrowserError);
    expect(await (error as NeedsBrowserError).keep()).toMatchObject({ engine: 'http' });
  });

  it('goes to who has a browser from where the ladder ends here: shells, walls, blank pages and broken connections', async () => {
    const wall = { statusCode: 403, body: Buffer.from('Just a moment... captcha') };
    const cut = new TroupeError('SCRAPE_SITE_ERROR', 'cut', { details: { reason: 'ECONNRESET' } });
    const ends = [
      { verdicts: { http: 'shell' }, answers: {}, asked: ['http'] },
      { verdicts: { http: 'empty' }, answers: {}, asked: ['http'] },
      { verdicts: { http: 'challenge', got: 'challenge' }, answers: { http: wall, got: wall }, asked: ['http', 'got'] },
      { verdicts: {}, answers: { http: cut, got: cut }, asked: ['http', 'got'] },
    ] as const;
    for (const { verdicts, answers, asked } of ends) {
      Object.assign(shop, { verdicts, answers, asked: [] });
      await expect(shop.fetcher(false).fetch(requestOf({ handsOver: true }))).rejects.toBeInstanceOf(NeedsBrowserError);
      expect(shop.asked).toEqual(asked);
    }
  });

  it('that a browser elsewhere could not take after all is what it would have been without one', async () => {
    const wall = { statusCode: 403, body: Buffer.from('Just a moment... captcha') };
    shop.answers = { http: wall, got: wall };
    shop.verdicts = { http: 'challenge', got: 'challenge' };
    const error: unknown = await shop
      .fetcher(false)
      .fetch(requestOf({ handsOver: true }))
      .catch((reason: unknown) => reason);
    await expect((error as NeedsBrowserError).keep()).rejects.toMatchObject({ code: 'SCRAPE_BLOCKED' });
  });

  it('that no fetcher takes over is kept as its shell when it can be read, and else says that there is no browser', async () => {
    shop.verdicts = { http: 'shell' };
    const handedOver = async () => {
      const request = requestOf({ handsOver: true, reportsShells: true });
      const error: unknown = await shop
        .fetcher(false)
        .fetch(request)
        .catch((reason: unknown) => reason);
      return (error as NeedsBrowserError).keep();
    };
    expect(await handedOver()).toMatchObject({ engine: 'http' });
    shop.markdown = ' ';
    await expect(handedOver()).rejects.toMatchObject({
      code: 'SCRAPE_EMPTY',
      message: expect.stringContaining('no browser is available'),
    });
  });

  it('that can be read here is not handed over', async () => {
    expect(await shop.fetcher(false).fetch(requestOf({ handsOver: true }))).toMatchObject({ engine: 'http' });
  });

  it('keeps the answer of a lower engine when a higher one gets none', async () => {
    shop.verdicts = { http: 'shell' };
    shop.answers = { browser: new TroupeError('SCRAPE_TIMEOUT', 'late', { retryable: true }) };
    expect(await shop.fetcher().fetch(requestOf())).toMatchObject({ engine: 'http' });
  });

  it.each([429, 503])('of a host that answers %i is not asked for again by another engine', async (statusCode) => {
    shop.answers = { http: { statusCode, retryAfterMs: 5000 } };
    await expect(shop.fetcher().fetch(requestOf())).rejects.toEqual(new BusyAnswerError(URL_A, statusCode, 5000));
    expect(await shop.fetcher().fetch(requestOf({ keepsBusyAnswers: true }))).toMatchObject({
      statusCode,
      busy: { retryMs: 5000 },
    });
    expect(shop.asked).toEqual(['http', 'http']);
  });

  it('that got no answer tells whether the host is to blame', async () => {
    shop.answers = { http: new TroupeError('SCRAPE_SITE_ERROR', 'refused', { retryable: true }) };
    const refused: unknown = await shop
      .fetcher()
      .fetch(requestOf())
      .catch((reason: unknown) => reason);
    expect(refused).toBeInstanceOf(TransportError);
    expect(refused).toMatchObject({ code: 'SCRAPE_SITE_ERROR', trouble: 'refused', retryable: true });
    shop.answers = { http: new TroupeError('SCRAPE_DNS_RESOLUTION_ERROR', 'unknown host') };
    await expect(shop.fetcher().fetch(requestOf())).rejects.toMatchObject({
      code: 'SCRAPE_DNS_RESOLUTION_ERROR',
      trouble: null,
    });
  });

  it('passes on unchanged why a redirect was refused', async () => {
    const refusal = new TroupeError('SCRAPE_SITE_ERROR', 'no', { retryable: true });
    const fetcher = new PageFetcher(
      {
        http: {
          fetch: async ({ onRedirect }: EngineRequest) =>
            onRedirect('http://x.test/').then(() => Promise.reject(new Error())),
        },
      } as never,
      new Ladder({ hasBrowser: false }),
      { convert: () => Promise.reject(new Error()) },
    );
    await expect(fetcher.fetch(requestOf({ onHop: () => Promise.reject(refusal) }))).rejects.toBe(refusal);
  });

  it('that refreshes to another is followed like a redirect', async () => {
    const hops: string[] = [];
    shop.refresh = { [URL_A]: 'http://site.test/b' };
    const page = await shop.fetcher().fetch(requestOf({ onHop: async (target) => void hops.push(target) }));
    expect(page.finalUrl).toBe('http://site.test/b');
    expect(hops).toEqual(['http://site.test/b']);
  });

  it('that refreshes itself is a page, and a circle of refreshes an error', async () => {
    shop.refresh = { [URL_A]: `${URL_A}#top` };
    expect(await shop.fetcher().fetch(requestOf())).toMatchObject({ finalUrl: URL_A });
    shop.refresh = { [URL_A]: 'http://site.test/b', 'http://site.test/b': URL_A };
    await expect(shop.fetcher().fetch(requestOf())).rejects.toMatchObject({ code: 'SCRAPE_TOO_MANY_REDIRECTS' });
  });

  it('hands the converter the reserved metadata, and the reason of an error status', async () => {
    shop.answers = { http: { statusCode: 404, statusText: 'Not Found' } };
    await shop.fetcher().fetch(requestOf());
    expect(shop.converted[0]?.metadata).toEqual({
      sourceURL: 'a',
      url: URL_A,
      statusCode: 404,
      contentType: 'text/html',
      error: 'Not Found',
      proxyUsed: 'basic',
      creditsUsed: 1,
    });
  });

  it('looks for no links on an error page', async () => {
    const discover: PageRequest['discover'] = () => ({ scope: {} as never, depth: 1, maxLinks: 1, obeyNofollow: true });
    await shop.fetcher().fetch(requestOf({ discover }));
    shop.answers = { http: { statusCode: 500 } };
    await shop.fetcher().fetch(requestOf({ discover }));
    expect(shop.converted.map((request) => request.discover === null)).toEqual([false, true]);
  });
});

describe('a page with a cache', () => {
  let shop: Workshop;
  let memory: MemoryCache;
  const spec = { ...CACHED_SPEC, cache: { ...CACHED_SPEC.cache, maxAgeMs: 1 } };

  beforeEach(() => {
    shop = new Workshop();
    memory = new MemoryCache();
  });

  async function fetchCached(more: Partial<PageRequest> = {}) {
    const cached = await memory.cache.lookUp('team', [URL_A], spec);
    return shop.fetcher().fetch(requestOf({ spec, cache: cached.use(URL_A), ...more }));
  }

  it('is kept with the bytes of its answer', async () => {
    await fetchCached();
    expect(memory.kept.map(({ url, body }) => [url, Buffer.from(body).toString()])).toEqual([[URL_A, 'http']]);
  });

  it('is kept under its own URL when it sends its readers on', async () => {
    shop.refresh = { [URL_A]: 'http://site.test/b' };
    await fetchCached();
    expect(memory.kept.map(({ url, meta }) => [url, meta.finalUrl])).toEqual([[URL_A, 'http://site.test/b']]);
  });

  it.each<[string, Partial<Workshop>]>([
    ['an error page', { answers: { http: { statusCode: 404 } } }],
    ['a shell without its scripts', { verdicts: { http: 'shell', browser: 'shell' } }],
  ])('is not kept when it is %s', async (_, script) => {
    Object.assign(shop, script);
    await fetchCached();
    expect(memory.kept).toEqual([]);
  });

  it('is converted from the cache when its site says that it still holds', async () => {
    memory.put('team', URL_A, { body: 'from the cache', ageMs: 10, meta: { etag: '"1"' } });
    shop.answers = { http: { statusCode: 304, body: Buffer.alloc(0) } };
    const page = await fetchCached();
    expect(shop.requests[0]?.headers).toEqual({ 'if-none-match': '"1"' });
    expect(page).toMatchObject({ statusCode: 200, fetchMs: 3, revalidated: true });
    expect(shop.converted.map(({ body }) => Buffer.from(body).toString())).toEqual(['from the cache']);
    expect(memory.renewed).toHaveLength(1);
    expect(memory.kept).toEqual([]);
  });

  it('is asked for again, without conditions and in its turn, when the body is gone', async () => {
    memory.put('team', URL_A, { body: null, ageMs: 10, meta: { lastModified: 'Sun, 22 Nov 2026 10:00:00 GMT' } });
    let turns = 0;
    shop.answers = { http: { statusCode: 304 } };
    const onClimb = async () => {
      turns++;
      shop.answers = {};
    };
    await fetchCached({ onClimb });
    expect(shop.requests.map(({ headers }) => headers)).toEqual([
      { 'if-modified-since': 'Sun, 22 Nov 2026 10:00:00 GMT' },
      {},
    ]);
    expect(turns).toBe(1);
    expect(memory.kept).toHaveLength(1);
  });

  it('is asked for once more when its site says, unasked, that it has not changed; not when its caller had asked', async () => {
    shop.answers = { http: { statusCode: 304, body: Buffer.alloc(0) } };
    const onClimb = async () => void (shop.answers = {});
    expect(await fetchCached({ onClimb })).toMatchObject({ statusCode: 200 });
    expect(shop.asked).toEqual(['http', 'http']);
    shop.answers = { http: { statusCode: 304, body: Buffer.alloc(0) } };
    const own = requestOf({ spec: { ...spec, headers: { 'If-None-Match': '"7"' } } });
    expect(await shop.fetcher().fetch(own)).toMatchObject({ statusCode: 304 });
    expect(shop.asked).toHaveLength(3);
  });

  describe('that scripts have made', () => {
    const rendering = {
      body: 'made by scripts',
      ageMs: 10,
      meta: { etag: '"1"', rendered: true, engine: 'browser' },
    } as const;
    const bySource = { ...spec, engine: 'browser' as const, cache: { ...spec.cache, revalidate: 'source' as const } };
    const fetchRendering = async (wanted = bySource, more: Partial<PageRequest> = {}) => {
      memory.put('team', URL_A, rendering, wanted);
      const cached = await memory.cache.lookUp('team', [URL_A], wanted);
      return shop.fetcher().fetch(requestOf({ spec: wanted, cache: cached.use(URL_A), ...more }));
    };

    it('is what it was when its source has not changed and the caller trusts that: no browser is needed', async () => {
      shop.answers = { http: { statusCode: 304, body: Buffer.alloc(0) } };
      expect(await fetchRendering()).toMatchObject({ engine: 'browser', statusCode: 200, revalidated: true });
      expect(shop.asked).toEqual(['http']);
      expect(shop.converted.map(({ body }) => Buffer.from(body).toString())).toEqual(['made by scripts']);
      expect(memory.renewed).toHaveLength(1);
    });

    it('is made again, in its turn, when its source has changed', async () => {
      let turns = 0;
      const page = await fetchRendering(bySource, { onClimb: async () => void turns++ });
      expect({ asked: shop.asked, turns }).toEqual({ asked: ['http', 'browser'], turns: 1 });
      expect(page.revalidated).toBeUndefined();
    });

    it('is made again without a question when the caller does not say so', async () => {
      const { cache } = spec;
      await fetchRendering({ ...bySource, cache } as typeof bySource);
      expect(shop.asked).toEqual(['browser']);
    });

    it('is not asked for once more when the host asks for less', async () => {
      shop.answers = { http: { statusCode: 429 } };
      await expect(fetchRendering()).rejects.toBeInstanceOf(BusyAnswerError);
      expect(shop.asked).toEqual(['http']);
    });
  });

  it('is converted as it was, with what the cache says of it', async () => {
    memory.put('team', URL_A, { body: 'kept', ageMs: 0 });
    const cached = await memory.cache.lookUp('team', [URL_A], spec);
    const remembered = (await cached.recall(URL_A))!;
    const page = await shop.fetcher().recall(remembered, requestOf({ spec }));
    expect(page).toMatchObject({ statusCode: 200, finalUrl: URL_A, busy: null, fetchMs: 0 });
    expect(shop.converted[0]?.metadata).toMatchObject({ sourceURL: 'a', cacheState: 'hit', url: URL_A });
    expect(shop.asked).toEqual([]);
    shop.verdicts = { http: 'empty' };
    expect(await shop.fetcher().recall((await cached.recall(URL_A))!, requestOf({ spec }))).toBeNull();
  });
});

describe('what the browser would save as a file', () => {
  const asked = (workshop: Workshop, more: Partial<PageRequest> = {}) => {
    const { spec } = requestOf();
    return workshop.fetcher().fetch(requestOf({ spec: { ...spec, waitForMs: 100 }, ...more }));
  };

  it('is fetched by the plain client, after asking whether it may', async () => {
    const workshop = new Workshop();
    workshop.answers = { browser: new DownloadError(URL_A) };
    let climbs = 0;
    const page = await asked(workshop, { onClimb: () => Promise.resolve(void climbs++) });
    expect(workshop.asked).toEqual(['browser', 'http']);
    expect({ engine: page.engine, climbs }).toEqual({ engine: 'http', climbs: 1 });
  });

  it('does not go back to the browser for what it shows there', async () => {
    const workshop = new Workshop();
    workshop.answers = { browser: new DownloadError(URL_A) };
    workshop.verdicts = { http: 'shell' };
    await asked(workshop);
    expect(workshop.asked).toEqual(['browser', 'http']);
  });

  it('fails as the plain client fails', async () => {
    const workshop = new Workshop();
    const failure = new TroupeError('SCRAPE_BODY_TOO_LARGE', 'too large');
    workshop.answers = { browser: new DownloadError(URL_A), http: failure };
    await expect(asked(workshop)).rejects.toMatchObject({ code: 'SCRAPE_BODY_TOO_LARGE' });
  });

  it('leaves the answer that a plain client gave before', async () => {
    const workshop = new Workshop();
    workshop.answers = { browser: new DownloadError(URL_A) };
    workshop.verdicts = { http: 'shell' };
    const page = await workshop.fetcher().fetch(requestOf());
    expect(workshop.asked).toEqual(['http', 'browser']);
    expect(page.engine).toBe('http');
  });
});
