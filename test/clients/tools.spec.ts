/** The published command line client, doing a scrape, a crawl and a map. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type KnownSite } from '../sites/known-graph/index.js';
import { type RunningCluster } from '../support/cluster.js';
import { CLIENTS_CLUSTER, startStage, type Stage } from '../support/shared-stage.js';
import { addresses, docsIn, DOCS, startClientSite } from './client-site.js';
import { clientEnvironment } from './client-environment.js';
import { findCli } from './packages.js';

const TIMEOUT_MS = 120_000;

let stage: Stage;
let cluster: RunningCluster;
let site: KnownSite;
let home: string;

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

(cli === null ? describe.skip : describe)('the command line client', () => {
  const run = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [cli!, ...args], { env: clientEnvironment(cluster, home), cwd: home }))
      .stdout;

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
