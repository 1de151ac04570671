/** Scrape, batch, crawl and map on a small site of our own. A cluster that is named must allow loopback targets. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSite, type Site } from '@troupe/testing';
import { api, call, post, useGateway } from './api.js';

useGateway();

const PAGES = 12;
const JOB_PATHS = ['/v2/crawl', '/v2/batch/scrape', '/v1/crawl', '/v1/batch/scrape'];
/** Each version's way to say it. */
const NO_SITEMAP = { v1: { ignoreSitemap: true }, v2: { sitemap: 'skip' } };
const VERSIONS = ['v1', 'v2'] as const;

let site: Site;
let origin = '';

/** `/deep/…` is a tree for depth, `/hidden` stands in the sitemap only. */
const DEEP = ['/deep/a', '/deep/a/b', '/deep/a/b/index.html', '/deep/a/b/c', '/outside'];

function page(title: string, hrefs: string[]): string {
  const links = hrefs.map((href) => `<a href="${href}">to ${href}</a>`).join(' ');
  return `<html><head><title>${title}</title></head><body><main><h1>${title}</h1><p>Text of ${title}.</p>${links}</main></body></html>`;
}

const NUMBERED = Array.from({ length: PAGES }, (_, n) => `/p/${n}`);
const LINKS: Record<string, string[]> = {
  '/': NUMBERED,
  ...Object.fromEntries(NUMBERED.map((path) => [path, NUMBERED])),
  '/deep/': DEEP,
  ...Object.fromEntries([...DEEP, '/hidden'].map((path) => [path, []])),
};

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url ?? '';
    const links = LINKS[path];
    if (path === '/sitemap.xml')
      return void response
        .writeHead(200, { 'content-type': 'application/xml' })
        .end(
          `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${origin}/hidden</loc></url></urlset>`,
        );
    if (links === undefined) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
    response.writeHead(200, { 'content-type': 'text/html' }).end(page(`page ${path}`, links));
  });
  origin = site.origin;
});
afterAll(() => site.close());

interface Document {
  markdown?: string;
  metadata: { sourceURL: string; statusCode: number; scrapeId: string };
}

interface Status {
  success: boolean;
  status: string;
  total: number;
  completed: number;
  creditsUsed: number;
  expiresAt: string;
  next?: string;
  data: Document[];
}

const finished = (path: string) => api().finished<Status>(path);
const statusOf = async (path: string) => (await call(path)).body as unknown as Status;
const sourcesOf = (documents: Document[]) => documents.map(({ metadata }) => metadata.sourceURL);
const pathsOf = (documents: Document[]) => sourcesOf(documents).map((url) => url.slice(origin.length));

async function start(path: string, body: object): Promise<string> {
  const started = await post(path, body);
  expect(started).toMatchObject({ status: 200, body: { success: true, id: expect.any(String) } });
  expect(started.body.url).toBe(`${api().url}${path}/${started.body.id as string}`);
  return started.body.id as string;
}

async function firstPage(path: string): Promise<Status> {
  for (let tries = 0; tries < 100; tries++) {
    const status = await statusOf(path);
    if (status.data.length > 0) return status;
    await sleep(100);
  }
  throw new Error(`${path} has no page`);
}

describe.each(VERSIONS)('through %s', (version) => {
  const noSitemap = NO_SITEMAP[version];

  it('a scrape answers with the page and can be asked for again by its id', async () => {
    const { status, body } = await post(`/${version}/scrape`, { url: `${origin}/p/3`, formats: ['markdown', 'links'] });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(['data', 'success']);
    const data = body.data as Document;
    expect(Object.keys(data).sort()).toEqual(['links', 'markdown', 'metadata']);
    expect(data.markdown).toContain('Text of page /p/3.');
    expect(data.metadata).toMatchObject({
      sourceURL: `${origin}/p/3`,
      url: `${origin}/p/3`,
      statusCode: 200,
      proxyUsed: 'basic',
      creditsUsed: 1,
      concurrencyLimited: false,
    });
    await sleep(500);
    for (const asked of VERSIONS)
      expect((await call(`/${asked}/scrape/${data.metadata.scrapeId}`)).body).toEqual({ success: true, data });
  });

  it('an address may lack its scheme, and is shown as it was written', async () => {
    const url = `${origin.slice('http://'.length)}/p/1`;
    const { body } = await post(`/${version}/scrape`, { url });
    expect((body.data as Document).metadata).toMatchObject({ sourceURL: url, url: `${origin}/p/1` });
  });

  it('a scrape for the website has an id, one with an effectless option a warning', async () => {
    const options = { url: `${origin}/p/1`, origin: 'website-replay', domainTools: true };
    const { body } = await post(`/${version}/scrape`, options);
    const { metadata } = body.data as Document;
    expect(body).toMatchObject({
      success: true,
      scrape_id: metadata.scrapeId,
      warning: expect.stringContaining('domainTools'),
    });
  });

  it('a scrape of no format has metadata only', async () => {
    const { body } = await post(`/${version}/scrape`, { url: `${origin}/p/1`, formats: [] });
    expect(Object.keys(body.data as object)).toEqual(['metadata']);
  });

  it('a crawl finds every page once, and pages of three give the same set', async () => {
    const path = `/${version}/crawl/${await start(`/${version}/crawl`, { url: origin, ...noSitemap })}`;
    const whole = await finished(path);
    expect(whole).toMatchObject({
      success: true,
      status: 'completed',
      total: PAGES + 1,
      completed: PAGES + 1,
      creditsUsed: PAGES + 1,
    });
    expect(new Date(whole.expiresAt).toISOString()).toBe(whole.expiresAt);
    expect(whole).not.toHaveProperty('next');
    expect(whole).not.toHaveProperty('error');
    const paged: string[] = [];
    let next: string | undefined = `${path}?limit=3`;
    while (next) {
      const part = await statusOf(next);
      expect(part.data.length).toBeLessThanOrEqual(3);
      paged.push(...sourcesOf(part.data));
      next = part.next;
      if (next) expect(next).toBe(`${api().url}${path}?skip=${paged.length}&limit=3`);
    }
    expect(paged).toEqual(sourcesOf(whole.data));
    expect(new Set(paged).size).toBe(PAGES + 1);
    const beyond = await statusOf(`${path}?skip=1000`);
    expect(beyond).toMatchObject({ status: 'completed', data: [] });
    expect(beyond).not.toHaveProperty('next');
  });

  it('a finished job cannot be cancelled, its pages can be asked for by their ids', async () => {
    const id = await start(`/${version}/crawl`, { url: origin, limit: 1 });
    const { data } = await finished(`/${version}/crawl/${id}`);
    for (const path of JOB_PATHS) {
      const cancel = await call(`${path}/${id}`, { method: 'DELETE' });
      expect(cancel.status).toBe(409);
      expect(cancel.body).toEqual({ success: false, error: 'Job already finished' });
    }
    expect((await call(`/${version}/scrape/${data[0]!.metadata.scrapeId}`)).body).toEqual({
      success: true,
      data: data[0],
    });
  });

  it('a cancelled crawl says so, however often it is cancelled', async () => {
    const id = await start(`/${version}/crawl`, { url: origin, delay: 5 });
    for (const path of JOB_PATHS) {
      const cancel = await call(`${path}/${id}`, { method: 'DELETE', headers: { 'content-type': 'application/json' } });
      expect({ status: cancel.status, body: cancel.body }).toEqual({
        status: 200,
        body: { success: true, status: 'cancelled' },
      });
    }
    expect((await finished(`/${version}/crawl/${id}`)).status).toBe('cancelled');
  });

  it('a batch scrapes repeated URLs once per occurrence, and its total never changes', async () => {
    const urls = [`${origin}/p/1`, 'nope', `${origin}/p/1`, `${origin}/missing`];
    const { body } = await post(`/${version}/batch/scrape`, { urls, ignoreInvalidURLs: true });
    expect(body).toMatchObject({ success: true, invalidURLs: ['nope'] });
    const path = `/${version}/batch/scrape/${body.id as string}`;
    const totals = new Set([(await statusOf(path)).total]);
    const status = await finished(path);
    totals.add(status.total);
    expect([...totals]).toEqual([3]);
    expect(status).toMatchObject({ status: 'completed', completed: 3, creditsUsed: 3 });
    expect(sourcesOf(status.data).sort()).toEqual([`${origin}/missing`, urls[0], urls[0]]);
    expect(await call(`${path}/errors`)).toMatchObject({ body: { errors: [], robotsBlocked: [] } });
  });

  it.each(['crawl', 'batch/scrape'])('an idempotency key works once for %s', async (kind) => {
    const path = `/${version}/${kind}`;
    const bodyOf = (url: string) => (kind === 'crawl' ? { url, limit: 1 } : { urls: [url] });
    const headers = { 'x-idempotency-key': `contract-${version}-${kind}-${Date.now()}` };
    expect((await post(path, bodyOf('nope'), headers)).status).toBe(400);
    expect((await post(path, bodyOf(`${origin}/p/1`), headers)).status).toBe(200);
    expect(await post(path, bodyOf(`${origin}/p/1`), headers)).toMatchObject({
      status: 409,
      body: { success: false, error: 'Idempotency key already used' },
    });
  });

  it('a status request that is up to date is held, and answered with the same cursor', async () => {
    const path = `/${version}/crawl/${await start(`/${version}/crawl`, { url: origin, delay: 20 })}`;
    const { next } = await firstPage(path);
    const startedMs = performance.now();
    const held = await statusOf(next!);
    expect(performance.now() - startedMs).toBeGreaterThan(1500);
    expect(held).toMatchObject({ status: 'scraping', data: [], next });
    await call(path, { method: 'DELETE' });
  });

  it('the sitemap is read unless it is skipped', async () => {
    const crawled = async (options: object) => {
      const id = await start(`/${version}/crawl`, { url: `${origin}/deep/a`, crawlEntireDomain: true, ...options });
      return pathsOf((await finished(`/${version}/crawl/${id}`)).data).sort();
    };
    expect(await crawled({})).toEqual(['/deep/a', '/hidden']);
    expect(await crawled(noSitemap)).toEqual(['/deep/a']);
  });
});

describe('between the versions', () => {
  it.each(JOB_PATHS)(
    'a job started at %s is read and cancelled anywhere, and next stays on the path of the request',
    async (at) => {
      const isCrawl = at.endsWith('crawl');
      const body = isCrawl ? { url: origin, delay: 20 } : { urls: [`${origin}/p/1`, `${origin}/slow`] };
      const id = await start(at, body);
      await firstPage(`${at}/${id}`);
      for (const path of JOB_PATHS) {
        const status = await statusOf(`${path}/${id}?limit=1`);
        if (isCrawl || status.next) expect(status.next).toBe(`${api().url}${path}/${id}?skip=1&limit=1`);
        const errors = await call(`${path}/${id}/errors`);
        expect(errors).toMatchObject({ status: 200, body: { errors: [], robotsBlocked: [] } });
      }
      await call(`${at}/${id}`, { method: 'DELETE' });
      const texts = await Promise.all(JOB_PATHS.map(async (path) => (await call(`${path}/${id}`)).text));
      expect(new Set(texts).size).toBe(1);
    },
  );

  it.each(['/v1/crawl', '/v1/batch/scrape'])(
    'DELETE %s/{id}/errors lists the errors and cancels nothing',
    async (path) => {
      const id = await start('/v1/crawl', { url: origin, delay: 20 });
      const { status, body } = await call(`${path}/${id}/errors`, { method: 'DELETE' });
      expect(status).toBe(200);
      expect(body).toMatchObject({ errors: [], robotsBlocked: [] });
      await sleep(300);
      expect((await statusOf(`/v1/crawl/${id}`)).status).toBe('scraping');
      await call(`/v1/crawl/${id}`, { method: 'DELETE' });
    },
  );

  it('v2 has no DELETE of errors', async () => {
    const id = await start('/v2/crawl', { url: origin, limit: 1 });
    expect((await call(`/v2/crawl/${id}/errors`, { method: 'DELETE' })).status).toBe(404);
  });
});

interface Active {
  crawls: { id: string; teamId: string; url: string; created_at: string; options: Record<string, unknown> }[];
}

const SAME_DEFAULTS = {
  includePaths: [],
  excludePaths: [],
  regexOnFullURL: false,
  ignoreQueryParameters: false,
  deduplicateSimilarURLs: true,
  limit: 10_000,
  crawlEntireDomain: false,
  allowExternalLinks: false,
  allowSubdomains: false,
  delay: 20,
  ignoreRobotsTxt: false,
};
const SAME_SCRAPE_DEFAULTS = {
  formats: ['markdown'],
  onlyMainContent: true,
  includeTags: [],
  excludeTags: [],
  headers: {},
  waitFor: 0,
  timeout: 30_000,
  removeBase64Images: true,
};

describe('the list of active crawls', () => {
  it.each(['active', 'ongoing'])('under /%s shows every default in the words of its version', async (name) => {
    const v1 = await start('/v1/crawl', { url: origin, delay: 20 });
    const v2 = await start('/v2/crawl', { url: origin, delay: 20 });
    const batch = await start('/v2/batch/scrape', { urls: [`${origin}/p/1`] });
    const list = async (version: string) =>
      ((await call(`/${version}/crawl/${name}`)).body as unknown as Active).crawls;
    const [inV1, inV2] = [await list('v1'), await list('v2')];
    expect(inV1.map(({ id }) => id).slice(0, 2)).toEqual([v2, v1]);
    expect(inV2.map(({ id }) => id)).not.toContain(batch);
    const optionsOf = (crawls: Active['crawls'], id: string) => crawls.find((crawl) => crawl.id === id)!.options;
    expect(optionsOf(inV2, v2)).toMatchObject({
      ...SAME_DEFAULTS,
      sitemap: 'include',
      scrapeOptions: { ...SAME_SCRAPE_DEFAULTS, skipTlsVerification: true },
    });
    expect(optionsOf(inV1, v1)).toMatchObject({
      ...SAME_DEFAULTS,
      maxDepth: 10,
      ignoreSitemap: false,
      allowBackwardLinks: false,
      scrapeOptions: { ...SAME_SCRAPE_DEFAULTS, skipTlsVerification: false },
    });
    expect(optionsOf(inV1, v1)).not.toHaveProperty('sitemap');
    expect(optionsOf(inV2, v1)).not.toHaveProperty('maxDepth');
    expect(optionsOf(inV1, v2)).not.toHaveProperty('maxDepth');
    const [first] = inV1;
    expect(first).toMatchObject({ teamId: expect.any(String), url: origin });
    expect(new Date(first!.created_at).toISOString()).toBe(first!.created_at);
    for (const id of [v1, v2]) await call(`/v1/crawl/${id}`, { method: 'DELETE' });
    expect((await list('v1')).map(({ id }) => id)).not.toContain(v1);
  });
});

describe('a crawl in the old words', () => {
  const crawled = async (body: object) =>
    pathsOf((await finished(`/v1/crawl/${await start('/v1/crawl', { ...body, ignoreSitemap: true })}`)).data).sort();

  it('goes no deeper than maxDepth path segments; index files do not count', async () => {
    const url = `${origin}/deep/`;
    expect(await crawled({ url, maxDepth: 2 })).toEqual(['/deep/', '/deep/a']);
    expect(await crawled({ url, maxDepth: 3 })).toEqual(['/deep/', '/deep/a', '/deep/a/b']);
    expect(await crawled({ url })).toEqual(['/deep/', '/deep/a', '/deep/a/b', '/deep/a/b/c']);
  });

  it('leaves the path of its start with allowBackwardLinks, unless crawlEntireDomain says otherwise', async () => {
    const url = `${origin}/deep/`;
    expect(await crawled({ url, allowBackwardLinks: true, maxDepth: 1 })).toEqual(['/deep/', '/outside']);
    expect(await crawled({ url, allowBackwardLinks: true, crawlEntireDomain: false, maxDepth: 1 })).toEqual(['/deep/']);
  });
});

describe('a map', () => {
  it('lists links as objects in v2 and as addresses in v1', async () => {
    const v2 = await post('/v2/map', { url: origin });
    expect(v2).toMatchObject({ status: 200, body: { success: true, id: expect.any(String) } });
    const links = v2.body.links as { url: string }[];
    expect(links.map(({ url }) => url)).toEqual(expect.arrayContaining([`${origin}/p/1`, `${origin}/hidden`]));
    const v1 = await post('/v1/map', { url: origin });
    expect(v1.status).toBe(200);
    expect(v1.body).toEqual({ success: true, links: expect.arrayContaining([`${origin}/p/1`, `${origin}/hidden`]) });
    expect((v1.body.links as unknown[]).every((link) => typeof link === 'string')).toBe(true);
  });

  it('of v1 skips the sitemap, or reads nothing else, and tells the website its id', async () => {
    const links = async (options: object) =>
      (await post('/v1/map', { url: origin, ...options })).body.links as string[];
    expect(await links({ ignoreSitemap: true })).not.toContain(`${origin}/hidden`);
    const only = await links({ sitemapOnly: true });
    expect(only).toContain(`${origin}/hidden`);
    expect(only).not.toContain(`${origin}/p/1`);
    expect(await links({ limit: 1 })).toHaveLength(1);
    expect((await post('/v1/map', { url: origin, origin: 'website' })).body.scrape_id).toEqual(expect.any(String));
  });

  it.each(VERSIONS)('of %s keeps what is searched for', async (version) => {
    const { body } = await post(`/${version}/map`, { url: origin, search: 'p/11' });
    expect(JSON.stringify(body.links)).toContain(`${origin}/p/11`);
    expect(JSON.stringify(body.links)).not.toContain(`${origin}/p/2`);
  });
});
