/** A crawl whose status is read all the time while it runs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import type { TestCluster } from '../support/cluster.js';
import { CrawlClient, type FinishedJob } from './crawl-client.js';
import type { TroubledSite } from './troubled-site.js';

export interface Throttled {
  host: string;
  state: string;
  pagesPerSecond: number | null;
  reason: { at: string; status: number; kind: string; url: string | null };
}

export interface WatchedJob extends FinishedJob {
  ms: number;
  /** What its status said while it ran. */
  throttled: Throttled[];
}

export async function watchedCrawl(
  cluster: Pick<TestCluster, 'url' | 'apiKey'>,
  site: TroubledSite,
  options: object = {},
): Promise<WatchedJob> {
  const api = new ApiClient(cluster.url, cluster.apiKey);
  const client = new CrawlClient(cluster);
  const startedAt = performance.now();
  const id = await client.startCrawl({ url: site.url(), sitemap: 'skip', limit: 10_000, ...options });
  const throttled: Throttled[] = [];
  for (;;) {
    const { body } = await api.call(`/v2/crawl/${id}?limit=1`);
    throttled.push(...((body.throttled ?? []) as Throttled[]));
    if (body.status !== 'scraping') break;
    await sleep(200);
  }
  const ms = performance.now() - startedAt;
  return { id, ms, throttled, status: await client.readAll(id), errors: await client.get(`/v2/crawl/${id}/errors`) };
}
