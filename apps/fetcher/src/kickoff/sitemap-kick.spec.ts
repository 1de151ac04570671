import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { TroupeError, type SitemapChunk } from '@troupe/contracts';
import { RobotsFile } from '@troupe/politeness';
import type { EngineResponse } from '../http/engine.js';
import { SitemapKick, type SitemapTask } from './sitemap-kick.js';

const FILE = 'http://site.test/map.xml';

function taskOf(more: Partial<SitemapTask> = {}): SitemapTask {
  return {
    type: 'Kick',
    task: 'sitemap',
    actor: 'crawl/job',
    job: 'job',
    file: 2,
    url: FILE,
    level: 0,
    fromChunk: 0,
    maxChunks: 20,
    scope: {
      base: 'http://site.test/',
      version: 0,
      includePaths: [],
      excludePaths: ['/secret'],
      regexOnFullUrl: false,
      maxDepth: null,
      maxPathDepth: null,
      entireDomain: false,
      allowExternalLinks: false,
      allowSubdomains: false,
      ignoreQueryParameters: false,
      deduplicateSimilarUrls: true,
      sitemap: 'include',
    },
    headers: {},
    agent: 'Troupe',
    ...more,
  };
}

function urlSet(count: number): string {
  const urls = Array.from({ length: count }, (_, n) => `<url><loc>http://site.test/p${n}</loc></url>`);
  return `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>`;
}

async function read(answer: Partial<EngineResponse> | Error, more: Partial<SitemapTask> = {}): Promise<SitemapChunk[]> {
  const get = async (): Promise<EngineResponse> => {
    if (answer instanceof Error) throw answer;
    return { statusCode: 200, contentType: 'application/xml', body: new Uint8Array(), ...answer } as EngineResponse;
  };
  const robots = {
    rulesFor: async () => RobotsFile.allowAll,
    describe: async () => ({ isAnswer: true, retryMs: null, file: RobotsFile.allowAll, status: 404, error: null }),
  };
  const chunks: SitemapChunk[] = [];
  for await (const chunk of new SitemapKick({ get }, robots).read(taskOf(more))) chunks.push(chunk);
  return chunks;
}

describe('a sitemap', () => {
  it('comes in chunks of 1,000 entries, the last one marked', async () => {
    const chunks = await read({ body: Buffer.from(urlSet(2001)) });
    expect(chunks.map(({ chunk, urls, last, more }) => [chunk, urls.length, last, more])).toEqual([
      [0, 1000, false, false],
      [1, 1000, false, false],
      [2, 1, true, false],
    ]);
  });

  it('has the same chunks wherever the reading starts', async () => {
    const body = Buffer.from(urlSet(3500));
    const all = await read({ body });
    const [part] = await read({ body }, { fromChunk: 2, maxChunks: 1 });
    expect(part).toEqual({ ...all[2], more: true });
  });

  it('of exactly one chunk ends with it', async () => {
    expect(await read({ body: Buffer.from(urlSet(1000)) })).toMatchObject([{ chunk: 0, last: true }]);
  });

  it('is unpacked by its first bytes, whatever its name says', async () => {
    const [chunk] = await read({ body: gzipSync(urlSet(3)), contentType: 'text/plain' });
    expect(chunk?.urls).toHaveLength(3);
  });

  it('keeps what came before the damage and says that there is some', async () => {
    const packed = gzipSync(urlSet(5000));
    const chunks = await read({ body: packed.subarray(0, packed.length - 2000) });
    expect(chunks.length).toBeGreaterThan(1);
    expect(chunks.at(-1)).toMatchObject({ last: true, error: { code: 'SCRAPE_SITEMAP_ERROR' } });
  });

  it('stops a decompression bomb at the cap', async () => {
    const [chunk] = await read({ body: gzipSync(Buffer.alloc(60 * 1024 * 1024, ' ')) });
    expect(chunk).toMatchObject({ last: true, urls: [], error: { code: 'SCRAPE_SITEMAP_ERROR' } });
  });

  it('lists the files of an index, down to the fifth level', async () => {
    const body = Buffer.from('<sitemapindex><sitemap><loc>http://site.test/child.xml</loc></sitemap></sitemapindex>');
    expect((await read({ body }))[0]?.children).toEqual(['http://site.test/child.xml']);
    expect((await read({ body }, { level: 5 }))[0]?.children).toEqual([]);
  });

  it('is filtered by the scope, each URL once', async () => {
    const body = Buffer.from(
      'http://site.test/a\nhttps://www.site.test/a/\nhttp://site.test/secret\nhttp://other.test/\n',
    );
    const [chunk] = await read({ body, contentType: 'text/plain' });
    expect(chunk?.urls.map(({ url }) => url)).toEqual(['http://site.test/a']);
    expect(chunk?.excluded?.byRule).toEqual({ exclude: 1, external: 1 });
  });

  it('leaves out and counts what is no absolute address, of pages and of files', async () => {
    const locs = ['/a', 'b.html', '//site.test/c', 'site.test/d', 'mailto:x@site.test', 'http://site.test/e'];
    const list = locs.map((loc) => `<url><loc>${loc}</loc></url>`).join('');
    const [pages] = await read({ body: Buffer.from(`<urlset>${list}</urlset>`) });
    expect(pages?.urls.map(({ url }) => url)).toEqual(['http://site.test/e']);
    expect(pages?.excluded).toEqual({
      byRule: { scheme: 5 },
      sample: locs.slice(0, 5).map((url) => ({ url, h: expect.any(String), rule: 'scheme' })),
    });
    const body = Buffer.from('<sitemapindex><sitemap><loc>/child.xml</loc></sitemap></sitemapindex>');
    expect(await read({ body })).toMatchObject([{ children: [], excluded: { byRule: { scheme: 1 } } }]);
  });

  it('may be a feed, whose addresses may be relative to it', async () => {
    const [chunk] = await read({ body: Buffer.from('<feed><entry><link href="/a"/></entry></feed>') });
    expect(chunk?.urls.map(({ url }) => url)).toEqual(['http://site.test/a']);
  });

  it('that was not announced may be absent', async () => {
    const url = 'http://site.test/sitemap.xml';
    expect(await read({ statusCode: 404 }, { url })).toMatchObject([{ last: true, error: null }]);
    expect(await read({ contentType: 'text/html', body: Buffer.from('<html>') }, { url })).toMatchObject([
      { error: null },
    ]);
    expect(await read({ statusCode: 404 })).toMatchObject([{ last: true, error: { code: 'SCRAPE_SITEMAP_ERROR' } }]);
  });

  it('that cannot be fetched is one chunk with the reason', async () => {
    const chunks = await read(new TroupeError('SCRAPE_TIMEOUT', 'too slow'), { fromChunk: 4 });
    expect(chunks).toMatchObject([
      { chunk: 4, last: true, error: { code: 'SCRAPE_SITEMAP_ERROR', message: expect.stringContaining('too slow') } },
    ]);
  });
});
