/** The published MCP server (over stdio) and command line client, each doing a scrape, a crawl and a map. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type KnownSite } from '../sites/known-graph/index.js';
import { type RunningCluster } from '../support/cluster.js';
import { CLIENTS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { addresses, DOCS, startClientSite } from './client-site.js';
import { findCli, findMcpServer } from './packages.js';

const TIMEOUT_MS = 120_000;
const PROTOCOL = '2025-06-18';

let stage: Stage;
let cluster: RunningCluster;
let site: KnownSite;
let home: string;

const mcpServer = await findMcpServer();
const cli = await findCli();

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'troupe-tools-'));
  site = await startClientSite();
  stage = await startStage(CLIENTS_CLUSTER);
  ({ cluster } = stage);
}, TIMEOUT_MS);

afterAll(async () => {
  await stage?.stop();
  await site?.stop();
  rmSync(home, { recursive: true, force: true });
}, TIMEOUT_MS);

/** Everything that could make a client talk to anybody else is set or off. */
function clientEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: home,
    FIRECRAWL_API_KEY: cluster.apiKey,
    FIRECRAWL_API_URL: cluster.url,
    FIRECRAWL_NO_UPDATE_CHECK: '1',
    NO_COLOR: '1',
  };
}

/** Addresses of the site's documentation pages in a text, sorted, each once. */
function docsIn(text: string): string[] {
  const found = text.match(/http:\/\/[\w.:-]+\/docs(?:\/\d+)?(?![\w/])/g) ?? [];
  return [...new Set(found)].sort();
}

interface ToolAnswer {
  content: { type: string; text: string }[];
  isError?: boolean;
}

/** JSON-RPC, a line each way (Model Context Protocol, transport stdio). */
class McpClient {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, (answer: { result?: unknown; error?: { message: string } }) => void>();
  private nextId = 1;

  constructor(program: string) {
    this.child = spawn(process.execPath, [program], { env: clientEnvironment() });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const answer = JSON.parse(line) as { id?: number; result?: unknown; error?: { message: string } };
      if (answer.id !== undefined) this.waiting.get(answer.id)?.(answer);
    });
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'troupe-specs', version: '1' };
    await this.ask('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    this.send({ method: 'notifications/initialized' });
  }

  async call(name: string, args: object): Promise<string> {
    const answer = await this.ask<ToolAnswer>('tools/call', { name, arguments: args });
    const text = answer.content.map((part) => part.text).join('\n');
    if (answer.isError) throw new Error(text);
    return text;
  }

  close(): void {
    this.child.kill('SIGTERM');
  }

  private ask<T>(method: string, params: object): Promise<T> {
    const id = this.nextId++;
    this.send({ id, method, params });
    return new Promise((resolve, reject) =>
      this.waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result as T))),
    );
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}

(mcpServer === null ? describe.skip : describe)('the MCP server', () => {
  let mcp: McpClient;

  beforeAll(async () => {
    mcp = new McpClient(mcpServer!);
    await mcp.open();
  }, TIMEOUT_MS);

  afterAll(() => mcp?.close());

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
    'crawls',
    async () => {
      const started = await mcp.call('firecrawl_crawl', { url: site.url('/docs'), sitemap: 'skip', limit: 100 });
      const id = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(started)?.[0];
      let text = started;
      while (!/"status":\s*"completed"/.test(text)) text = await mcp.call('firecrawl_check_crawl_status', { id });
      for (const address of addresses(site, DOCS)) expect(text).toContain(`"${address}"`);
    },
    TIMEOUT_MS,
  );
});

(cli === null ? describe.skip : describe)('the command line client', () => {
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [cli!, ...args], { env: clientEnvironment(), cwd: home })).stdout;

  it(
    'scrapes',
    async () => {
      expect(await run('scrape', site.url('/docs/3'))).toContain('Page /docs/3');
    },
    TIMEOUT_MS,
  );

  it(
    'maps',
    async () => {
      expect(docsIn(await run('map', site.url('/docs'), '--sitemap', 'skip'))).toEqual(addresses(site, DOCS));
    },
    TIMEOUT_MS,
  );

  it(
    'crawls',
    async () => {
      const options = ['--sitemap', 'skip', '--limit', '100', '--wait', '--poll-interval', '1'];
      const job = JSON.parse(await run('crawl', site.url('/docs'), ...options)) as { data: object };
      const text = JSON.stringify(job);
      for (const address of addresses(site, DOCS)) expect(text).toContain(`"${address}"`);
    },
    TIMEOUT_MS,
  );

  it(
    'shows the credits',
    async () => {
      expect(await run('credit-usage')).toMatch(/credits/i);
    },
    TIMEOUT_MS,
  );
});
