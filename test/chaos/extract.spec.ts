/**
 * An extract job while everything that works for it is killed: every thing is told once, no finished page is fetched again
 * and no finished step asks the model again. What was finished at a kill is read from the database at that moment.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { blocksOf, modelEnv, readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { PRODUCTS_SCHEMA, ShopSite, type Product } from '../support/shop-site.js';
import { query } from './evidence.js';
import { JobClient } from './job-client.js';

const LISTS = 40;
const SHOP = 'shop';
/** The queue gives the work of a dead extractor to another after a minute. */
const PATIENCE_MS = 180_000;
/** Slow enough that pages are being fetched and read when the last process is killed. */
const SITE_MS = 700;
const MODEL_MS = 900;
/** Pages read when each is killed. */
const KILLS = [
  { victim: 'fetcher', read: 4 },
  { victim: 'scheduler', read: 9 },
  { victim: 'extractor', read: 15 },
];

let shop: ShopSite;
let model: ModelServer;
let cluster: TestCluster;

beforeAll(async () => {
  shop = await ShopSite.start(LISTS);
  shop.latencyMs = SITE_MS;
  model = await startModelServer({
    brain: (request) => ({ ...readingBrain(request), delayMs: MODEL_MS }),
  });
  cluster = await startCluster({
    env: { ...modelEnv(model), ALLOW_PRIVATE_TARGETS: '127.0.0.1', HOST_GAP_MS: '0', HOST_MAX_CONN: '2' },
  });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([model?.close(), shop?.close()]);
}, 90_000);

/** What was finished when a process died. */
interface Moment {
  victim: string;
  requests: number;
  hits: number;
  read: Set<string>;
  stored: Set<string>;
}

const READ_PAGES = `SELECT s.result->'value'->0->>'url' AS url FROM model_step s JOIN job_id i USING (job_no)
  WHERE i.id = $1 AND s.step LIKE 'page/%'`;
const STORED_PAGES = `SELECT p.final_url AS url FROM page p JOIN job j USING (job_no) WHERE j.parent = $1::uuid`;

async function urlsOf(sql: string, job: string): Promise<string[]> {
  return (await query<{ url: string }>(cluster, sql, [job])).map(({ url }) => url);
}

async function killAt(job: string, { victim, read }: (typeof KILLS)[number]): Promise<Moment> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while ((await urlsOf(READ_PAGES, job)).length < read) {
    if (performance.now() > deadlineMs) throw new Error(`${read} pages were never read`);
    await sleep(50);
  }
  const finished = [await urlsOf(READ_PAGES, job), await urlsOf(STORED_PAGES, job)];
  const { length: requests } = model.requests;
  const { length: hits } = shop.hits(SHOP);
  const pid = await cluster.signal(victim, 'SIGKILL');
  await cluster.waitForRestart(victim, pid, 60_000);
  return { victim, requests, hits, read: new Set(finished[0]), stored: new Set(finished[1]) };
}

/** The page that a question to the model is about; the front of the shop is the same page with a final slash. */
const pageOf = ({ messages }: ModelServer['requests'][number]): string =>
  (blocksOf(messages)[0]?.url ?? '').replace(/\/$/, '');

function repeatsOf(list: readonly string[]): number {
  return list.length - new Set(list).size;
}

describe('an extract job whose workers are killed', () => {
  it(
    'tells every product once, and repeats nothing that was finished',
    async () => {
      const jobs = new JobClient(cluster, 'extract');
      const id = await jobs.start({ urls: [`${shop.url(`/${SHOP}`)}/*`], schema: PRODUCTS_SCHEMA, showSources: true });
      const moments: Moment[] = [];
      for (const kill of KILLS) moments.push(await killAt(id, kill));
      const { status, data, creditsUsed, tokensUsed } = await jobs.extractEnd(id, PATIENCE_MS);
      expect(status).toBe('completed');
      const products = (data as { products: Product[] }).products;
      expect([...products].sort((a, b) => a.price - b.price)).toEqual(shop.products());
      const asked = model.requests.map(pageOf);
      const hits = shop.hits(SHOP).map((path) => shop.url(path));
      for (const { victim, requests, hits: before, read, stored } of moments) {
        expect([victim, asked.slice(requests).filter((url) => read.has(url))]).toEqual([victim, []]);
        expect([victim, hits.slice(before).filter((url) => stored.has(url))]).toEqual([victim, []]);
      }
      const pages = shop.pages(SHOP);
      expect(new Set(asked)).toEqual(new Set(pages));
      // Only what the extractor had in work when it died.
      expect(repeatsOf(asked)).toBeLessThanOrEqual(8);
      const [books] = await query<{ steps: string; tokens: string; ledger: number; children: string; dead: string }>(
        cluster,
        `SELECT count(*) AS steps, sum(s.tokens) AS tokens,
          (SELECT sum(credits)::float8 FROM credit_ledger) AS ledger, (SELECT count(*) FROM dead_letter) AS dead,
          (SELECT count(*) FROM job WHERE parent = $1::uuid) AS children
         FROM model_step s JOIN job_id i USING (job_no) WHERE i.id = $1::uuid AND s.step LIKE 'page/%'`,
        [id],
      );
      expect(books).toMatchObject({
        steps: String(pages.length),
        tokens: String(tokensUsed),
        children: '1',
        dead: '0',
      });
      expect(creditsUsed).toBe(Math.ceil(tokensUsed / 15));
      expect(books!.ledger).toBe(creditsUsed);
    },
    PATIENCE_MS + 90_000,
  );
});
