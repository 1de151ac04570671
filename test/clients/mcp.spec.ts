/**
 * The published MCP server, the newest there is: search, scrape, crawl with status, map and agent, as a model behind it asks
 * for them. It names a source and options of the hosted service in every search, which must not be in the way.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KnownSite } from '../sites/known-graph/index.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import {
  blocksOf,
  modelEnv,
  startModelServer,
  type BrainRequest,
  type ModelServer,
  type Reply,
} from '../support/model-server/index.js';
import { startSearxng, type Indexed, type SearxngServer } from '../support/searxng-server.js';
import { clientEnvironment } from './client-environment.js';
import { addresses, docsIn, DOCS, startClientSite } from './client-site.js';
import { McpClient } from './mcp-client.js';
import { findMcpServer } from './packages.js';

const TIMEOUT_MS = 120_000;

let site: KnownSite;
let searxng: SearxngServer;
let model: ModelServer;
let cluster: TestCluster;
let home: string;
let mcp: McpClient;

const mcpServer = await findMcpServer();

interface WebResult {
  url: string;
  title: string;
  description: string;
  category?: string;
  markdown?: string;
  metadata?: { statusCode: number };
}

interface SearchAnswer {
  success: boolean;
  data: Record<string, WebResult[]>;
  warning?: string;
  errors?: { url: string; code: string }[];
}

function corpus(): Indexed[] {
  const found = (url: string, title: string): Indexed => ({ url, title, content: 'about pages', category: 'general' });
  return [
    found(site.url('/docs/3'), 'Third page'),
    found('http://10.1.2.3/', 'Inner page'),
    found('https://github.com/troupe/troupe', 'Code of pages'),
  ];
}

/** Reads the page it is asked about, then answers with its title. */
function brain({ messages, tools }: BrainRequest): Reply {
  const page = blocksOf(messages).find(({ url }) => url !== null);
  if (page === undefined) return { toolCalls: [{ name: 'scrape', arguments: { url: site.url('/docs/5') } }] };
  const value = { title: /Page \/docs\/\d+/.exec(page.text)?.[0] ?? 'none' };
  const hasTool = tools.some(({ name }) => name === 'answer');
  return hasTool ? { toolCalls: [{ name: 'answer', arguments: value }] } : { value };
}

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'troupe-mcp-'));
  site = await startClientSite();
  searxng = await startSearxng(corpus);
  model = await startModelServer({ brain });
  const env = {
    ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
    HOST_GAP_MS: '0',
    SEARXNG_URL: searxng.url,
    ...modelEnv(model),
  };
  cluster = await startCluster({ env });
  if (mcpServer === null) return;
  mcp = new McpClient(mcpServer, clientEnvironment(cluster, home));
  await mcp.open();
}, TIMEOUT_MS);

afterAll(async () => {
  mcp?.close();
  await cluster?.stop();
  await model?.close();
  await searxng?.close();
  await site?.stop();
  rmSync(home, { recursive: true, force: true });
}, TIMEOUT_MS);

(mcpServer === null ? describe.skip : describe)('the MCP server', () => {
  it('offers the tools of these specs', async () => {
    const names = ['search', 'scrape', 'crawl', 'check_crawl_status', 'map', 'agent', 'agent_status'];
    expect(await mcp.tools()).toEqual(expect.arrayContaining(names.map((name) => `firecrawl_${name}`)));
  });

  it(
    'searches',
    async () => {
      const { success, data, warning } = await mcp.json<SearchAnswer>('firecrawl_search', { query: 'pages' });
      expect({ success, warning, sources: Object.keys(data) }).toEqual({ success: true, sources: ['web'] });
      expect(data.web).toContainEqual({
        url: site.url('/docs/3'),
        title: 'Third page',
        description: 'about pages',
        position: 1,
      });
    },
    TIMEOUT_MS,
  );

  it(
    'searches for programmers',
    async () => {
      const args = { query: 'pages', categories: ['developer'], limit: 3 };
      const { data } = await mcp.json<SearchAnswer>('firecrawl_search', args);
      expect(data.web).toEqual([expect.objectContaining({ title: 'Code of pages', category: 'developer' })]);
    },
    TIMEOUT_MS,
  );

  it(
    'searches and reads what it finds; what cannot be read stays a result',
    async () => {
      const args = { query: 'about', limit: 2, scrapeOptions: { formats: ['markdown'] } };
      const answer = await mcp.json<SearchAnswer>('firecrawl_search', args);
      const [read, unread] = answer.data.web!;
      expect(read).toMatchObject({ title: 'Third page', markdown: expect.stringContaining('Page /docs/3') });
      expect(unread).toEqual({
        url: 'http://10.1.2.3/',
        title: 'Inner page',
        description: 'about pages',
        position: 2,
      });
      expect(answer.errors).toMatchObject([{ url: 'http://10.1.2.3/', code: 'SCRAPE_TARGET_FORBIDDEN' }]);
    },
    TIMEOUT_MS,
  );

  it(
    'tells the model by name what is not offered',
    async () => {
      await expect(mcp.call('firecrawl_search', { query: 'x', sources: ['alexandria'] })).rejects.toThrow(
        'not enabled',
      );
      const alexandria = { provider: 'fred', capability: 'series', options: {} };
      await expect(mcp.call('firecrawl_scrape', { alexandria })).rejects.toThrow('alexandria is not supported');
      const url = site.url('/docs/3');
      await expect(mcp.call('firecrawl_scrape', { url, lockdown: true })).rejects.toThrow('lockdown is not supported');
    },
    TIMEOUT_MS,
  );

  it(
    'scrapes',
    async () => {
      const text = await mcp.call('firecrawl_scrape', { url: site.url('/docs/3'), formats: ['markdown'] });
      expect(text).toContain('Page /docs/3');
    },
    TIMEOUT_MS,
  );

  it(
    'maps',
    async () => {
      const text = await mcp.call('firecrawl_map', { url: site.url('/docs'), sitemap: 'skip' });
      expect(docsIn(text)).toEqual(addresses(site, DOCS));
    },
    TIMEOUT_MS,
  );

  it(
    'crawls, and tells how far it is',
    async () => {
      const started = await mcp.call('firecrawl_crawl', { url: site.url('/docs'), sitemap: 'skip', limit: 100 });
      const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(started)?.[0];
      let text = started;
      while (!/"status":\s*"completed"/.test(text)) text = await mcp.call('firecrawl_check_crawl_status', { id });
      for (const address of addresses(site, DOCS)) expect(text).toContain(`"${address}"`);
    },
    TIMEOUT_MS,
  );

  it(
    'sends an agent, and is told what it found',
    async () => {
      const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
      const order = { prompt: 'The title of the fifth page', urls: [site.url('/docs/5')], schema, effort: 'low' };
      const { id } = await mcp.json<{ id: string }>('firecrawl_agent', order);
      let run: { status: string; data?: unknown } = { status: 'processing' };
      while (run.status === 'processing') {
        run = await mcp.json('firecrawl_agent_status', { id });
        await sleep(100);
      }
      expect(run).toMatchObject({ status: 'completed', data: { title: 'Page /docs/5' } });
    },
    TIMEOUT_MS,
  );
});
