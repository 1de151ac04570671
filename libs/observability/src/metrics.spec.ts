import { describe, expect, it } from '@jest/globals';
import { Health, serveHealth } from './health.js';
import { Metrics, watchLink, watchPool } from './metrics.js';

const linesOf = async (metrics: Metrics, name: string): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name));

describe('metrics', () => {
  it('are served in the text format with the name of the service on every series', async () => {
    const metrics = new Metrics('fetcher');
    metrics.counter({ name: 'troupe_things_total', help: 'Things', labels: ['kind'] }).inc({ kind: 'new' }, 2);
    const { url, server } = await serveHealth({ health: new Health('fetcher', 'fetcher-1'), metrics }, 0, '127.0.0.1');
    const response = await fetch(`${url}/metrics`);
    server.close();
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await response.text();
    expect(text).toContain('# TYPE troupe_things_total counter');
    expect(text).toContain('troupe_things_total{kind="new",service="fetcher"} 2');
    expect(text).toMatch(/nodejs_eventloop_lag_p99_seconds\{service="fetcher"\}/);
  });

  it('are read anew at every scrape, and a reading that fails spoils no other', async () => {
    const metrics = new Metrics('test');
    let size = 1;
    metrics.watch({ name: 'troupe_size', help: 'Size' }, () => size);
    metrics.onScrape(() => Promise.reject(new Error('away')));
    expect(await linesOf(metrics, 'troupe_size')).toEqual(['troupe_size{service="test"} 1']);
    size = 5;
    expect(await linesOf(metrics, 'troupe_size')).toEqual(['troupe_size{service="test"} 5']);
  });

  it('tell of the connections to Postgres', async () => {
    const metrics = new Metrics('test');
    watchPool(metrics, { totalCount: 3, idleCount: 1, waitingCount: 7, options: { max: 4 } });
    expect(await linesOf(metrics, 'troupe_postgres')).toEqual([
      'troupe_postgres_connections{state="busy",service="test"} 2',
      'troupe_postgres_connections{state="idle",service="test"} 1',
      'troupe_postgres_pool_size{service="test"} 4',
      'troupe_postgres_waiting{service="test"} 7',
    ]);
  });

  it('count messages on the bus once, however often they are scraped', async () => {
    const metrics = new Metrics('test');
    const stats = { inMsgs: 10, outMsgs: 4, inBytes: 100, outBytes: 40 };
    watchLink(metrics, { isUp: () => true, nc: { stats: () => ({ ...stats }) } });
    await metrics.text();
    stats.inMsgs = 12;
    const lines = await linesOf(metrics, 'troupe_nats_messages_total');
    expect(lines).toContain('troupe_nats_messages_total{direction="in",service="test"} 12');
    expect(lines).toContain('troupe_nats_messages_total{direction="out",service="test"} 4');
  });
});
