import { describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import type { MapLink, MapSpec, ScrapeSpec } from '@troupe/contracts';
import { parseRobots } from '@troupe/politeness';
import type { EngineResponse } from '../http/engine.js';
import type { FetchedPage } from '../pages/page-fetcher.js';
import { SitemapFinder } from './sitemap-finder.js';
import { SiteMapper } from './site-mapper.js';

const ORIGIN = 'http://site.test';
/** Processor time of all threads together: garbage collectors work beside the turn. */
const LONG_TURN_MS = 50;
const MAX_LONG_TURNS = 5;
const MAX_COLLECTION_MS = 250;

/** Turns of the event loop that took long, by the processor time of this process: a busy machine does not count. */
function watchTurns(): { longMs: number[]; stop(): void } {
  const longMs: number[] = [];
  let before = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    if ((user + system) / 1000 > LONG_TURN_MS) longMs.push((user + system) / 1000);
    before = process.cpuUsage();
  }, 1);
  return { longMs, stop: () => clearInterval(timer) };
}

const SPEC: MapSpec = {
  url: `${ORIGIN}/`,
  search: null,
  limit: 100,
  sitemap: 'include',
  includeSubdomains: true,
  ignoreQueryParameters: true,
  allowExternalLinks: false,
  includePaths: [],
  excludePaths: [],
  regexOnFullUrl: false,
  filterByPath: true,
  headers: {},
  location: null,
  timeoutMs: 20_000,
};

interface FakePage {
  title?: string;
  description?: string;
  head?: string;
  links?: string[];
  finalUrl?: string;
}

interface FakeSite {
  robots?: string;
  files?: Record<string, string | Buffer>;
  pages?: Record<string, FakePage>;
  /** Paths that the cache knows. */
  known?: string[];
}

/** A mapper on a site of this test; `asked` is what was fetched beside robots.txt, in order. */
function fixture({ robots = '', files = {}, pages = {}, known = [] }: FakeSite) {
  const asked: string[] = [];
  const file = parseRobots(robots);
  const rules = {
    describe: () => Promise.resolve({ file, isAnswer: true, retryMs: null, status: 200, error: null }),
    rulesFor: () => Promise.resolve(file),
  };
  const get = async (request: { url: string; robots: { agent: string } | null }): Promise<EngineResponse> => {
    if (request.robots !== null && !file.isAllowed(request.url, request.robots.agent)) throw new Error('refused');
    asked.push(request.url.replace(ORIGIN, ''));
    const body = files[request.url.replace(ORIGIN, '')];
    await new Promise((resolve) => setImmediate(resolve));
    return { statusCode: body === undefined ? 404 : 200, body: Buffer.from(body ?? 'no') } as unknown as EngineResponse;
  };
  const locations: unknown[] = [];
  const fetch = async ({ url, spec }: { url: string; spec: ScrapeSpec }): Promise<FetchedPage> => {
    const path = url.replace(ORIGIN, '');
    locations.push(spec.location);
    asked.push(path);
    await new Promise((resolve) => setImmediate(resolve));
    const page = pages[path];
    if (page === undefined) throw new Error(`no page ${path}`);
    return pageOf(page.finalUrl ?? url, page);
  };
  const mapper = new SiteMapper({
    single: { fetch },
    sitemaps: new SitemapFinder({ get }, rules, 'Troupe'),
    known: { of: () => Promise.resolve(known.map((path) => new URL(path, ORIGIN).href)) },
    robotsAgent: 'Troupe',
    config: { hostGapMs: 0 },
  });
  return { mapper, asked, locations };
}

function pageOf(url: string, { title, description, head = '', links = [] }: FakePage): FetchedPage {
  const document = { rawHtml: `<html><head>${head}</head></html>`, metadata: { title, description } };
  return {
    statusCode: 200,
    finalUrl: url,
    document: Buffer.from(JSON.stringify(document)),
    title: title ?? null,
    outlinks: links.map((link) => ({ url: new URL(link, url).href, h: '' })),
  } as unknown as FetchedPage;
}

const urlset = (paths: string[]) =>
  `<urlset>${paths.map((path) => `<url><loc>${new URL(path, ORIGIN).href}</loc></url>`).join('')}</urlset>`;

async function map(site: FakeSite, more: Partial<MapSpec> = {}) {
  const { mapper, asked, locations } = fixture(site);
  const spec: MapSpec = { ...SPEC, ...more };
  const { head, body } = await mapper.answer(
    { id: 'm', team: 't', spec, deadlineMs: spec.timeoutMs },
    new AbortController().signal,
  );
  const lines = Buffer.from(body ?? []).toString('utf8');
  const links = lines
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as MapLink);
  return { head, links, asked, locations, paths: links.map(({ url }) => url.replace(ORIGIN, '')) };
}

describe('a map', () => {
  it('leaves out what is no absolute address in a sitemap, and says how many', async () => {
    const loc = (text: string) => `<url><loc>${text}</loc></url>`;
    const file = `<urlset>${['/relative', 'page.html', '//site.test/x', `${ORIGIN}/absolute`].map(loc).join('')}</urlset>`;
    const files = { '/sitemap.xml': file };
    const { head, paths } = await map({ files, pages: { '/': {} } });
    expect(paths).toEqual(['/', '/absolute']);
    expect(head).toEqual({ ok: true, warning: expect.stringMatching(/absolute.*: 3\.$/) });
    expect((await map({ pages: { '/': {} } })).head).toEqual({ ok: true });
  });

  it('lists the start first, then what sitemaps, indexes and packed files name, then its links', async () => {
    const { paths } = await map({
      robots: `Sitemap: ${ORIGIN}/index.xml`,
      files: {
        '/index.xml': `<sitemapindex><sitemap><loc>${ORIGIN}/one.xml.gz</loc></sitemap></sitemapindex>`,
        '/one.xml.gz': gzipSync(urlset(['/packed'])),
        '/sitemap.xml': urlset(['/guessed', '/']),
      },
      pages: { '/': { links: ['/linked', 'http://elsewhere.test/'] }, '/guessed': {}, '/packed': {}, '/linked': {} },
    });
    expect(paths[0]).toBe('/');
    expect(paths.sort()).toEqual(['/', '/guessed', '/linked', '/packed']);
  });

  it('lists what is known from earlier, as far as it belongs to the map', async () => {
    const known = ['/orphan', 'http://elsewhere.test/', '/'];
    const pages = { '/': { links: ['/linked'] }, '/linked': {} };
    expect((await map({ known, pages })).paths).toEqual(['/', '/linked', '/orphan']);
    const { paths } = await map({ known, files: { '/sitemap.xml': urlset(['/a']) } }, { sitemap: 'only' });
    expect(paths).toEqual(['/', '/a']);
  });

  it('carries title and description of the pages that were read', async () => {
    const { links } = await map({ pages: { '/': { title: 'Home', description: 'All of it', links: ['/a'] } } });
    expect(links).toEqual([{ url: `${ORIGIN}/`, title: 'Home', description: 'All of it' }, { url: `${ORIGIN}/a` }]);
  });

  it('finds articles by the titles that a feed gives them', async () => {
    const item = (path: string, title: string) => `<item><title>${title}</title><link>${ORIGIN}${path}</link></item>`;
    const site = {
      files: { '/feed': `<rss>${item('/p/1', 'Of sails')}${item('/p/2', 'Of ropes')}</rss>` },
      pages: { '/': {} },
    };
    expect((await map(site, { search: 'ropes' })).links).toEqual([{ url: `${ORIGIN}/p/2`, title: 'Of ropes' }]);
  });

  it('asks for its pages from where it is told to', async () => {
    const location = { country: 'DE', languages: ['de'] };
    const { locations } = await map({ pages: { '/': { links: ['/a'] }, '/a': {} } }, { location });
    expect(locations).toEqual(locations.map(() => location));
    expect(locations.length).toBeGreaterThan(0);
  });

  it('reads the feeds that the start page announces, and looks in the usual places when it announces none', async () => {
    const rss = `<rss><channel><item><link>${ORIGIN}/article</link></item></channel></rss>`;
    const head = '<link rel="alternate" type="application/rss+xml" href="/blog/feed.rss">';
    expect((await map({ files: { '/blog/feed.rss': rss }, pages: { '/': { head } } })).paths).toEqual([
      '/',
      '/article',
    ]);
    const guessed = await map({ files: { '/atom.xml': rss.replaceAll('rss', 'feed') }, pages: { '/': {} } });
    expect(guessed.paths).toContain('/article');
    expect(guessed.asked).not.toContain('/feed.xml');
  });

  it('walks at most twenty pages, and none when enough is known or the sitemap alone was asked for', async () => {
    const pages = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [n === 0 ? '/' : `/p${n}`, { links: [`/p${n + 1}`] }]),
    );
    expect((await map({ pages })).asked.filter((path) => path === '/' || path.startsWith('/p'))).toHaveLength(21);
    const known = await map({ pages, files: { '/sitemap.xml': urlset(['/a', '/b', '/c']) } }, { limit: 3 });
    expect(known.asked).toEqual(expect.not.arrayContaining(['/p1', '/feed']));
    expect((await map({ pages }, { sitemap: 'only' })).asked).toEqual(['/sitemap.xml']);
  });

  it('leaves alone what robots.txt forbids, except the sitemaps that it names', async () => {
    const robots = `User-agent: *\nDisallow: /hidden/\nDisallow: /sitemap.xml\nSitemap: ${ORIGIN}/hidden/map.xml`;
    const files = { '/hidden/map.xml': urlset(['/named']), '/sitemap.xml': urlset(['/forbidden']) };
    expect((await map({ robots, files, pages: { '/': {} } })).paths).toEqual(['/', '/named']);
  });

  it('follows a start page that redirects to another place and reads the sitemaps there', async () => {
    const files = {
      '/sitemap.xml': urlset(['/old']),
      'http://new.test/sitemap.xml': urlset(['http://new.test/found']),
    };
    const { links } = await map({ files, pages: { '/': { finalUrl: 'http://new.test/home' } } });
    expect(links.map(({ url }) => url)).toEqual(['http://new.test/home', 'http://new.test/found']);
  });

  it('searches all that was collected, not only the first of it', async () => {
    const paths = [...Array.from({ length: 3000 }, (_, n) => `/p/${n}`), '/guide/install'];
    const { paths: found } = await map(
      { files: { '/sitemap.xml': urlset(paths) }, pages: { '/': {} } },
      { search: 'install', limit: 5 },
    );
    expect(found).toEqual(['/guide/install']);
  });

  it('fails when neither the start page nor a sitemap can be had, and when its time is over', async () => {
    expect((await map({})).head).toMatchObject({ ok: false, error: { code: 'MAP_FAILED', httpStatus: 500 } });
    expect((await map({ files: { '/sitemap.xml': urlset(['/a']) } })).paths).toEqual(['/', '/a']);
    expect((await map({ pages: { '/': {} } }, { timeoutMs: 1 })).head).toMatchObject({
      ok: false,
      error: { code: 'MAP_TIMEOUT', httpStatus: 408 },
    });
  });

  it.each([null, 'page'])(
    'lists 100,000 links of an index of packed sitemaps without holding up the process (search: %s)',
    async (search) => {
      const files: Record<string, string | Buffer> = { '/sitemap.xml': '' };
      const names = Array.from({ length: 10 }, (_, n) => `/part-${n}.xml.gz`);
      for (const [part, name] of names.entries()) {
        files[name] = gzipSync(urlset(Array.from({ length: 10_000 }, (_, n) => `/section/page-${part * 10_000 + n}`)));
      }
      files['/sitemap.xml'] =
        `<sitemapindex>${names.map((name) => `<sitemap><loc>${ORIGIN}${name}</loc></sitemap>`).join('')}</sitemapindex>`;
      const { mapper } = fixture({ files, pages: { '/': {} } });
      const turns = watchTurns();
      const startedMs = performance.now();
      const spec = { ...SPEC, limit: 100_000, search };
      const { head, body } = await mapper.answer(
        { id: 'm', team: 't', spec, deadlineMs: 60_000 },
        new AbortController().signal,
      );
      const ms = performance.now() - startedMs;
      turns.stop();
      expect(head).toEqual({ ok: true });
      expect(Buffer.from(body!).toString('utf8').split('\n')).toHaveLength(100_001);
      expect(ms).toBeLessThan(50_000);
      // A few may hold a collection of garbage; the whole work takes half a second and more.
      expect(turns.longMs.length).toBeLessThanOrEqual(MAX_LONG_TURNS);
      expect(Math.max(0, ...turns.longMs)).toBeLessThan(MAX_COLLECTION_MS);
    },
    90_000,
  );
});
