/** Change tracking through the whole cluster: a site that changes between scrapes, and what is said about it. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSite, type Site } from '@troupe/testing';
import { ApiClient } from '../support/api-client.js';
import { FORMATS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';

const SETUP_TIMEOUT_MS = 120_000;
/** Every tracked page is given 5 s to settle, in a browser where there is one. */
const TEST_TIMEOUT_MS = 120_000;
const PAGE_TIMEOUT_MS = 60_000;

interface Tracked {
  markdown: string;
  warning?: string;
  changeTracking: { previousScrapeAt: string | null; changeStatus: string; visibility: string; diff?: unknown };
}

interface DiffObject {
  text: string;
  json: {
    files: { from: null; to: null; chunks: { content: string; changes: { type: string; content: string }[] }[] }[];
  };
}

let site: Site;
let stage: Stage;
let api: ApiClient;
/** Body of a path, null = gone. */
const bodies = new Map<string, string | null>();

beforeAll(async () => {
  site = await startSite((request, response) => {
    const body = bodies.get(request.url ?? '') ?? null;
    response.writeHead(body === null ? 404 : 200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><html><body><main>${body ?? '<h1>Gone</h1>'}</main></body></html>`);
  });
  stage = await startStage(FORMATS_CLUSTER);
  api = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

const formats = (options: object = {}) => ['markdown', { type: 'changeTracking', modes: ['git-diff'], ...options }];

async function track(path: string, options: object = {}, more: object = {}): Promise<Tracked> {
  const url = site.origin + path;
  const { status, body, text } = await api.post('/v2/scrape', {
    url,
    formats: formats(options),
    timeout: PAGE_TIMEOUT_MS,
    ...more,
  });
  if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
  return body.data as Tracked;
}

const ONE = '<h1>Prices</h1><p>Apples cost one.</p><p>Pears cost two.</p><ul><li>first</li><li>second</li></ul>';

/** Scraped once before everything else: each scrape takes its 5 s, so they run side by side. */
const SCRAPED = ['/same', '/shuffled', '/changed', '/object', '/removed', '/tagged', '/job'];

describe('a tracked page', () => {
  beforeAll(async () => {
    for (const path of SCRAPED) bodies.set(path, ONE);
    const first = await Promise.all(SCRAPED.map((path) => track(path, path === '/tagged' ? { tag: 'daily' } : {})));
    for (const { changeTracking } of first)
      expect(changeTracking).toEqual({ previousScrapeAt: null, changeStatus: 'new', visibility: 'visible' });
  }, TEST_TIMEOUT_MS);

  it(
    'is the same, changed or removed, shows how it changed, and has a history of its own for each tag',
    async () => {
      bodies.set('/shuffled', ONE.replace('<li>first</li><li>second</li>', '<li>second</li>\n\n<li>first</li>'));
      bodies.set('/changed', ONE.replace('two', 'three'));
      bodies.set('/object', ONE.replace('two', 'three'));
      bodies.set('/removed', null);
      const [same, shuffled, changed, object, removed, daily, weekly] = await Promise.all([
        track('/same'),
        track('/shuffled'),
        track('/changed'),
        track('/object', {}, { origin: 'js-sdk@4.0.0' }),
        track('/removed'),
        track('/tagged', { tag: 'daily' }),
        track('/tagged', { tag: 'weekly' }),
      ]);
      expect(same.changeTracking.changeStatus).toBe('same');
      expect(Date.now() - Date.parse(same.changeTracking.previousScrapeAt!)).toBeLessThan(TEST_TIMEOUT_MS);
      expect(shuffled.changeTracking.changeStatus).toBe('same');
      expect(removed.changeTracking).toMatchObject({ changeStatus: 'removed', previousScrapeAt: expect.any(String) });
      expect(daily.changeTracking.changeStatus).toBe('same');
      expect(weekly.changeTracking.changeStatus).toBe('new');

      const { diff, ...rest } = changed.changeTracking;
      expect(rest).toMatchObject({
        changeStatus: 'changed',
        visibility: 'visible',
        previousScrapeAt: expect.any(String),
      });
      expect(diff).toMatch(/^@@ -\d+,\d+ \+\d+,\d+ @@\n/);
      expect((diff as string).split('\n')).toEqual(
        expect.arrayContaining(['-Pears cost two.', '+Pears cost three.', ' Apples cost one.']),
      );
      const shown = object.changeTracking.diff as DiffObject;
      expect(shown.text).toBe(diff);
      expect(shown.json.files).toMatchObject([{ from: null, to: null }]);
      const changes = shown.json.files[0]!.chunks.flatMap((chunk) => chunk.changes);
      expect(changes.filter(({ type }) => type !== 'normal')).toEqual([
        { type: 'del', del: true, ln: 5, content: '-Pears cost two.' },
        { type: 'add', add: true, ln: 5, content: '+Pears cost three.' },
      ]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is compared across scrapes, batches and crawls',
    async () => {
      const url = `${site.origin}/job`;
      bodies.set('/job', ONE.replace('one', 'nothing'));
      const batch = await api.post('/v2/batch/scrape', { urls: [url], formats: formats(), timeout: PAGE_TIMEOUT_MS });
      const { data: fromBatch } = await api.finished<{ data: Tracked[] }>(
        `/v2/batch/scrape/${batch.body.id as string}`,
      );
      expect(fromBatch[0]!.changeTracking).toMatchObject({ changeStatus: 'changed', diff: expect.any(String) });
      const crawl = await api.post('/v2/crawl', {
        url,
        limit: 1,
        sitemap: 'skip',
        scrapeOptions: { formats: formats(), timeout: PAGE_TIMEOUT_MS },
      });
      const { data: fromCrawl } = await api.finished<{ data: Tracked[] }>(`/v2/crawl/${crawl.body.id as string}`);
      expect(fromCrawl[0]!.changeTracking).toMatchObject({ changeStatus: 'same', visibility: 'visible' });
    },
    TEST_TIMEOUT_MS,
  );
});

describe('change tracking', () => {
  it('needs markdown, and no model', async () => {
    const url = `${site.origin}/same`;
    for (const asked of [['changeTracking'], ['markdown', { type: 'changeTracking', modes: ['json'], prompt: 'x' }]]) {
      const { status, body } = await api.post('/v2/scrape', { url, formats: asked });
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' });
    }
  });
});
