/** The published Python SDK against the real cluster, both of its versions: the conformance checks that concern it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TEST_CERT } from '@troupe/testing';
import { type KnownSite } from '../sites/known-graph/index.js';
import { ApiClient } from '../support/api-client.js';
import { type TestCluster } from '../support/cluster.js';
import { addresses, DOCS, paths, startClientStage, type ClientStage } from './client-site.js';
import { startFrontProxy } from './front-proxy.js';
import { blocksOf } from '../support/model-server/index.js';
import { findPythonSdk } from './packages.js';
import { PythonClient, type WatchedJob } from './python-client.js';

const TIMEOUT_MS = 120_000;

interface Document {
  markdown?: string;
  json?: unknown;
  metadata: { source_url?: string; status_code?: number; error?: string; proxy_used?: string };
}

interface Job {
  status: string;
  total: number;
  completed: number;
  credits_used?: number;
  next?: string;
  data: Document[];
}

/** As the API writes a document; watchers hand it on as it came. */
interface RawDocument {
  metadata: { sourceURL: string };
}

const python = await findPythonSdk();
const suite = python === null ? describe.skip : describe;

suite('the Python SDK', () => {
  let cluster: TestCluster;
  let site: KnownSite;
  let stage: ClientStage;
  let sdk: PythonClient;
  let api: ApiClient;

  beforeAll(async () => {
    stage = await startClientStage();
    ({ site, cluster } = stage);
    sdk = new PythonClient(python!, cluster);
    api = new ApiClient(cluster.url, cluster.apiKey);
  }, TIMEOUT_MS);

  beforeEach(() => site.reset());

  afterAll(async () => {
    sdk?.stop();
    await stage?.stop();
  }, TIMEOUT_MS);

  const sourcesOf = (documents: readonly Document[]): string[] =>
    documents.map(({ metadata }) => metadata.source_url ?? '?').sort();
  const rawSourcesOf = (documents: readonly RawDocument[]): string[] =>
    documents.map(({ metadata }) => metadata.sourceURL).sort();

  describe('version 2', () => {
    it(
      'scrapes, also what answers 404',
      async () => {
        const document = await sdk.v2<Document>('scrape', [site.url('/docs/3')], { formats: ['markdown', 'markdown'] });
        expect(document.markdown).toContain('Page /docs/3');
        expect(document.metadata).toMatchObject({ status_code: 200, proxy_used: 'basic' });
        const missing = await sdk.v2<Document>('scrape', [site.url('/nowhere')]);
        expect(missing.metadata).toMatchObject({ status_code: 404, error: 'Not Found' });
      },
      TIMEOUT_MS,
    );

    it(
      'crawls thirty pages to thirty documents, in one piece and by three',
      async () => {
        const job = await sdk.v2<Job>('crawl', [site.url('/docs')], { sitemap: 'skip', poll_interval: 1 });
        expect(job).toMatchObject({ status: 'completed', total: DOCS.length, completed: DOCS.length });
        expect(sourcesOf(job.data)).toEqual(addresses(site, DOCS));
        const { id } = await sdk.v2<{ id: string }>('start_crawl', [site.url('/docs')], { sitemap: 'skip' });
        await api.finished(`/v2/crawl/${id}?limit=1`);
        const parts: Document[][] = [];
        let next: string | undefined = `${cluster.url}/v2/crawl/${id}?limit=3`;
        for (; next !== undefined;) {
          const part: Job = await sdk.v2('get_crawl_status_page', [next]);
          parts.push(part.data);
          next = part.next;
        }
        expect(parts.map((part) => part.length)).toEqual(Array.from({ length: DOCS.length / 3 }, () => 3));
        expect(sourcesOf(parts.flat())).toEqual(addresses(site, DOCS));
      },
      TIMEOUT_MS,
    );

    it(
      'waits for a batch and lists its errors',
      async () => {
        const wanted = addresses(site, paths('docs', 5));
        const job = await sdk.v2<Job>('batch_scrape', [wanted], { formats: ['markdown'], poll_interval: 1 });
        expect(job).toMatchObject({ status: 'completed', total: 5, completed: 5 });
        expect(sourcesOf(job.data)).toEqual(wanted);
        const { id } = await sdk.v2<{ id: string }>('start_batch_scrape', [wanted]);
        expect(await sdk.v2('get_batch_scrape_errors', [id])).toMatchObject({ errors: [] });
      },
      TIMEOUT_MS,
    );

    it(
      'a crawl of a host nobody knows ends failed, a scrape of it raises what it should',
      async () => {
        const job = await sdk.v2<Job>('crawl', ['http://no-such-host.invalid/'], { poll_interval: 1 });
        expect(job).toMatchObject({ status: 'failed', data: [] });
        await expect(sdk.v2('scrape', ['http://no-such-host.invalid/'])).rejects.toMatchObject({
          types: expect.arrayContaining(['DNSResolutionError']),
        });
      },
      TIMEOUT_MS,
    );

    it(
      'cancels what runs and answers False for what has ended',
      async () => {
        const running = await sdk.v2<{ id: string }>('start_crawl', [site.url('/slow')], { sitemap: 'skip' });
        expect(await sdk.v2('cancel_crawl', [running.id])).toBe(true);
        const ended = await sdk.v2<{ id: string }>('start_crawl', [site.url('/docs/1')], { limit: 1 });
        await api.finished(`/v2/crawl/${ended.id}`);
        expect(await sdk.v2('cancel_crawl', [ended.id])).toBe(false);
      },
      TIMEOUT_MS,
    );

    it(
      'fills a schema made by pydantic',
      async () => {
        stage.model.setBrain(({ messages }) => {
          const title = /Page \/docs\/\d+/.exec(blocksOf(messages)[0]?.text ?? '')?.[0];
          return { value: { articles: [{ title, author: null }] } };
        });
        const formats = [{ type: 'json', schema: { $schema_of: 'Book' } }, 'summary'];
        const document = await sdk.v2<Document>('scrape', [site.url('/docs/1')], { formats });
        expect(document.json).toMatchObject({ articles: [{ title: 'Page /docs/1' }] });
      },
      TIMEOUT_MS,
    );

    it(
      'crawls by prompt, and previews what a prompt asks for',
      async () => {
        const asked = { includePaths: ['^/docs/[12]$'], limit: 3 };
        stage.model.setBrain(({ schema }) => {
          const names = Object.keys(schema?.properties ?? {});
          return { value: { ...Object.fromEntries(names.map((name) => [name, null])), ...asked } };
        });
        expect(await sdk.v2('crawl_params_preview', [site.url('/docs'), 'two of the documents'])).toMatchObject({
          include_paths: asked.includePaths,
          limit: 3,
        });
        const options = { prompt: 'two of the documents', sitemap: 'skip', poll_interval: 1 };
        const job = await sdk.v2<Job>('crawl', [site.url('/docs')], options);
        expect(sourcesOf(job.data)).toEqual(addresses(site, ['/docs', '/docs/1', '/docs/2']));
      },
      TIMEOUT_MS,
    );

    it(
      'wrong keys and wrong values raise the class of their status',
      async () => {
        await expect(sdk.v2('scrape', [site.url('/docs/1')], { wait_for: 70_000 })).rejects.toMatchObject({
          types: expect.arrayContaining(['BadRequestError']),
        });
        const stranger = new PythonClient(python!, { url: cluster.url, apiKey: 'fc-nobody' });
        await expect(stranger.v2('scrape', [site.url('/docs/1')])).rejects.toMatchObject({
          types: expect.arrayContaining(['UnauthorizedError']),
        });
        stranger.stop();
      },
      TIMEOUT_MS,
    );

    it(
      'reads the accounts: active crawls, credits, tokens, queue, concurrency, both histories',
      async () => {
        const { id } = await sdk.v2<{ id: string }>('start_crawl', [site.url('/slow')], { sitemap: 'skip' });
        const active = await sdk.v2<{ crawls: { id: string }[] }>('get_active_crawls');
        expect(active.crawls.map((crawl) => crawl.id)).toContain(id);
        await sdk.v2('cancel_crawl', [id]);
        expect(await sdk.v2('get_credit_usage')).toMatchObject({ remaining_credits: expect.any(Number) });
        expect(await sdk.v2('get_token_usage')).toMatchObject({ remaining_tokens: expect.any(Number) });
        expect(await sdk.v2('get_queue_status')).toMatchObject({ max_concurrency: expect.any(Number) });
        expect(await sdk.v2('get_concurrency')).toMatchObject({ max_concurrency: expect.any(Number) });
        const history = await sdk.v2<{ periods: unknown[] }>('get_credit_usage_historical', [], { by_api_key: true });
        expect(history.periods.length).toBeGreaterThan(0);
        expect(await sdk.v2('get_token_usage_historical')).toMatchObject({ periods: expect.any(Array) });
      },
      TIMEOUT_MS,
    );

    it(
      'maps a site',
      async () => {
        const map = await sdk.v2<{ links: { url: string }[] }>('map', [site.url('/docs')], { sitemap: 'skip' });
        expect(map.links.map(({ url }) => url).sort()).toEqual(addresses(site, DOCS));
      },
      TIMEOUT_MS,
    );

    it(
      'watchers of a crawl and of a batch see every document and one end',
      async () => {
        const crawl = await sdk.v2<{ id: string }>('start_crawl', [site.url('/docs')], { sitemap: 'skip' });
        const batch = await sdk.v2<{ id: string }>('start_batch_scrape', [addresses(site, paths('slow', 30))]);
        const [crawled, scraped] = await Promise.all([
          sdk.v2<WatchedJob<RawDocument>>('watch', [crawl.id, 'crawl']),
          sdk.v2<WatchedJob<RawDocument>>('watch', [batch.id, 'batch']),
        ]);
        expect(crawled).toMatchObject({ done: 1, errors: [], ended: true });
        expect(rawSourcesOf(crawled.documents)).toEqual(addresses(site, DOCS));
        expect(scraped).toMatchObject({ done: 1, errors: [], ended: true });
        expect(rawSourcesOf(scraped.documents)).toEqual(addresses(site, paths('slow', 30)));
      },
      TIMEOUT_MS,
    );

    it(
      'works behind a proxy with TLS',
      async () => {
        const folder = mkdtempSync(path.join(tmpdir(), 'troupe-ca-'));
        const ca = path.join(folder, 'ca.pem');
        writeFileSync(ca, TEST_CERT);
        const proxy = await startFrontProxy(cluster.url, { tls: true });
        const behind = new PythonClient(
          python!,
          { url: proxy.url, apiKey: cluster.apiKey },
          { REQUESTS_CA_BUNDLE: ca },
        );
        try {
          const job = await behind.v2<Job>('crawl', [site.url('/docs')], { sitemap: 'skip', poll_interval: 1 });
          expect(sourcesOf(job.data)).toEqual(addresses(site, DOCS));
        } finally {
          behind.stop();
          await proxy.close();
          rmSync(folder, { recursive: true });
        }
      },
      TIMEOUT_MS,
    );
  });

  describe('version 1', () => {
    const scrapeOptions = { $model: 'v1.V1ScrapeOptions', formats: ['markdown'] };

    it(
      'scrapes, maps, and waits for a crawl',
      async () => {
        const document = await sdk.v1<{ markdown: string }>('scrape_url', [site.url('/docs/3')], {
          formats: ['markdown', 'links'],
        });
        expect(document.markdown).toContain('Page /docs/3');
        const map = await sdk.v1<{ links: string[] }>('map_url', [site.url('/docs')], { ignore_sitemap: true });
        expect([...map.links].sort()).toEqual(addresses(site, DOCS));
        const job = await sdk.v1<Job & { data: RawDocument[] }>('crawl_url', [site.url('/docs')], {
          ignore_sitemap: true,
          limit: 100,
          poll_interval: 2,
          scrape_options: scrapeOptions,
        });
        expect(job).toMatchObject({ status: 'completed', total: DOCS.length });
        expect(rawSourcesOf(job.data)).toEqual(addresses(site, DOCS));
      },
      TIMEOUT_MS,
    );

    it(
      'waits for a batch and lists errors',
      async () => {
        const wanted = addresses(site, paths('docs', 5));
        const job = await sdk.v1<Job & { data: RawDocument[] }>('batch_scrape_urls', [wanted], {
          formats: ['markdown'],
          poll_interval: 2,
        });
        expect(rawSourcesOf(job.data)).toEqual(wanted);
        const { id } = await sdk.v1<{ id: string }>('async_crawl_url', [site.url('/slow')], { ignore_sitemap: true });
        expect(await sdk.v1('check_crawl_errors', [id])).toMatchObject({ errors: [], robotsBlocked: [] });
        expect(await sdk.v1('cancel_crawl', [id])).toMatchObject({ status: 'cancelled' });
      },
      TIMEOUT_MS,
    );

    it(
      'a watcher sees every document and one end',
      async () => {
        const { id } = await sdk.v1<{ id: string }>('async_crawl_url', [site.url('/docs')], {
          ignore_sitemap: true,
          limit: 100,
        });
        const watched = await sdk.v1<WatchedJob<RawDocument>>('watch', [id]);
        expect(watched).toMatchObject({ done: 1, errors: [], ended: true });
        expect(rawSourcesOf(watched.documents)).toEqual(addresses(site, DOCS));
      },
      TIMEOUT_MS,
    );
  });
});
