/**
 * Metrics, panels and alerts against a real Prometheus, while a crawl with faults, a browser, webhooks and a model are at work.
 * Skipped loudly where there is no Prometheus.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { startCluster, workspace, type TestCluster } from '../support/cluster.js';
import { readingBrain, startModelServer, type ModelServer } from '../support/model-server/index.js';
import { SmallDisk } from '../support/small-disk.js';
import { courseTable, follow, type Course } from './alert-course.js';
import { faultRounds } from './alert-faults.js';
import { FaultySites } from './faulty-sites.js';
import { hasPrometheus, Prometheus, type Target } from './prometheus.js';

interface Dashboard {
  title: string;
  panels: [title: string, unit: string, queries: Record<string, string>, description?: string][];
}

const SETUP_MS = 240_000;
const FAULTS_MS = 480_000;
/** All faults take three minutes. */
const EVERY_FAULT = process.env.TEST_ALERTS === 'all';
/** Of the first round. */
const QUICK_ALERTS = ['TroupeDeadLetters', 'TroupePolitenessViolation', 'TroupePoolSaturated', 'TroupeDiskFull'];
const MAX_SERIES = 3_000;
const panelsFile = pathToFileURL(path.join(workspace, 'deploy/grafana/panels.mjs')).href;
const { DASHBOARDS } = (await import(panelsFile)) as { DASHBOARDS: Dashboard[] };
const alertsFile = path.join(workspace, 'deploy/prometheus/alerts.yaml');
const ALERTS = [...readFileSync(alertsFile, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name!);
const suite = hasPrometheus() ? describe : describe.skip;
const hasDisks = SmallDisk.whyNone('TroupeDiskFull is not tried live') === null;
const DISK_MB = 64;
/** Less than a tenth. */
const LEFT_MB = 4;

let sites: FaultySites;
let dataDir: string;
let disk: SmallDisk | null = null;
let model: ModelServer;
let cluster: TestCluster;
let api: ApiClient;
let folder: string;
let prometheus: Prometheus;
let targets: Target[];

const at = (place: string) => sites.at(place);

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

async function expectFewSeries(): Promise<void> {
  for (const { service, address } of targets) {
    const text = await (await fetch(`http://${address}/metrics`)).text();
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
    process.stderr.write(`    ${service}: ${series} series\n`);
    expect(series).toBeLessThan(MAX_SERIES);
  }
}

suite('metrics of a cluster at work', () => {
  beforeAll(async () => {
    sites = await FaultySites.start();
    dataDir = await mkdtemp(path.join(tmpdir(), 'troupe-cluster-'));
    // As root, Postgres runs as another user.
    await chmod(dataDir, 0o755);
    if (hasDisks) disk = SmallDisk.mount(path.join(dataDir, 'blobs'), DISK_MB);
    model = await startModelServer({ brain: readingBrain });
    cluster = await startCluster({
      dataDir,
      args: ['--schedulers', '2', '--converters', '1'],
      env: {
        LLM_PROVIDER: 'openai',
        LLM_BASE_URL: `${model.url}/v1`,
        LLM_API_KEY: 'test',
        LLM_MODEL: 'scripted',
        ALLOW_PRIVATE_TARGETS: '127.0.0.1',
        ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1',
        CACHE_MAX_MB: '64',
        DNS_SERVERS: sites.resolver,
        HOST_GAP_MS: '10',
        HOST_EXPRESS_CONN: '128',
        TEAM_CONCURRENCY: '256',
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
    const webhook = sites.receiverUrl;
    const first = { url: at('/'), webhook, scrapeOptions: { formats: ['markdown'], maxAge: 0 } };
    expect(await crawl(first)).toBe('completed');
    sites.isReceiverUp = true;
    expect(await crawl({ url: at('/'), webhook })).toBe('completed');
    const shown = await api.post('/v2/scrape', { url: at('/page/1'), waitFor: 50 });
    expect(shown.status).toBe(200);
    const schema = { type: 'object', properties: { name: { type: 'string' } } };
    const read = await api.post('/v2/scrape', { url: at('/page/2'), formats: [{ type: 'json', schema }] });
    expect(read.body).toMatchObject({ success: true });
    await api.post('/v2/scrape', { url: 'http://127.0.0.1:1/' });
    await api.call('/v2/nothing');
    await sleep(3_000);
  }, SETUP_MS);

  afterAll(async () => {
    await prometheus?.stop();
    await cluster?.stop();
    await model?.close();
    await sites?.close();
    disk?.remove();
    await rm(dataDir, { recursive: true, force: true });
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
    }
    await expectFewSeries();
  });

  describe('under faults', () => {
    let courses: Course[];

    beforeAll(async () => {
      courses = [];
      const rounds = faultRounds({ cluster, api, sites, disk, leftMb: LEFT_MB });
      if (!EVERY_FAULT)
        process.stderr.write('troupe    | SKIPPED: faults of minutes; TEST_ALERTS=all raises every alert\n');
      for (const faults of EVERY_FAULT ? rounds : rounds.slice(0, 1))
        courses.push(...(await Promise.all(faults.map((fault) => follow(fault, prometheus)))).flat());
      process.stderr.write(courseTable(courses));
    }, FAULTS_MS);

    describe.each(EVERY_FAULT ? ALERTS : QUICK_ALERTS)('raise %s', (alert) => {
      const isTried = alert !== 'TroupeDiskFull' || hasDisks;
      (isTried ? it : it.skip)('which ends with its cause', () => {
        const own = courses.filter((course) => course.alert === alert);
        expect(own).not.toEqual([]);
        expect(own.filter(({ firedS, resolvedS }) => firedS === null || resolvedS === null)).toEqual([]);
      });
    });

    it('leave no process behind that had to be started again', async () => {
      expect((await cluster.processes()).filter(({ restarts }) => restarts > 0)).toEqual([]);
    });

    it('have few series after pages of many hosts', expectFewSeries);
  });
});

suite('the rules of alerts', () => {
  it('are valid, and each fires when it should and ends with its cause', () => {
    const cwd = path.join(workspace, 'deploy/prometheus');
    const tested = spawnSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd, encoding: 'utf8' });
    expect(`${tested.stdout}${tested.stderr}`).toContain('SUCCESS');
    expect(tested.status).toBe(0);
  });
});
