/**
 * Metrics, panels and alerts against a real Prometheus, while a crawl with faults, a browser, webhooks and a model are at work.
 * Skipped loudly where there is no Prometheus.
 */
import { spawnSync } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSite, type Site } from '../../apps/fetcher/src/engines/loopback.fixture.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { hasPrometheus, Prometheus, type Target } from './prometheus.js';

interface Dashboard {
  title: string;
  panels: [title: string, unit: string, queries: Record<string, string>, description?: string][];
}

const SETUP_MS = 240_000;
const MAX_SERIES = 3_000;
const panelsFile = pathToFileURL(path.join(workspace, 'deploy/grafana/panels.mjs')).href;
const { DASHBOARDS } = (await import(panelsFile)) as { DASHBOARDS: Dashboard[] };
const suite = hasPrometheus() ? describe : describe.skip;

let site: Site;
let receiver: Server;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;
let folder: string;
let prometheus: Prometheus;
let isReceiverUp = false;
let targets: Target[];

const LINKS = Array.from({ length: 30 }, (_, i) => `<a href="/page/${i}">${i}</a>`).join(' ');
const at = (place: string) => `http://127.0.0.1:${site.port}${place}`;

async function startFaultySite(): Promise<Site> {
  let busy = 2;
  return startSite((request, response) => {
    const place = request.url ?? '/';
    if (place === '/robots.txt') return response.end('User-agent: *\nDisallow: /secret\n');
    if (place === '/busy' && busy-- > 0) {
      response.writeHead(503, { 'retry-after': '1' });
      return response.end('later');
    }
    if (place === '/gone') {
      response.writeHead(404, { 'content-type': 'text/html' });
      return response.end('<h1>gone</h1>');
    }
    response.writeHead(200, { 'content-type': 'text/html' });
    const more = place === '/' ? `${LINKS} <a href="/secret">no</a> <a href="/busy">b</a> <a href="/gone">g</a>` : '';
    return response.end(`<html><body><main><h1>${place}</h1><p>Name: thing ${place}</p>${more}</main></body></html>`);
  });
}

/** Refuses at first, then takes everything. */
function startReceiver(): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(isReceiverUp ? 200 : 500);
      response.end();
    });
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}

async function crawl(body: object): Promise<string> {
  const { body: answer } = await api.post('/v2/crawl', body);
  const id = String(answer.id);
  for (let tries = 0; tries < 200; tries++) {
    const status = await api.call(`/v2/crawl/${id}`);
    if (status.body.status !== 'scraping') return String(status.body.status);
    await sleep(200);
  }
  throw new Error(`crawl ${id} did not end`);
}

/** Until it holds, or the last answer. */
async function eventually<T>(ask: () => Promise<T>, holds: (answer: T) => boolean, timeoutMs: number): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (holds(answer) || performance.now() > deadlineMs) return answer;
    await sleep(500);
  }
}

const firing = async () =>
  (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname ?? '');

suite('metrics of a cluster at work', () => {
  beforeAll(async () => {
    site = await startFaultySite();
    receiver = await startReceiver();
    model = await startModelServer({ brain: readingBrain });
    cluster = await startCluster({
      args: ['--converters', '1'],
      env: {
        LLM_PROVIDER: 'openai',
        LLM_BASE_URL: `${model.url}/v1`,
        LLM_API_KEY: 'test',
        LLM_MODEL: 'scripted',
        ALLOW_PRIVATE_TARGETS: '127.0.0.1',
        ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
        CACHE_MAX_MB: '64',
        HOST_GAP_MS: '10',
        WEBHOOK_RETRY_MS: '100',
      },
    });
    api = new ApiClient(cluster.url, cluster.apiKey);
    folder = await mkdtemp(path.join(tmpdir(), 'troupe-prometheus-'));
    const processes = await cluster.processes();
    targets = processes.flatMap(({ name, health }) =>
      health === null ? [] : [{ service: name, address: new URL(health).host }],
    );
    prometheus = await Prometheus.start(folder, targets);
    const { port } = receiver.address() as { port: number };
    const webhook = `http://127.0.0.1:${port}/`;
    expect(await crawl({ url: at('/'), webhook, scrapeOptions: { formats: ['markdown'], maxAge: 0 } })).toBe(
      'completed',
    );
    isReceiverUp = true;
    expect(await crawl({ url: at('/'), webhook })).toBe('completed');
    const shown = await api.post('/v2/scrape', { url: at('/page/1'), waitFor: 50 });
    expect(shown.status).toBe(200);
    const schema = { type: 'object', properties: { name: { type: 'string' } } };
    const read = await api.post('/v2/scrape', { url: at('/page/2'), formats: [{ type: 'json', schema }] });
    expect(read.body).toMatchObject({ success: true });
    await api.post('/v2/scrape', { url: 'http://127.0.0.1:1/' });
    await api.call('/v2/nothing');
    await sleep(13_000);
  }, SETUP_MS);

  afterAll(async () => {
    await prometheus?.stop();
    await cluster?.stop();
    await model?.close();
    await site?.close();
    receiver?.close();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  describe.each(DASHBOARDS.map((dashboard) => [dashboard.title, dashboard] as const))('%s', (_title, { panels }) => {
    it.each(panels.map(([title, , queries]) => [title, queries] as const))('shows %s', async (_name, queries) => {
      const answers = await Promise.all(Object.values(queries).map((expr) => prometheus.query(expr)));
      // Of several queries of a panel each must be valid; what never happened here has no values.
      expect(answers.flat().length).toBeGreaterThan(0);
    });
  });

  it('agree with what was crawled', async () => {
    const [ok] = await prometheus.query('sum(troupe_pages_total{outcome="ok"})');
    // Two crawls of a start page with 30 pages, one that was busy and one that is gone.
    expect(ok?.value).toBe(2 * 33);
    const [robots] = await prometheus.query('sum(troupe_pages_total{outcome="robots"})');
    expect(robots?.value).toBe(2);
    const [violations] = await prometheus.query('sum(troupe_politeness_violations_total)');
    expect(violations?.value).toBe(0);
    const [hits] = await prometheus.query('sum(troupe_cache_lookups_total{result="hit"})');
    expect(hits?.value).toBeGreaterThanOrEqual(30);
    const [tokens] = await prometheus.query('sum(troupe_model_tokens_total)');
    expect(tokens?.value).toBeGreaterThan(0);
  });

  it('have sane names, help and few series, in every process', async () => {
    for (const { service, address } of targets) {
      const text = await (await fetch(`http://${address}/metrics`)).text();
      const lint = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' });
      const own = `${lint.stdout}${lint.stderr}`.split('\n').filter((line) => line.startsWith('troupe_'));
      expect({ service, own }).toEqual({ service, own: [] });
      const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
      expect(series).toBeLessThan(MAX_SERIES);
    }
  });

  it('raise an alert when a service is away, which ends with its cause', async () => {
    await cluster.signal('dispatcher', 'SIGSTOP');
    expect(await eventually(firing, (names) => names.includes('TroupeServiceDown'), 20_000)).toContain(
      'TroupeServiceDown',
    );
    await cluster.signal('dispatcher', 'SIGCONT');
    expect(await eventually(firing, (names) => !names.includes('TroupeServiceDown'), 20_000)).not.toContain(
      'TroupeServiceDown',
    );
  }, 60_000);

  it('raise an alert when sites do not answer, which ends with its cause', async () => {
    const until = performance.now() + 30_000;
    const asking = (async () => {
      while (performance.now() < until && !(await firing()).includes('TroupeHostErrors'))
        await api.post('/v2/scrape', { url: 'http://127.0.0.1:1/', maxAge: 0, timeout: 2_000 });
    })();
    await asking;
    expect(await firing()).toContain('TroupeHostErrors');
    expect(await eventually(firing, (names) => !names.includes('TroupeHostErrors'), 40_000)).not.toContain(
      'TroupeHostErrors',
    );
  }, 90_000);
});

const rules = hasPrometheus() ? describe : describe.skip;

rules('the rules of alerts', () => {
  it('are valid, and each fires when it should and ends with its cause', () => {
    const cwd = path.join(workspace, 'deploy/prometheus');
    const tested = spawnSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd, encoding: 'utf8' });
    expect(`${tested.stdout}${tested.stderr}`).toContain('SUCCESS');
    expect(tested.status).toBe(0);
  });
});
