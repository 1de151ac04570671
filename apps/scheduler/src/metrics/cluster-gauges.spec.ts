import { describe, expect, it } from '@jest/globals';
import { Metrics } from '@troupe/observability';
import { ClusterGauges } from './cluster-gauges.js';

function gauges() {
  const reads = { jobs: 0, hosts: 0, tables: 0, backlog: 0 };
  const world = { nowMs: 0, isLeader: true, isSlow: false };
  const metrics = new Metrics('test');
  const sources = {
    isLeader: () => world.isLeader,
    census: {
      jobs: () => {
        reads.jobs++;
        return world.isSlow
          ? Promise.reject(new Error('canceling statement due to statement timeout'))
          : Promise.resolve([]);
      },
      hosts: () => {
        reads.hosts++;
        return Promise.resolve({ active: reads.hosts, penalised: 0, slowest: [] });
      },
      tables: () => {
        reads.tables++;
        return Promise.resolve({ deadLetters: 0, openDeliveries: 0, openEvents: 0, outboxAgeS: 0 });
      },
    },
    backlog: () => {
      reads.backlog++;
      return Promise.resolve({ partitions: [], work: [], streams: [] });
    },
    disk: () => Promise.resolve(null),
  };
  new ClusterGauges(metrics, sources, () => world.nowMs);
  const scrapeAt = async (nowMs: number) => {
    world.nowMs = nowMs;
    return metrics.text();
  };
  return { reads, world, scrapeAt };
}

describe('what the leader tells of the cluster', () => {
  it('is counted in Postgres once a minute, and read of queues every ten seconds', async () => {
    const { reads, scrapeAt } = gauges();
    for (let nowMs = 0; nowMs <= 120_000; nowMs += 5_000) await scrapeAt(nowMs);
    expect(reads).toEqual({ jobs: 3, hosts: 3, tables: 3, backlog: 13 });
  });

  it('is counted at once by who has become the leader', async () => {
    const { reads, world, scrapeAt } = gauges();
    await scrapeAt(0);
    world.isLeader = false;
    await scrapeAt(15_000);
    world.isLeader = true;
    await scrapeAt(30_000);
    expect(reads.jobs).toBe(2);
  });

  it('stays as it was where a count takes too long, and nowhere else', async () => {
    const { world, scrapeAt } = gauges();
    expect(await scrapeAt(0)).toMatch(/troupe_hosts{state="active",[^}]*} 1/);
    world.isSlow = true;
    expect(await scrapeAt(60_000)).toMatch(/troupe_hosts{state="active",[^}]*} 2/);
  });
});
