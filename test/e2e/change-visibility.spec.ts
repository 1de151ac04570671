/** Pages that a crawl has from its team's history and not from its site: are they still there, and who hears of them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const SETUP_TIMEOUT_MS = 120_000;
/** Every tracked page is given 5 s to settle, in a browser where there is one. */
const TEST_TIMEOUT_MS = 240_000;
const CRAWL_TIMEOUT_MS = 120_000;
const OWN_KEY = 'fc-key-of-our-team';
const STRANGE_KEY = 'fc-key-of-another-team';

interface CrawlStatus {
  status: string;
  total: number;
  completed: number;
  creditsUsed: number;
  data: {
    metadata: { sourceURL: string; statusCode: number };
    changeTracking?: { previousScrapeAt: string | null; changeStatus: string; visibility: string };
  }[];
}

interface LedgerPage {
  counts: Record<string, number>;
  discovered: number;
  urls: { url: string; outcome: string; source?: string; parent?: string; depth: number }[];
}

let site: Site;
let cluster: TestCluster;
let own: ApiClient;
let stranger: ApiClient;
/** Links of each page that there is. */
const pages = new Map<string, string[]>();

beforeAll(async () => {
  site = await startSite((request, response) => {
    const path = request.url ?? '';
    const links = pages.get(path);
    response.writeHead(links === undefined ? 404 : 200, { 'content-type': 'text/html' });
    const anchors = (links ?? []).map((link) => `<a href="${link}">${link}</a>`).join(' ');
    response.end(`<!doctype html><html><body><main><h1>Page ${path}</h1><p>Text.</p>${anchors}</main></body></html>`);
  });
  const env = {
    ALLOW_PRIVATE_TARGETS: '127.0.0.1',
    HOST_GAP_MS: '0',
    HOST_MAX_CONN: '8',
    LLM_PROVIDER: 'none',
    TROUPE_BOOTSTRAP_KEYS: `own:${OWN_KEY},other:${STRANGE_KEY}`,
  };
  cluster = await startCluster({ env });
  own = new ApiClient(cluster.url, OWN_KEY);
  stranger = new ApiClient(cluster.url, STRANGE_KEY);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

/** Each test has a folder of the site to itself. */
let folder = '';
let folders = 0;
beforeEach(() => {
  folder = `/site${folders++}/`;
  pages.clear();
});

function serve(linked: Record<string, string[]>): void {
  pages.clear();
  for (const [name, links] of Object.entries(linked)) pages.set(folder + name, links);
}

interface Wish {
  api?: ApiClient;
  tag?: string;
  limit?: number;
  tracks?: boolean;
  version?: 'v1' | 'v2';
  more?: object;
}

async function crawl({ api = own, tag, limit = 100, tracks = true, version = 'v2', more = {} }: Wish = {}) {
  const tracking = { ...(tag === undefined ? {} : { tag }) };
  const formats = {
    v2: ['markdown', ...(tracks ? [{ type: 'changeTracking', ...tracking }] : [])],
    v1: ['markdown', ...(tracks ? ['changeTracking'] : [])],
  }[version];
  const started = await api.post(`/${version}/crawl`, {
    url: site.origin + folder,
    limit,
    ...(version === 'v1' ? { ignoreSitemap: true } : { sitemap: 'skip' }),
    scrapeOptions: { formats, timeout: 60_000 },
    ...more,
  });
  if (started.status !== 200) throw new Error(`the crawl was refused: ${started.text}`);
  const path = `/${version}/crawl/${started.body.id as string}`;
  const status = await api.finished<CrawlStatus>(path, CRAWL_TIMEOUT_MS);
  const { counts, discovered, urls } = (await api.call(`/v2/crawl/${started.body.id as string}/ledger`))
    .body as unknown as LedgerPage;
  expect(Object.values(counts).reduce((sum, n) => sum + n, 0)).toBe(discovered);
  expect(urls).toHaveLength(discovered);
  return { status, ledger: { counts, discovered, urls }, found: findingsOf(status) };
}

const nameOf = (url: string): string => new URL(url).pathname.slice(folder.length) || '.';

/** `name: status visibility` of every document. */
function findingsOf({ data }: CrawlStatus): Record<string, string> {
  const entries = data.map(({ metadata, changeTracking }) => [
    nameOf(metadata.sourceURL),
    changeTracking === undefined ? 'untracked' : `${changeTracking.changeStatus} ${changeTracking.visibility}`,
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

const WHOLE = { '': ['a', 'b', 'c'], a: [], b: ['d'], c: [], d: [] };
/** Nothing links to b any more, which links to d and to a new page; c is gone. */
const LATER = { '': ['a'], a: [], b: ['d', 'e'], d: [], e: [] };

describe('a crawl that tracks changes', () => {
  it(
    'finds what its history knows and its site does not link to any more, and says so',
    async () => {
      serve(WHOLE);
      const first = await crawl();
      expect(first.found).toEqual({
        '.': 'new visible',
        a: 'new visible',
        b: 'new visible',
        c: 'new visible',
        d: 'new visible',
      });
      serve(LATER);
      const second = await crawl();
      expect(second.found).toEqual({
        '.': 'changed visible',
        a: 'same visible',
        b: 'changed hidden',
        c: 'removed hidden',
        d: 'same hidden',
        e: 'new visible',
      });
      expect(second.status).toMatchObject({ status: 'completed', total: 6, completed: 6, creditsUsed: 6 });
      expect(second.status.data.at(0)?.metadata.sourceURL).toBe(site.origin + folder);
      for (const { changeTracking } of second.status.data)
        if (changeTracking?.changeStatus !== 'new')
          expect(changeTracking?.previousScrapeAt).toEqual(expect.any(String));
      expect(second.ledger.counts).toEqual({ ok: 6 });
      const sources = second.ledger.urls.map(({ url, source = '', parent = '', depth }) => [
        nameOf(url),
        source,
        parent === '' ? '' : nameOf(parent),
        depth,
      ]);
      expect(Object.fromEntries(sources.map(([name, ...rest]) => [name, rest]))).toEqual({
        '.': ['', '', 0],
        a: ['', '.', 1],
        b: ['history', '', 0],
        c: ['history', '', 0],
        d: ['history', '', 0],
        e: ['', 'b', 1],
      });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'keeps to its limit and to its own rules, also in v1, and looks into no other histories',
    async () => {
      serve(WHOLE);
      await crawl();
      serve(LATER);
      const [limited, excluding, otherTag, otherTeam, untracked] = await Promise.all([
        crawl({ limit: 3 }),
        crawl({ more: { excludePaths: ['/(b|c)$'] } }),
        crawl({ tag: 'daily' }),
        crawl({ api: stranger }),
        crawl({ tracks: false }),
      ]);
      const visits = (findings: Record<string, string>) => Object.keys(findings).sort();
      expect(limited.status).toMatchObject({ total: 3, completed: 3 });
      expect(visits(limited.found).slice(0, 2)).toEqual(['.', 'a']);
      expect(Object.values(limited.found).filter((finding) => finding.endsWith('hidden'))).toHaveLength(1);
      expect(limited.ledger.counts).toMatchObject({ ok: 3 });
      expect(limited.ledger.counts.limit).toBeGreaterThanOrEqual(2);
      expect(excluding.found).toMatchObject({ d: expect.stringContaining('hidden') });
      expect(visits(excluding.found)).toEqual(['.', 'a', 'd']);
      expect(otherTag.found).toEqual({ '.': 'new visible', a: 'new visible' });
      expect(otherTeam.found).toEqual({ '.': 'new visible', a: 'new visible' });
      expect(untracked.found).toEqual({ '.': 'untracked', a: 'untracked' });
      const v1 = await crawl({ version: 'v1' });
      expect(v1.found).toMatchObject({ a: 'same visible', c: 'removed hidden', d: 'same hidden' });
      // Which of the hidden pages the limited crawl has seen is up to their fingerprints.
      expect(v1.found.b).toMatch(/^(same|changed) hidden$/);
      expect(v1.status).toMatchObject({ total: 6, completed: 6 });
    },
    TEST_TIMEOUT_MS,
  );
});
