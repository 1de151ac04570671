/**
 * Metrics of a process in the text format of Prometheus, served beside its health. Names begin with `troupe_` and end in
 * their unit; labels have few values, none of which a site, a team or a job can choose.
 */
import { getHeapStatistics } from 'node:v8';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds; from a round trip to the bus up to a page that takes its time. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** A dependency that is asked at a scrape must answer before Prometheus gives up. */
const ASK_TIMEOUT_MS = 3_000;

interface Naming<L extends string> {
  name: `troupe_${string}`;
  help: string;
  labels?: readonly L[];
}

/** Reads a value at the moment of a scrape. Rejections leave the value as it was. */
type Reading = () => void | Promise<void>;

export class Metrics {
  private readonly registry = new Registry();
  private readonly readings: Reading[] = [];

  /** @param service name of the service, on every series */
  constructor(service: string) {
    this.registry.setDefaultLabels({ service });
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: 50 });
    const limit = { name: 'troupe_heap_limit_bytes', help: 'Heap that this process may have' } as const;
    this.watch(limit, () => getHeapStatistics().heap_size_limit);
  }

  counter<L extends string = never>({ name, help, labels = [] }: Naming<L>): Counter<L> {
    return new Counter({ name, help, labelNames: labels, registers: [this.registry] });
  }

  /** A counter with one label whose values are known: all of them begin at 0, so that a rate is right from the first one. */
  counterOf<V extends string>(naming: Omit<Naming<never>, 'labels'>, label: string, values: readonly V[]) {
    const counter = this.counter({ ...naming, labels: [label] });
    for (const value of values) counter.inc({ [label]: value }, 0);
    return { inc: (value: V, by = 1) => counter.inc({ [label]: value }, by) };
  }

  gauge<L extends string = never>({ name, help, labels = [] }: Naming<L>): Gauge<L> {
    return new Gauge({ name, help, labelNames: labels, registers: [this.registry] });
  }

  /** @param naming `buckets` in the unit of the name. @default DURATION_BUCKETS */
  histogram<L extends string = never>(naming: Naming<L> & { buckets?: number[] }): Histogram<L> {
    const { name, help, labels = [], buckets = DURATION_BUCKETS } = naming;
    return new Histogram({ name, help, labelNames: labels, buckets, registers: [this.registry] });
  }

  /** A gauge without labels that is read when it is asked for. */
  watch(naming: Naming<never>, read: () => number): void {
    const gauge = this.gauge(naming);
    this.onScrape(() => gauge.set(read()));
  }

  /** Runs before every answer to a scrape; one that takes too long is not waited for. */
  onScrape(reading: Reading): void {
    this.readings.push(reading);
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  async text(): Promise<string> {
    await Promise.all(this.readings.map((reading) => readInTime(reading)));
    return this.registry.metrics();
  }
}

async function readInTime(reading: Reading): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ASK_TIMEOUT_MS);
  });
  try {
    await Promise.race([reading(), late]);
  } catch {
    // A value that cannot be read keeps its last reading; that the dependency is away is told by its own check.
  } finally {
    clearTimeout(timer);
  }
}

/** The part of a pool of database connections that its metrics need. */
export interface CountedPool {
  totalCount: number;
  idleCount: number;
  waitingCount: number;
  options: { max?: number };
}

/** Connections of a process to Postgres. */
export function watchPool(metrics: Metrics, pool: CountedPool): void {
  const connections = metrics.gauge({
    name: 'troupe_postgres_connections',
    help: 'Connections of this process to Postgres',
    labels: ['state'],
  });
  const size = { name: 'troupe_postgres_pool_size', help: 'Connections that this process may have' } as const;
  metrics.watch(size, () => pool.options.max ?? 0);
  metrics.onScrape(() => {
    connections.set({ state: 'busy' }, pool.totalCount - pool.idleCount);
    connections.set({ state: 'idle' }, pool.idleCount);
  });
  const waiting = { name: 'troupe_postgres_waiting', help: 'Callers that wait for a connection to Postgres' } as const;
  metrics.watch(waiting, () => pool.waitingCount);
}

/** The part of a connection to NATS that its metrics need. */
export interface CountedLink {
  isUp(): boolean;
  nc: { stats(): { inBytes: number; outBytes: number; inMsgs: number; outMsgs: number } };
}

/** The connection of a process to NATS. */
export function watchLink(metrics: Metrics, link: CountedLink): void {
  const up = { name: 'troupe_nats_up', help: '1 while this process is connected to NATS' } as const;
  metrics.watch(up, () => Number(link.isUp()));
  const messages = metrics.counter({
    name: 'troupe_nats_messages_total',
    help: 'Messages that this process received and sent',
    labels: ['direction'],
  });
  const bytes = metrics.counter({
    name: 'troupe_nats_bytes_total',
    help: 'Bytes of the messages that this process received and sent',
    labels: ['direction'],
  });
  let last = { inMsgs: 0, outMsgs: 0, inBytes: 0, outBytes: 0 };
  metrics.onScrape(() => {
    const now = link.nc.stats();
    messages.inc({ direction: 'in' }, now.inMsgs - last.inMsgs);
    messages.inc({ direction: 'out' }, now.outMsgs - last.outMsgs);
    bytes.inc({ direction: 'in' }, now.inBytes - last.inBytes);
    bytes.inc({ direction: 'out' }, now.outBytes - last.outBytes);
    last = now;
  });
}
