/**
 * An extract job over a site that is known to the last link, while everything that works for it is killed: everything that
 * its pages show is told once and with its sources, no finished page is fetched again and no finished step asks the model
 * again. What was finished at a kill is read from the database at that moment.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  expectCrawl,
  isPageRequest,
  peculiarSite,
  startKnownSite,
  stocked,
  type KnownSite,
  type Thing,
} from '../sites/known-graph/index.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { blocksOf, modelEnv, readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { PRODUCTS_SCHEMA } from '../support/shop-site.js';
import { query } from './evidence.js';
import { JobClient } from './job-client.js';

/** The queue gives the work of a dead extractor to another after a minute. */
const PATIENCE_MS = 180_000;
/** Slow enough that pages are being fetched and read when a process is killed. */
const SITE_MS = 500;
const MODEL_MS = 900;
/** Pages read when each is killed. */
const KILLS = [
  { victim: 'fetcher', read: 6 },
  { victim: 'scheduler', read: 20 },
  { victim: 'extractor', read: 36 },
];
/** Steps that one extractor has in work at a time. */
const OPEN_STEPS = 8;

let site: KnownSite;
let model: ModelServer;
let cluster: TestCluster;

beforeAll(async () => {
  site = await startKnownSite(stocked(peculiarSite), { hosts: 2, latencyMs: SITE_MS });
  model = await startModelServer({
    brain: (request) => ({ ...readingBrain(request), delayMs: MODEL_MS }),
  });
  cluster = await startCluster({
    env: { ...modelEnv(model), ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GAP_MS: '0', HOST_MAX_CONN: '4' },
  });
}, 180_000);

afterAll(async () => {
  await cluster?.stop();
  await Promise.all([model?.close(), site?.stop()]);
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

const withoutFragment = (url: string): string => url.split('#')[0]!;

async function urlsOf(sql: string, job: string): Promise<string[]> {
  return (await query<{ url: string }>(cluster, sql, [job])).map(({ url }) => withoutFragment(url));
}

function hits(): string[] {
  return site.requests(isPageRequest).map(({ host, path }) => `http://${host}${path}`);
}

async function killAt(job: string, { victim, read }: (typeof KILLS)[number]): Promise<Moment> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while ((await urlsOf(READ_PAGES, job)).length < read) {
    if (performance.now() > deadlineMs) throw new Error(`${read} pages were never read`);
    await sleep(50);
  }
  const finished = [await urlsOf(READ_PAGES, job), await urlsOf(STORED_PAGES, job)];
  const moment = { victim, requests: model.requests.length, hits: hits().length };
  const pid = await cluster.signal(victim, 'SIGKILL');
  await cluster.waitForRestart(victim, pid, 60_000);
  return { ...moment, read: new Set(finished[0]), stored: new Set(finished[1]) };
}

/** The page that a question to the model is about. */
const pageOf = ({ messages }: ModelServer['requests'][number]): string =>
  withoutFragment(blocksOf(messages)[0]?.url ?? '');

function repeatsOf(list: readonly string[]): number {
  return list.length - new Set(list).size;
}

/** Pages that are asked for once more by whatever leads to them. */
function ledTo(): Set<string> {
  const targets = Object.entries(site.resources[0]!).flatMap(([path, resource]) => {
    const to = resource.type === 'redirect' ? resource.to : resource.type === 'page' ? resource.refresh?.to : undefined;
    return to === undefined ? [] : [withoutFragment(new URL(to, site.url(path)).href)];
  });
  return new Set(targets);
}

interface Expected {
  /** Pages that are stored, answered with an error or not. */
  stored: string[];
  /** Those that a model reads. */
  readable: string[];
  things: Map<string, { thing: Thing; urls: string[] }>;
}

function expectedOf(): Expected {
  const documents = [...expectCrawl(site, { url: site.url('/') }).outcomes.values()].filter(
    ({ outcome }) => outcome === 'ok',
  );
  const readable = documents.filter(({ status }) => status! < 400).map(({ finalUrl }) => finalUrl);
  const things: Expected['things'] = new Map();
  for (const url of readable) {
    const { pathname, search } = new URL(url);
    const resource = site.resources[0]![pathname + search];
    for (const thing of resource?.type === 'page' ? (resource.things ?? []) : []) {
      const { urls } = things.get(thing.sku) ?? { urls: [] };
      things.set(thing.sku, { thing, urls: [...urls, url] });
    }
  }
  return { stored: documents.map(({ finalUrl }) => finalUrl), readable, things };
}

/** Where each field of the nth thing was read. */
function sourcesOf(sources: Record<string, string[]>, nth: number): Record<string, string[]> {
  const urlsOf = (field: string): string[] =>
    [...new Set((sources[`products[${nth}].${field}`] ?? []).map(withoutFragment))].sort();
  return { name: urlsOf('name'), sku: urlsOf('sku'), price: urlsOf('price') };
}

const bySku = (a: Thing, b: Thing): number => (a.sku < b.sku ? -1 : 1);

describe('an extract job over a known site whose workers are killed', () => {
  it(
    'tells everything once with its sources, and repeats nothing that was finished',
    async () => {
      const expected = expectedOf();
      const jobs = new JobClient(cluster, 'extract');
      const id = await jobs.start({ urls: [site.url('/*')], schema: PRODUCTS_SCHEMA, showSources: true });
      const moments: Moment[] = [];
      for (const kill of KILLS) moments.push(await killAt(id, kill));
      const { status, data, sources, creditsUsed, tokensUsed } = await jobs.extractEnd(id, PATIENCE_MS);
      expect(status).toBe('completed');
      const told = (data as { products: Thing[] }).products;
      const things = [...expected.things.values()];
      expect([...told].sort(bySku)).toEqual(things.map(({ thing }) => thing).sort(bySku));
      for (const [nth, { sku }] of told.entries()) {
        const urls = [...expected.things.get(sku)!.urls].sort();
        expect([sku, sourcesOf(sources!, nth)]).toEqual([sku, { name: urls, sku: urls, price: urls }]);
      }
      const asked = model.requests.map(pageOf);
      const fetched = hits();
      const mayComeAgain = ledTo();
      for (const { victim, requests, hits: before, read, stored } of moments) {
        const again = fetched.slice(before).filter((url) => stored.has(url) && !mayComeAgain.has(url));
        expect([victim, asked.slice(requests).filter((url) => read.has(url))]).toEqual([victim, []]);
        expect([victim, again]).toEqual([victim, []]);
        expect([victim, read.size < expected.stored.length]).toEqual([victim, true]);
      }
      // The site was still being fetched when the first two died.
      for (const { victim, stored } of moments.slice(0, 2))
        expect([victim, stored.size < expected.stored.length]).toEqual([victim, true]);
      expect([...new Set(asked)].sort()).toEqual([...expected.readable].sort());
      // Only what the extractor had in work when it died.
      expect(repeatsOf(asked)).toBeLessThanOrEqual(OPEN_STEPS);
      const [books] = await query<{ steps: string; tokens: string; ledger: number; children: string; dead: string }>(
        cluster,
        `SELECT count(*) AS steps, sum(s.tokens) AS tokens,
          (SELECT sum(credits)::float8 FROM credit_ledger) AS ledger, (SELECT count(*) FROM dead_letter) AS dead,
          (SELECT count(*) FROM job WHERE parent = $1::uuid) AS children
         FROM model_step s JOIN job_id i USING (job_no) WHERE i.id = $1::uuid AND s.step LIKE 'page/%'`,
        [id],
      );
      expect(books).toMatchObject({
        steps: String(expected.stored.length),
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
