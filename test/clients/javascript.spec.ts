/** The conformance checks of the JavaScript SDK that look at its traffic or at what stands before us. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import https from 'node:https';
import { TEST_CERT } from '@troupe/testing';
import { type KnownSite } from '../sites/known-graph/index.js';
import { ApiClient } from '../support/api-client.js';
import { type TestCluster } from '../support/cluster.js';
import { addresses, DOCS, startClientStage, type ClientStage } from './client-site.js';
import { startFrontProxy } from './front-proxy.js';

const TIMEOUT_MS = 120_000;
/** Less than the two seconds that a request without news is held, for the time it takes itself. */
const HELD_MS = 1900;

let cluster: TestCluster;
let site: KnownSite;
let stage: ClientStage;
let v2: FirecrawlClient;
let api: ApiClient;

beforeAll(async () => {
  stage = await startClientStage();
  ({ site, cluster } = stage);
  v2 = new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: cluster.url });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, TIMEOUT_MS);

beforeEach(() => site.reset());

afterAll(async () => {
  await stage?.stop();
}, TIMEOUT_MS);

const sourcesOf = (documents: readonly { metadata?: { sourceURL?: string } }[]): string[] =>
  documents.map(({ metadata }) => metadata?.sourceURL ?? '?').sort();

describe('the client of version 2', () => {
  it(
    'asks at most once in two seconds while nothing new finishes',
    async () => {
      const proxy = await startFrontProxy(cluster.url);
      try {
        const client = new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: proxy.url });
        const { id } = await client.startCrawl(site.url('/slow'), { sitemap: 'skip', delay: 3, limit: 3 });
        const job = await client.getCrawlStatus(id);
        expect(job.data).toHaveLength(3);
        const polls = proxy.requests.filter(({ line }) => line.startsWith('GET'));
        const empty = polls.filter((poll, i) => polls[i - 1]?.line === poll.line);
        expect(polls.length).toBeGreaterThan(2);
        for (const poll of empty) {
          expect(poll.atMs - polls[polls.indexOf(poll) - 1]!.atMs).toBeGreaterThan(HELD_MS);
        }
      } finally {
        await proxy.close();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'a crawl of a host nobody knows ends failed',
    async () => {
      const job = await v2.crawl('http://no-such-host.invalid/', { pollInterval: 1 });
      expect(job.status).toBe('failed');
      expect(job.data).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    'a scrape of a host nobody knows throws with its code',
    async () => {
      await expect(v2.scrape('http://no-such-host.invalid/')).rejects.toMatchObject({
        code: 'SCRAPE_DNS_RESOLUTION_ERROR',
      });
    },
    TIMEOUT_MS,
  );

  it(
    'cancels what runs and is told that what ended has ended',
    async () => {
      const running = await v2.startCrawl(site.url('/slow'), { sitemap: 'skip' });
      expect(await v2.cancelCrawl(running.id)).toBe(true);
      const ended = await v2.crawl(site.url('/docs/1'), { sitemap: 'skip', limit: 1, pollInterval: 1 });
      await expect(v2.cancelCrawl(ended.id)).rejects.toMatchObject({ status: 409 });
    },
    TIMEOUT_MS,
  );

  it(
    'refuses a key it does not know and takes its own marks at every level',
    async () => {
      const wrong = { formats: ['markdown'], fromats: [] } as object;
      await expect(v2.scrape(site.url('/docs/1'), wrong)).rejects.toMatchObject({
        status: 400,
        details: [expect.objectContaining({ code: 'unrecognized_keys', keys: ['fromats'] })],
      });
      const marks = { origin: 'website', integration: 'n8n' };
      const scrapeOptions = { formats: ['markdown'], ...marks };
      const job = await v2.crawl(site.url('/docs/1'), {
        ...marks,
        limit: 1,
        scrapeOptions: scrapeOptions as object,
        pollInterval: 1,
      });
      expect(job.status).toBe('completed');
    },
    TIMEOUT_MS,
  );

  it(
    'the second use of an idempotency key is refused',
    async () => {
      const options = { idempotencyKey: 'the key of this spec', options: { formats: ['markdown' as const] } };
      const first = await v2.startBatchScrape([site.url('/docs/1')], options);
      expect(first.id).toBeTruthy();
      await expect(v2.startBatchScrape([site.url('/docs/1')], options)).rejects.toMatchObject({ status: 409 });
    },
    TIMEOUT_MS,
  );

  it(
    'behind a proxy with TLS every address is one the proxy answers',
    async () => {
      const proxy = await startFrontProxy(cluster.url, { tls: true });
      try {
        const started = await overTls(proxy.url, '/v2/crawl', { url: site.url('/docs'), sitemap: 'skip' });
        expect(started.url).toBe(`${proxy.url}/v2/crawl/${String(started.id)}`);
        await api.finished(`/v2/crawl/${String(started.id)}?limit=1`);
        const found: unknown[] = [];
        let next: string | undefined = `${String(started.url)}?limit=7`;
        for (; next !== undefined;) {
          expect(next).toContain(proxy.url);
          const part: { data: { metadata: { sourceURL: string } }[]; next?: string } = await overTls(proxy.url, next);
          found.push(...sourcesOf(part.data));
          next = part.next;
        }
        expect(found.sort()).toEqual(addresses(site, DOCS));
      } finally {
        await proxy.close();
      }
    },
    TIMEOUT_MS,
  );
});

/** A call that trusts the proxy's certificate; `path` may be a whole address. */
function overTls<T = Record<string, unknown>>(base: string, path: string, json?: unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' };
    const method = json === undefined ? 'GET' : 'POST';
    const request = https.request(new URL(path, base), { method, headers, ca: TEST_CERT }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve(JSON.parse(text) as T));
    });
    request.on('error', reject);
    request.end(json === undefined ? undefined : JSON.stringify(json));
  });
}
