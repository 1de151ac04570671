/** A host that is gone for a while costs no page. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { rate, withSite } from './troubled-site.js';
import { watchedCrawl } from './watched-crawl.js';

const OUTAGE_MS = 30_000;
const TEST_MS = 240_000;

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ args: ['--fetchers', '2'], env: { ALLOW_PRIVATE_TARGETS: '127.0.0.0/8' } });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
}, 90_000);

describe('a host that is gone', () => {
  it.each(['reset', 503] as const)(
    'for half a minute (%s) loses no page, is left alone meanwhile, and then gets on',
    (reaction) => {
      let goneAt = Infinity;
      const isGone = (t: number) => t >= goneAt && t < goneAt + OUTAGE_MS;
      return withSite({ pages: 1000, react: ({ t }) => (isGone(t) ? reaction : null) }, async (site) => {
        setTimeout(() => (goneAt = performance.now()), 10_000);
        const { status, errors, throttled } = await watchedCrawl(cluster, site);
        expect([status.data.length, errors.errors]).toEqual([1000, []]);
        const meanwhile = site.pages().filter(({ t }) => isGone(t));
        const before = rate(site.good(), goneAt - 5_000, goneAt);
        const backAt = goneAt + OUTAGE_MS;
        const best = Math.max(
          ...[5, 10, 15, 20, 25].map((s) => rate(site.good(), backAt + (s - 2) * 1000, backAt + s * 1000)),
        );
        console.info(
          `${reaction}: ${meanwhile.length} requests meanwhile, ${before} pages/s before, ${best} within 25 s`,
        );
        expect(meanwhile.length).toBeLessThanOrEqual(25);
        expect(best).toBeGreaterThan(before / 2);
        expect(throttled).toContainEqual(expect.objectContaining({ host: site.host, state: 'down' }));
      });
    },
    TEST_MS,
  );
});
