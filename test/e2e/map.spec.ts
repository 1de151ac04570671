/** Acceptance of maps: every source of links, the search, a site of 100,000 links, with the whole cluster. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import type { RunningCluster } from '../support/cluster.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { residentMb, settledMb } from './wellbeing.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
const LINKS = 100_000;
const FILES = 20;
const HOSTS = [
  'bare.test',
  'fed.test',
  'big.test',
  'sub.test',
  'api.sub.test',
  'search.test',
  'walled.test',
  'moved.test',
];

type Answer = { type: string; body: string | Buffer } | { location: string };
type Pages = Record<string, Answer>;

let site: Site;
let stage: Stage;
let cluster: RunningCluster;
let api: ApiClient;

const at = (host: string, path = '') => `http://${host}:${site.port}${path}`;

function html(title: string, links: string[], head = ''): Answer {
  const anchors = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join('');
  const body = `<html><head><title>${title}</title>${head}</head><body><h1>${title}</h1><ul>${anchors}</ul></body></html>`;
  return { type: 'text/html', body };
}

const xml = (body: string | Buffer): Answer => ({ type: 'application/xml', body });
const urlset = (urls: string[]) => `<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;

function bigSite(): Pages {
  const perFile = LINKS / FILES;
  const files = Array.from({ length: FILES }, (_, file) => {
    const urls = Array.from({ length: perFile }, (_, n) =>
      at('big.test', `/catalogue/item-${file * perFile + n}.html`),
    );
    return [`/map-${file}.xml.gz`, xml(gzipSync(urlset(urls)))] as const;
  });
  const index = files.map(([path]) => `<sitemap><loc>${at('big.test', path)}</loc></sitemap>`).join('');
  return {
    '/': html('Big', []),
    '/sitemap.xml': xml(`<sitemapindex>${index}</sitemapindex>`),
    ...Object.fromEntries(files),
  };
}

function makeSites(): Record<string, Pages> {
  const feed = (host: string) => xml(`<rss><channel><item><link>${at(host, '/posts/1')}</link></item></channel></rss>`);
  const alternate = '<link rel="alternate" type="application/rss+xml" href="/feeds/all.rss">';
  return {
    'bare.test': {
      '/': html('Bare', ['/a', '/b?page=2', 'http://elsewhere.test/']),
      '/a': html('A', ['/a/1', '/a/2']),
      '/a/1': html('A one', ['/a/1/x']),
    },
    'fed.test': { '/': html('Fed', ['/about'], alternate), '/feeds/all.rss': feed('fed.test') },
    'big.test': bigSite(),
    'sub.test': { '/': html('Main', [at('api.sub.test', '/reference'), '/own']) },
    'api.sub.test': { '/reference': html('Reference', []) },
    'search.test': {
      '/': html('Home', ['/docs/install', '/docs/install-plugins-and-more', '/faq', '/blog']),
      '/faq': html('How to install', []),
      '/docs/install': html('Setting up', []),
    },
    'walled.test': {
      '/robots.txt': {
        type: 'text/plain',
        body: `User-agent: *\nDisallow: /private/\nSitemap: ${at('walled.test', '/all.xml')}\n`,
      },
      '/all.xml': xml(urlset([at('walled.test', '/public')])),
      '/': html('Walled', ['/private/page']),
      '/private/page': html('Private', ['/private/secret']),
    },
    'moved.test': { '/': { location: at('bare.test', '/') } },
  };
}

function serve(sites: () => Record<string, Pages>) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const host = request.headers.host?.split(':')[0] ?? '';
    const answer = sites()[host]?.[request.url ?? ''];
    if (answer === undefined) return void response.writeHead(404, { 'content-type': 'text/plain' }).end('not here');
    if ('location' in answer) return void response.writeHead(301, { location: answer.location }).end();
    response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
  };
}

async function map(host: string, options: object = {}) {
  const { status, body, ms, text } = await api.post('/v2/map', { url: at(host), ...options });
  const links = (body.links ?? []) as { url: string; title?: string }[];
  return { status, body, ms, text, links, paths: links.map(({ url }) => new URL(url).pathname) };
}

beforeAll(async () => {
  let sites: Record<string, Pages> = {};
  site = await startSite(serve(() => sites));
  sites = makeSites();
  stage = await startStage(FORMATS_CLUSTER, Object.fromEntries(HOSTS.map((host) => [host, ['127.0.0.1']])));
  ({ cluster } = stage);
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

describe('a map', () => {
  it('of a site without a sitemap walks its links, start first, and leaves other hosts out', async () => {
    const { status, links, paths, body } = await map('bare.test');
    expect(status).toBe(200);
    expect(links[0]).toEqual({ url: at('bare.test', '/'), title: 'Bare' });
    expect(paths.sort()).toEqual(['/', '/a', '/a/1', '/a/1/x', '/a/2', '/b']);
    expect(body).toMatchObject({ success: true, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(body).not.toHaveProperty('warning');
  });

  it('keeps queries and other hosts when told to', async () => {
    const { links } = await map('bare.test', { ignoreQueryParameters: false, allowExternalLinks: true });
    const urls = links.map(({ url }) => url);
    expect(urls).toEqual(expect.arrayContaining([at('bare.test', '/b?page=2'), 'http://elsewhere.test/']));
  });

  it('reads the feeds of a site', async () => {
    expect((await map('fed.test')).paths).toEqual(expect.arrayContaining(['/about', '/posts/1']));
  });

  it('lists subdomains, or not', async () => {
    const urls = async (options: object) => (await map('sub.test', options)).links.map(({ url }) => url);
    expect(await urls({})).toContain(at('api.sub.test', '/reference'));
    expect(await urls({ includeSubdomains: false })).toEqual([at('sub.test', '/'), at('sub.test', '/own')]);
  });

  it('finds text in addresses and titles, best matches first', async () => {
    expect((await map('search.test', { search: 'Install' })).paths).toEqual([
      '/docs/install',
      '/docs/install-plugins-and-more',
      '/faq',
    ]);
    expect((await map('search.test', { search: 'install', limit: 1 })).paths).toEqual(['/docs/install']);
    expect((await map('search.test', { search: 'nothing like it' })).links).toEqual([]);
  });

  it('reads what robots.txt names and does not enter what it forbids', async () => {
    expect((await map('walled.test')).paths.sort()).toEqual(['/', '/private/page', '/public']);
    expect(site.log).not.toContain('GET /private/page');
    expect((await map('walled.test', { excludePaths: ['^/private/'] })).paths.sort()).toEqual(['/', '/public']);
    expect((await map('walled.test', { sitemap: 'only' })).paths).toEqual(['/', '/public']);
  });

  it('follows a site to where it went', async () => {
    const { links } = await map('moved.test');
    expect(links[0]!.url).toBe(at('bare.test', '/'));
    expect(links.length).toBeGreaterThan(4);
  });

  it('warns when a section has at most one link', async () => {
    const { body } = await map('bare.test', { url: at('bare.test', '/a/2') });
    expect(body.warning).toEqual(expect.any(String));
  });
});

describe('a site of 100,000 links', () => {
  it('is mapped in one answer, in bounded time and memory, while other calls are answered', async () => {
    const before = await residentMb(cluster, 'fetcher');
    const slowest = { ms: 0 };
    let isOver = false;
    const others = (async () => {
      while (!isOver) slowest.ms = Math.max(slowest.ms, (await api.call('/v2/health/liveness')).ms);
    })();
    const startedMs = performance.now();
    const response = await fetch(`${cluster.url}/v2/map`, {
      method: 'POST',
      headers: { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: at('big.test'), limit: LINKS, timeout: 60_000 }),
    });
    const bytes = await response.arrayBuffer();
    const ms = performance.now() - startedMs;
    isOver = true;
    await others;
    // Parsed only now: it would hold up this process, and the other calls with it.
    const { links } = JSON.parse(Buffer.from(bytes).toString('utf8')) as { links: { url: string }[] };
    const { status } = response;
    expect({ status, links: links.length, first: links[0]!.url }).toEqual({
      status: 200,
      links: LINKS,
      first: at('big.test', '/'),
    });
    expect(new Set(links.map(({ url }) => url)).size).toBe(LINKS);
    const mb = Math.round((await residentMb(cluster, 'fetcher')) - before);
    process.stderr.write(
      `map of ${LINKS} links: ${Math.round(ms)} ms, ${bytes.byteLength} bytes, fetcher +${mb} MB, slowest other call ${Math.round(slowest.ms)} ms\n`,
    );
    expect(ms).toBeLessThan(50_000);
    expect(await settledMb(cluster, 'fetcher', before + 400)).toBeLessThanOrEqual(before + 400);
    expect(slowest.ms).toBeLessThan(2_000);
  }, 90_000);

  it('is searched as a whole', async () => {
    const { paths, ms } = await map('big.test', { search: 'item-99999', limit: 10, timeout: 60_000 });
    expect(paths).toEqual(['/catalogue/item-99999.html']);
    expect(ms).toBeLessThan(50_000);
  }, 60_000);

  it('costs little when only its first links are wanted', async () => {
    const asked = site.log.length;
    expect((await map('big.test', { limit: 50 })).links).toHaveLength(50);
    expect(site.log.slice(asked).filter((line) => line.includes('.xml.gz')).length).toBeLessThanOrEqual(3);
  });
});
