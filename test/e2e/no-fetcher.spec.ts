/** Jobs outlive a time without any fetcher, however long: nothing fails, nothing is lost, nothing is paid twice. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { isPageRequest } from '../sites/known-graph/request-log.js';
import { page, type HostResources } from '../sites/known-graph/resource.js';
import { startKnownSite, type KnownSite } from '../sites/known-graph/server.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { CrawlClient } from './crawl-client.js';

const PAGES = 40;
const PAGE_MS = 40;
/** Longer than a lane waits in its queue before it is published again; the real thing is five minutes. */
const NO_FETCHER_MS = Number(process.env.TROUPE_TEST_NO_FETCHER_MS ?? 70_000);
const PATIENCE_MS = 120_000;

const env = { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_MAX_CONN: '4', HOST_GAP_MS: '50' };

let site: KnownSite;
let cluster: TestCluster;
let fetcher: ServiceProcess | null = null;
let crawls: CrawlClient;

function folder(name: string, count: number): HostResources {
  const paths = Array.from({ length: count }, (_, i) => `/${name}/p/${i}`);
  const leaves = Object.fromEntries(paths.map((path) => [path, page([], { delayMs: PAGE_MS })]));
  return { [`/${name}/`]: page(paths), ...leaves };
}

beforeAll(async () => {
  site = await startKnownSite(() => [{ ...folder('before', 2 * PAGES), ...folder('during', PAGES) }]);
  cluster = await startCluster({ args: ['--fetchers', '0'], env });
  fetcher = await startService(cluster, 'fetcher', env);
  crawls = new CrawlClient(cluster);
}, 180_000);

afterAll(async () => {
  await fetcher?.stop();
  await cluster?.stop();
  await site?.stop();
}, 90_000);

const pageRequests = (): number => site.requests(isPageRequest).length;
const startCrawl = (path: string): Promise<string> => crawls.startCrawl({ url: site.url(path), sitemap: 'skip' });

async function untilUnderWay(): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (pageRequests() <= 10) {
    if (performance.now() > deadlineMs) throw new Error(`the crawl was not under way within ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}

describe('while there is no fetcher', () => {
  it(
    'jobs wait, and finish when there is one again, nothing failed',
    async () => {
      const before = await startCrawl('/before/');
      await untilUnderWay();
      await fetcher!.stop();
      const during = await startCrawl('/during/');
      const asked = site.requests().length;
      await sleep(NO_FETCHER_MS);
      expect(site.requests()).toHaveLength(asked);
      for (const id of [before, during])
        expect(await crawls.get(`/v2/crawl/${id}?limit=1`)).toMatchObject({ status: 'scraping' });
      fetcher = await startService(cluster, 'fetcher', env);
      for (const [id, pages] of [
        [before, 2 * PAGES + 1],
        [during, PAGES + 1],
      ] as const) {
        await crawls.waitForEnd(id, PATIENCE_MS);
        expect(await crawls.get(`/v2/crawl/${id}?limit=1`)).toMatchObject({
          status: 'completed',
          completed: pages,
          creditsUsed: pages,
        });
        expect(await crawls.get(`/v2/crawl/${id}/errors`)).toMatchObject({ errors: [] });
      }
    },
    NO_FETCHER_MS + 4 * PATIENCE_MS,
  );
});
