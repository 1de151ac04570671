/**
 * Figures that only one process should show: counts over all jobs, hosts and queues. The scheduler that holds the first
 * partition reads them when it is scraped, at most every ten seconds, and the counts of Postgres every minute; the
 * others show nothing. A figure that cannot be read in time stays as it was: an alert must not end because the database
 * that causes it does not answer.
 */
import type { JobKind } from '@troupe/contracts';
import type { Backlog } from '@troupe/messaging';
import type { Metrics } from '@troupe/observability';
import type { Census, HostCount, JobCount, TableCounts } from '@troupe/persistence';

export interface ClusterSources {
  isLeader(): boolean;
  census: Pick<Census, 'jobs' | 'hosts' | 'tables'>;
  backlog(): Promise<Backlog>;
  /** Free and total bytes of the disk where results are stored; null when it is not a local disk. */
  disk(): Promise<{ freeBytes: number; sizeBytes: number } | null>;
}

const FRESH_MS = 10_000;
const COUNTED_MS = 60_000;
const KINDS: readonly JobKind[] = ['crawl', 'batch', 'extract', 'agent'];

export class ClusterGauges {
  private readAt = -Infinity;
  private countedAt = -Infinity;
  /** All gauges below. */
  private readonly all: { reset(): void }[] = [];
  private readonly jobs;
  private readonly oldestJob;
  private readonly silence;
  private readonly frontier;
  private readonly hosts;
  private readonly slowHosts;
  private readonly deadLetters;
  private readonly deliveries;
  private readonly openEvents;
  private readonly outboxAge;
  private readonly mail;
  private readonly work;
  private readonly streamMessages;
  private readonly streamBytes;
  private readonly streamAge;
  private readonly diskFree;
  private readonly diskSize;

  constructor(
    private readonly metrics: Metrics,
    private readonly sources: ClusterSources,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.jobs = this.gauge({ name: 'troupe_jobs_running', help: 'Jobs under way', labels: ['kind'] });
    this.oldestJob = this.gauge({
      name: 'troupe_job_oldest_seconds',
      help: 'Age of the oldest job under way',
      labels: ['kind'],
    });
    this.silence = this.gauge({
      name: 'troupe_job_silent_seconds',
      help: 'Longest time that a job under way, not paused, has been without a new page',
      labels: ['kind'],
    });
    this.frontier = this.gauge({
      name: 'troupe_frontier_urls',
      help: 'URLs of jobs under way: ready to be fetched, or in flight',
      labels: ['state'],
    });
    this.hosts = this.gauge({
      name: 'troupe_hosts',
      help: 'Hosts that jobs want pages of, and those of them that asked for less',
      labels: ['state'],
    });
    this.slowHosts = this.gauge({
      name: 'troupe_host_mean_seconds',
      help: 'Mean time of a page on the ten slowest hosts',
      labels: ['host'],
    });
    this.deadLetters = this.gauge({ name: 'troupe_dead_letters', help: 'Messages that lie as dead letters' });
    this.deliveries = this.gauge({
      name: 'troupe_webhook_open_jobs',
      help: 'Jobs with webhook events that are not delivered yet',
    });
    this.openEvents = this.gauge({
      name: 'troupe_webhook_open_events',
      help: 'Webhook events that are neither delivered nor given up',
    });
    this.outboxAge = this.gauge({
      name: 'troupe_outbox_oldest_seconds',
      help: 'Age of the oldest message in the outbox',
    });
    this.mail = this.gauge({
      name: 'troupe_partition_mail',
      help: 'Messages in the mailbox of a partition: waiting, or taken and not handled',
      labels: ['part', 'state'],
    });
    this.work = this.gauge({
      name: 'troupe_work_queue',
      help: 'Work for the workers of a class: waiting, or taken and not done',
      labels: ['class', 'priority', 'state'],
    });
    this.streamMessages = this.gauge({
      name: 'troupe_stream_messages',
      help: 'Messages in a stream',
      labels: ['stream'],
    });
    this.streamBytes = this.gauge({ name: 'troupe_stream_bytes', help: 'Bytes in a stream', labels: ['stream'] });
    this.streamAge = this.gauge({
      name: 'troupe_stream_oldest_seconds',
      help: 'Age of the oldest message in a stream',
      labels: ['stream'],
    });
    this.diskFree = this.gauge({ name: 'troupe_disk_free_bytes', help: 'Free space where results are stored' });
    this.diskSize = this.gauge({
      name: 'troupe_disk_size_bytes',
      help: 'Size of the disk where results are stored',
    });
    metrics.onScrape(() => this.read());
  }

  private gauge<L extends string = never>(naming: Parameters<typeof this.metrics.gauge<L>>[0]) {
    const gauge = this.metrics.gauge(naming);
    this.all.push(gauge);
    return gauge;
  }

  private async read(): Promise<void> {
    if (this.now() - this.readAt < FRESH_MS) return;
    this.readAt = this.now();
    if (!this.sources.isLeader()) return this.forget();
    const { backlog, disk } = this.sources;
    await Promise.all([
      this.count(),
      backlog().then((counts) => this.showBacklog(counts)),
      disk().then((space) => this.showDisk(space)),
    ]);
  }

  /** The counts share one connection. When one fails, the others are still read. */
  private async count(): Promise<void> {
    if (this.now() - this.countedAt < COUNTED_MS) return;
    this.countedAt = this.now();
    const { census } = this.sources;
    await Promise.all([
      census.jobs().then((counts) => this.showJobs(counts)),
      census.hosts().then((counts) => this.showHosts(counts)),
      census.tables().then((counts) => this.showTables(counts)),
    ]);
  }

  /** Figures that another process shows must not stay here. */
  private forget(): void {
    this.countedAt = -Infinity;
    for (const gauge of this.all) gauge.reset();
  }

  private showJobs(counts: readonly JobCount[]): void {
    let ready = 0;
    let inflight = 0;
    for (const kind of KINDS) {
      this.jobs.set({ kind }, 0);
      this.oldestJob.set({ kind }, 0);
      this.silence.set({ kind }, 0);
    }
    for (const { kind, running, oldestS, silentS, ...urls } of counts) {
      this.jobs.set({ kind }, running);
      this.oldestJob.set({ kind }, oldestS);
      this.silence.set({ kind }, silentS);
      ready += urls.ready;
      inflight += urls.inflight;
    }
    this.frontier.set({ state: 'ready' }, ready);
    this.frontier.set({ state: 'inflight' }, inflight);
  }

  private showHosts({ active, penalised, slowest }: HostCount): void {
    this.hosts.set({ state: 'active' }, active);
    this.hosts.set({ state: 'penalised' }, penalised);
    this.slowHosts.reset();
    for (const { host, meanS } of slowest) this.slowHosts.set({ host }, meanS);
  }

  private showTables({ deadLetters, openDeliveries, openEvents, outboxAgeS }: TableCounts): void {
    this.deadLetters.set(deadLetters);
    this.deliveries.set(openDeliveries);
    this.openEvents.set(openEvents);
    this.outboxAge.set(outboxAgeS);
  }

  private showBacklog({ partitions, work, streams }: Backlog): void {
    for (const gauge of [this.mail, this.work]) gauge.reset();
    for (const { part, waiting, taken } of partitions) {
      this.mail.set({ part, state: 'waiting' }, waiting);
      this.mail.set({ part, state: 'taken' }, taken);
    }
    for (const { cls, prio, waiting, taken } of work) {
      this.work.set({ class: cls, priority: prio, state: 'waiting' }, waiting);
      this.work.set({ class: cls, priority: prio, state: 'taken' }, taken);
    }
    for (const { stream, messages, bytes, ageS } of streams) {
      this.streamMessages.set({ stream }, messages);
      this.streamBytes.set({ stream }, bytes);
      this.streamAge.set({ stream }, ageS);
    }
  }

  private showDisk(space: { freeBytes: number; sizeBytes: number } | null): void {
    if (space === null) return;
    this.diskFree.set(space.freeBytes);
    this.diskSize.set(space.sizeBytes);
  }
}
