/**
 * A browser is never without its sandbox in silence, and finds no secret of its fetcher: none in its own environment, and none in
 * that of any service beside it, which processes of the same user can read.
 */
import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KnownSite } from '../chaos/known-site.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type ClusterProcess, type TestCluster } from '../support/cluster.js';
import { startService } from '../support/service-process.js';

const ADMIN_KEY = 'operator-of-sandboxes-1';
const hasBrowser = (process.env.CHROMIUM_PATH ?? '') !== '';
const hasProc = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;

let cluster: TestCluster;
let site: KnownSite;

beforeAll(async () => {
  site = await KnownSite.start({ pages: 1, islands: 0 });
  cluster = await startCluster({ env: { ADMIN_KEY, ALLOW_PRIVATE_TARGETS: '127.0.0.1', LOG_FORMAT: 'json' } });
}, 180_000);
afterAll(async () => {
  await cluster?.stop();
  await site?.stop();
}, 60_000);

const environOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
const commandOf = (pid: number): Promise<string> => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '');

/** Of a process and all that it started. */
async function familyOf(pid: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = new Map<number, number>();
  for (const each of pids) {
    const stat = await readFile(`/proc/${each}/stat`, 'latin1').catch(() => null);
    if (stat !== null) parents.set(each, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const family = [pid];
  for (const member of family) family.push(...pids.filter((each) => parents.get(each) === member));
  return family;
}

async function fetcher(): Promise<ClusterProcess> {
  return (await cluster.processes()).find(({ name }) => name === 'fetcher')!;
}

async function secrets(): Promise<string[]> {
  const { postgres, nats } = await cluster.record();
  const passwords = [postgres, nats]
    .map((address) => new URL(address))
    .flatMap(({ password, username }) => [password, username]);
  return [...passwords.filter((text) => text.length > 12), cluster.apiKey, ADMIN_KEY];
}

const whenBrowser = hasBrowser && hasProc ? describe : describe.skip;

whenBrowser('the secrets of a cluster', () => {
  it('are in the environment of no service and of no browser', async () => {
    const api = new ApiClient(cluster.url, cluster.apiKey);
    const shown = await api.post('/v2/scrape', { url: site.startUrl('a'), formats: ['screenshot'] });
    expect(shown.status).toBe(200);
    const known = await secrets();
    expect(known.length).toBeGreaterThanOrEqual(3);
    const services = (await cluster.processes()).filter(({ health }) => health !== null);
    const family = (await Promise.all(services.map(({ pid }) => familyOf(pid!)))).flat();
    const commands = await Promise.all(family.map(commandOf));
    expect(commands.some((command) => command.includes('--user-data-dir'))).toBe(true);
    for (const [i, environ] of (await Promise.all(family.map(environOf))).entries())
      for (const secret of known) expect([commands[i], environ.includes(secret)]).toEqual([commands[i], false]);
    expect(await environOf((await fetcher()).pid!)).toContain('TROUPE_SECRETS_DIR=');
  }, 60_000);

  it('that are in the environment all the same are named by the fetcher, not shown', async () => {
    const service = await startService(cluster, 'fetcher');
    try {
      const { postgres } = await cluster.record();
      expect(service.output()).toMatch(/DATABASE_URL, NATS_URL: secrets in the environment/);
      expect(service.output()).not.toContain(new URL(postgres).password);
    } finally {
      await service.stop();
    }
  }, 60_000);
});

whenBrowser('Chromium’s sandbox', () => {
  const metricsOf = async (health: string): Promise<string> => (await fetch(`${health}/metrics`)).text();
  it('is said to be there or not, by the log and by a metric', async () => {
    const { health, log } = await fetcher();
    const [, value] = /^troupe_browser_sandboxed(?:\{[^}]*\})? (\d)/m.exec(await metricsOf(health!)) ?? [];
    const isSaid = (await readFile(log, 'utf8')).includes('Chromium runs without its sandbox');
    expect(isSaid).toBe(value === '0');
    if (isRoot) expect(value).toBe('0');
  });

  // Root never has it; an ordinary user has it here, or the machine decides.
  (isRoot ? it : it.skip)(
    'that cannot be had means no browser where it is required, and /ready says why',
    async () => {
      const service = await startService(cluster, 'fetcher', {
        BROWSER_SANDBOX: 'require',
        FETCHER_CLASSES: 'browser',
      });
      try {
        const { health } = service;
        const ready = await fetch(`${health}/health/readiness`);
        expect(ready.status).toBe(503);
        expect(await ready.text()).toMatch(/BROWSER_SANDBOX=require.*root cannot have it/);
        expect(await metricsOf(health)).toMatch(/^troupe_browser_sandboxed(?:\{[^}]*\})? 0/m);
      } finally {
        await service.stop();
      }
    },
    60_000,
  );

  it('is examined by the doctor as BROWSER_SANDBOX has it', async () => {
    const { postgres, nats } = await cluster.record();
    const { PATH, HOME, CHROMIUM_PATH, CHROMIUM_SHELL_PATH } = process.env;
    const child = spawn(process.execPath, [path.join(workspace, 'dist/apps/doctor/src/main.js'), '--json'], {
      env: {
        PATH,
        HOME,
        CHROMIUM_PATH,
        CHROMIUM_SHELL_PATH,
        DATABASE_URL: postgres,
        NATS_URL: nats,
        BROWSER_SANDBOX: 'require',
        TROUPE_DATA_DIR: cluster.dataDir,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await new Promise((resolve) => child.once('exit', resolve));
    if (isRoot) expect(output).toMatch(/BROWSER_SANDBOX=require/);
    else expect(output).toMatch(/chromium/);
  }, 120_000);
});
