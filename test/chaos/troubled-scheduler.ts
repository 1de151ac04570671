/** Two schedulers on one cluster, one of them on ways of its own to Postgres and NATS, which a spec troubles. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../support/cluster.js';
import { startService, type ServiceProcess } from '../support/service-process.js';
import { TcpRelay } from '../support/tcp-relay.js';
import { describeJob, query } from './evidence.js';
import type { JobClient } from './job-client.js';

const PATIENCE_MS = 60_000;
/** Jobs begun until one of them lies with a certain one of two schedulers. */
const MAX_JOBS = 60;

export interface Ways {
  postgres: TcpRelay;
  nats: TcpRelay;
}

/** Ways of one process, and the settings that make it go by them. */
export async function openWays(cluster: TestCluster): Promise<{ ways: Ways; env: Record<string, string> }> {
  const { postgres, nats } = await cluster.record();
  const ways = { postgres: await TcpRelay.startTo(postgres), nats: await TcpRelay.startTo(nats) };
  const env = { DATABASE_URL: ways.postgres.addressOf(postgres), NATS_URL: ways.nats.addressOf(nats) };
  return { ways, env };
}

export async function closeWays({ postgres, nats }: Ways): Promise<void> {
  await Promise.all([postgres.cut(), nats.cut()]);
}

/** What the health endpoint of a process says. */
export async function readinessOf({ health }: ServiceProcess) {
  const response = await fetch(`${health}/health/readiness`);
  const { instance, checks } = (await response.json()) as {
    instance: string;
    checks: Record<string, { status: string; error?: string }>;
  };
  return { httpStatus: response.status, instance, checks };
}

export class TroubledScheduler {
  private constructor(
    private readonly cluster: TestCluster,
    readonly ways: Ways,
    readonly process: ServiceProcess,
    private readonly calm: ServiceProcess,
    private readonly instance: string,
  ) {}

  /** @param cluster without schedulers of its own */
  static async start(cluster: TestCluster, env: Record<string, string>): Promise<TroubledScheduler> {
    const { ways, env: byWays } = await openWays(cluster);
    const [troubled, calm] = await Promise.all([
      startService(cluster, 'scheduler', { ...env, ...byWays }),
      startService(cluster, 'scheduler', env),
    ]);
    const { instance } = await readinessOf(troubled);
    return new TroubledScheduler(cluster, ways, troubled, calm, instance);
  }

  /** How many partitions it owns. */
  async partitions(): Promise<number> {
    const sql = 'SELECT count(*)::int AS n FROM part_lease WHERE owner = $1';
    return (await query<{ n: number }>(this.cluster, sql, [this.instance]))[0]!.n;
  }

  /** Resolves with the time it took. */
  async until(what: (partitions: number) => boolean, complaint: string): Promise<number> {
    const startedAt = performance.now();
    for (let n = await this.partitions(); !what(n); n = await this.partitions()) {
      if (performance.now() - startedAt > PATIENCE_MS)
        throw new Error(`${complaint}: it owns ${n} partitions\n${this.process.output().slice(-4_000)}`);
      await sleep(100);
    }
    return Math.round(performance.now() - startedAt);
  }

  /**
   * Until others own what it owned. One that it was about to open in that moment may bear its name until somebody wants
   * something of it.
   */
  untilTakenOver(): Promise<number> {
    return this.until((n) => n <= 1, 'its partitions are not taken over');
  }

  /** Begins jobs until one lies with this scheduler; the others are cancelled. */
  async startHere(crawls: JobClient, body: object): Promise<string> {
    for (let n = 0; n < MAX_JOBS; n++) {
      await this.until((partitions) => partitions >= 16, 'it does not get its share');
      const id = await crawls.start(body);
      const owner = await this.ownerOf(id);
      if (owner === this.instance) return id;
      await crawls.cancel(id);
    }
    throw new Error(`none of ${MAX_JOBS} jobs lies with ${this.instance}`);
  }

  private async ownerOf(id: string): Promise<string> {
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(50)) {
      const [lease] = await query<{ owner: string }>(
        this.cluster,
        'SELECT l.owner FROM part_lease l JOIN actor a USING (part) WHERE a.key = $1',
        [`crawl/${id}`],
      );
      if (lease !== undefined) return lease.owner;
    }
    throw new Error(`nobody runs job ${id}\n${await describeJob(this.cluster, id)}`);
  }

  async stop(): Promise<void> {
    await Promise.all([this.ways.postgres.mend(), this.ways.nats.mend()]);
    await Promise.all([this.process.stop(), this.calm.stop()]);
    await closeWays(this.ways);
  }
}
