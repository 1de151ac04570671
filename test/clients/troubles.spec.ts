/** Troubles of some URLs come first, and then the published clients crawl the same host: it is not slower for it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FirecrawlClient } from 'firecrawl';
import { TroubledSite, type Reaction } from '../e2e/troubled-site.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { findPythonSdk } from './packages.js';
import { PythonClient } from './python-client.js';

const PAGES = 127;
const QUICK_MS = 20_000;
const TEST_MS = 120_000;

/** Kinds of trouble, each with addresses of its own beside the pages. */
const TROUBLES: Record<string, Reaction> = { busy: 503, limited: 429, silent: 'hang', cut: 'reset' };
const URLS_PER_KIND = 3;

const python = await findPythonSdk();

let cluster: TestCluster;
let site: TroubledSite;

/** As a suite of somebody's tests does it: addresses in trouble, one after the other, between pages that are well; then all at once. */
async function makeTrouble(): Promise<void> {
  const api = new ApiClient(cluster.url, cluster.apiKey);
  const kinds = Object.keys(TROUBLES);
  for (let n = 0; n < URLS_PER_KIND; n++) {
    for (const kind of kinds) await api.post('/v2/scrape', { url: site.url(`/${kind}/${n}`), timeout: 3_000 });
    const good = await api.post('/v2/scrape', { url: site.url(`/p/${n}`), timeout: 10_000 });
    expect(good.status).toBe(200);
  }
  const bad = kinds.flatMap((kind) => Array.from({ length: URLS_PER_KIND }, (_, n) => site.url(`/${kind}/${n}`)));
  const good = Array.from({ length: 30 }, (_, n) => site.url(`/p/${n}`));
  const { body } = await api.post('/v2/batch/scrape', { urls: [...bad, ...good], timeout: 2_000 });
  await api.finished(`/v2/batch/scrape/${String(body.id)}`, TEST_MS);
}

beforeAll(async () => {
  site = await TroubledSite.start({
    pages: PAGES,
    react: ({ path }) => TROUBLES[path.split('/')[1] ?? ''] ?? null,
  });
  cluster = await startCluster({ env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' } });
  await makeTrouble();
}, 2 * TEST_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
}, TEST_MS);

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startedAt = performance.now();
  return { result: await work(), ms: performance.now() - startedAt };
}

describe('after 503, 429, timeouts and cut connections of its other addresses', () => {
  it(
    'a crawl of a host by the JavaScript SDK takes as long as ever',
    async () => {
      const sdk = new FirecrawlClient({ apiKey: cluster.apiKey, apiUrl: cluster.url });
      const { result, ms } = await timed(() => sdk.crawl(site.url(), { sitemap: 'skip', limit: 500, pollInterval: 1 }));
      console.info(`JavaScript: ${result.data.length} pages in ${Math.round(ms)} ms`);
      expect(result.data).toHaveLength(PAGES);
      expect(ms).toBeLessThan(QUICK_MS);
    },
    TEST_MS,
  );

  (python === null ? it.skip : it)(
    'and so does one by the Python SDK',
    async () => {
      const sdk = new PythonClient(python!, cluster);
      try {
        const options = { sitemap: 'skip', limit: 500, poll_interval: 1 };
        const { result, ms } = await timed(() => sdk.v2<{ data: unknown[] }>('crawl', [site.url()], options));
        console.info(`Python: ${result.data.length} pages in ${Math.round(ms)} ms`);
        expect(result.data).toHaveLength(PAGES);
        expect(ms).toBeLessThan(QUICK_MS);
      } finally {
        sdk.stop();
      }
    },
    TEST_MS,
  );
});
