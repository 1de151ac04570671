/**
 * What is counted in thousands does not stop an actor whose state is one piece of JSON: jobs of one team on one host, files of a
 * sitemap index, `Sitemap:` lines of a robots.txt.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const JOBS = Number(process.env.TROUPE_TEST_JOBS ?? 1_200);
const CHILDREN = Number(process.env.TROUPE_TEST_CHILDREN ?? 10_000);
const ROBOTS_LINES = 1_000;
/** One child of so many names a page. */
const PAGE_EVERY = 50;
const PATIENCE_MS = Math.max(170_000, (JOBS + CHILDREN) * 30);
const MOST_STATE_BYTES = 64 * 1024;

let cluster: TestCluster;
let client: ApiClient;
let db: pg.Client;

/** Its robots.txt and its sitemaps as the test wants them; everything else is a page. */
class SitemapSite {
  readonly asked = new Map<string, number>();
  robots: string | null = null;
  readonly files = new Map<string, string>();
  private readonly server: Server = createServer((request, response) => {
    const path = request.url!;
    this.asked.set(path, (this.asked.get(path) ?? 0) + 1);
    if (path === '/robots.txt')
      return void response
        .writeHead(this.robots === null ? 404 : 200, { 'content-type': 'text/plain' })
        .end(this.robots);
    const file = this.files.get(path);
    if (file !== undefined) return void response.writeHead(200, { 'content-type': 'application/xml' }).end(file);
    if (path.endsWith('.xml')) return void response.writeHead(404).end();
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>x</title><main><p>A plain page.</p></main>');
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

beforeAll(async () => {
  cluster = await startCluster({
    env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', FETCHER_CLASSES: 'http' },
  });
  client = new ApiClient(cluster.url, cluster.apiKey);
  db = new pg.Client({ connectionString: (await cluster.record()).postgres });
  await db.connect();
}, 180_000);

afterEach(async () => {
  const { rows } = await db.query<{ key: string; bytes: number }>(
    'SELECT key, length(state::text) AS bytes FROM actor ORDER BY 2 DESC LIMIT 1',
  );
  expect(rows[0]!.bytes).toBeLessThan(MOST_STATE_BYTES);
  const dead = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM dead_letter');
  expect(dead.rows[0]!.n).toBe(0);
});

afterAll(async () => {
  await db?.end();
  await cluster?.stop();
}, 60_000);

async function withSite(run: (site: SitemapSite) => Promise<void>): Promise<void> {
  const site = new SitemapSite();
  await site.start();
  try {
    await run(site);
  } finally {
    site.stop();
  }
}

const urlSet = (url: string): string => `<urlset><url><loc>${url}</loc></url></urlset>`;

async function startCrawl(url: string): Promise<string> {
  const answer = await client.post('/v2/crawl', { url, limit: 5_000, sitemap: 'include' });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.body.id as string;
}

it(
  `${JOBS} batches of one URL on one host with one key all end`,
  () =>
    withSite(async (site) => {
      const ids: string[] = [];
      const post = async (): Promise<void> => {
        while (ids.length < JOBS) {
          const n = ids.push('') - 1;
          const answer = await client.post('/v2/batch/scrape', { urls: [`${site.origin}/page/${n}`] });
          if (answer.status !== 200) throw new Error(answer.text);
          ids[n] = answer.body.id as string;
        }
      };
      await Promise.all(Array.from({ length: 8 }, post));
      let open = ids;
      const deadlineMs = performance.now() + PATIENCE_MS;
      while (open.length > 0) {
        if (performance.now() > deadlineMs) throw new Error(`${open.length} batches have not ended`);
        const statuses = await Promise.all(
          open.slice(0, 50).map(async (id) => (await client.call(`/v2/batch/scrape/${id}`)).body),
        );
        const ended = statuses.filter(({ status }) => status !== 'scraping');
        expect(ended.every(({ status, completed }) => status === 'completed' && completed === 1)).toBe(true);
        open = open.filter((_, n) => n >= 50 || statuses[n]!.status === 'scraping');
        if (ended.length === 0) await sleep(250);
      }
    }),
  PATIENCE_MS + 10_000,
);

it(
  `a sitemap index of ${CHILDREN} files is read to its end`,
  () =>
    withSite(async (site) => {
      const children = Array.from({ length: CHILDREN }, (_, n) => `/maps/of/one/of/very/many/sections/${n}.xml`);
      children.forEach((path, n) =>
        site.files.set(path, n % PAGE_EVERY === 0 ? urlSet(`${site.origin}/named/${n}`) : '<urlset/>'),
      );
      const list = children.map((path) => `<sitemap><loc>${site.origin}${path}</loc></sitemap>`).join('');
      site.files.set('/sitemap.xml', `<sitemapindex>${list}</sitemapindex>`);
      const id = await startCrawl(`${site.origin}/`);
      const status = await client.finished<{ status: string; completed: number }>(`/v2/crawl/${id}`, PATIENCE_MS);
      expect(children.filter((path) => !site.asked.has(path))).toEqual([]);
      expect(status).toMatchObject({ status: 'completed', completed: 1 + Math.ceil(CHILDREN / PAGE_EVERY) });
    }),
  PATIENCE_MS + 10_000,
);

it(
  `a robots.txt with ${ROBOTS_LINES} sitemaps is read to its end`,
  () =>
    withSite(async (site) => {
      const paths = Array.from({ length: ROBOTS_LINES }, (_, n) => `/${'long/'.repeat(90)}${n}.xml`);
      paths.forEach((path, n) =>
        site.files.set(path, n % PAGE_EVERY === 0 ? urlSet(`${site.origin}/listed/${n}`) : '<urlset/>'),
      );
      site.robots = paths.map((path) => `Sitemap: ${site.origin}${path}`).join('\n');
      expect(site.robots.length).toBeGreaterThan(450_000);
      const id = await startCrawl(`${site.origin}/`);
      const status = await client.finished<{ status: string; completed: number }>(`/v2/crawl/${id}`, PATIENCE_MS);
      expect(paths.filter((path) => !site.asked.has(path))).toEqual([]);
      expect(status).toMatchObject({ status: 'completed', completed: 1 + ROBOTS_LINES / PAGE_EVERY });
    }),
  PATIENCE_MS + 10_000,
);
