/** Prometheus of this machine, or of Debian's package; null with one loud line where neither is to be had. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { workspace } from '../support/cluster.js';
import { hasPrograms } from '../support/debian-package.js';
import { freePort } from '../support/free-port.js';

const START_MS = 20_000;

/** Whether `prometheus` and `promtool` can be run; tries to install them when it may. */
export function hasPrometheus(): boolean {
  if (hasPrograms(['prometheus', 'promtool'], ['prometheus'])) return true;
  process.stderr.write('troupe    | SKIPPED: there is no prometheus here; metrics, panels and alerts are not tried\n');
  return false;
}

export interface Sample {
  metric: Record<string, string>;
  value: number;
}

export interface Alert {
  labels: Record<string, string>;
  state: 'pending' | 'firing';
}

export interface Target {
  service: string;
  address: string;
}

/** A server that scrapes every second, with the project's alerts at a pace that a test can wait for. */
export class Prometheus {
  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(folder: string, targets: readonly Target[]): Promise<Prometheus> {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'alerts.yaml'), quickAlerts());
    const config = path.join(folder, 'prometheus.yml');
    writeFileSync(config, configOf(targets));
    const port = await freePort();
    const child = spawn(
      'prometheus',
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${path.join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { cwd: folder, stdio: 'ignore' },
    );
    const prometheus = new Prometheus(child, `http://127.0.0.1:${port}`);
    const deadlineMs = performance.now() + START_MS;
    while (!(await prometheus.isReady())) {
      if (performance.now() > deadlineMs) throw new Error('prometheus did not start');
      await sleep(100);
    }
    return prometheus;
  }

  async query(expr: string): Promise<Sample[]> {
    const answer = await this.get(`/api/v1/query?query=${encodeURIComponent(expr)}`);
    const { result } = answer as { result: { metric: Record<string, string>; value: [number, string] }[] };
    return result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
  }

  async alerts(): Promise<Alert[]> {
    return ((await this.get('/api/v1/alerts')) as { alerts: Alert[] }).alerts;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    while (this.child.exitCode === null && this.child.signalCode === null) await sleep(20);
  }

  private async isReady(): Promise<boolean> {
    return fetch(`${this.url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  private async get(call: string): Promise<unknown> {
    const response = await fetch(this.url + call);
    const { status, data, error } = (await response.json()) as { status: string; data: unknown; error?: string };
    if (status !== 'success') throw new Error(`${call}: ${error}`);
    return data;
  }
}

/**
 * Minutes become seconds, wherever the rules name them: what lasts ten minutes for an operator lasts ten seconds here. Nothing
 * else is changed: names, labels, thresholds and the shape of the expressions are those that ship.
 */
function quickAlerts(): string {
  const alerts = readFileSync(path.join(workspace, 'deploy/prometheus/alerts.yaml'), 'utf8');
  return alerts
    .replaceAll(/\[(\d+)m\]/g, '[$1s]')
    .replaceAll(/for: (\d+)m/g, 'for: $1s')
    .replaceAll(/(\d+) \* 60\b/g, '$1 * 1');
}

function configOf(targets: readonly Target[]): string {
  const configs = targets.map(({ address, service }) => ({ targets: [address], labels: { process: service } }));
  return JSON.stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: ['alerts.yaml'],
    scrape_configs: [{ job_name: 'troupe', static_configs: configs }],
  });
}
