/**
 * Crawls of a host that refuses everything for a while, or for good, on top of all that may happen to schedulers, fetchers
 * and messages: its actor finds it down, probes it and opens it again, or gives it up, and every crawl ends.
 */
import { InvariantError } from '@troupe/actors';
import { actorKey, type HostFeedback, type Kick, type Lane, type LaneItem, type PageResult } from '@troupe/contracts';
import { domainActor } from '../../apps/scheduler/src/domain/domain.actor.js';
import { CrawlWorld } from './crawl-world.js';

export class TroubleWorld extends CrawlWorld {
  private readonly outage: { from: number; to: number };
  private readonly versions = new Map<string, number>();
  /** What its actor has found: the worlds are to have seen all of it. */
  readonly states = new Set<string>();

  constructor(seed: number, trace: ((line: string) => void) | null = null) {
    super(seed, {}, trace);
    const from = this.random.int(0, 40_000);
    const isForGood = this.random.chance(0.2);
    this.outage = { from, to: isForGood ? Infinity : from + this.random.int(5_000, 90_000) };
    this.watchVerdicts();
  }

  /** I13: fetchers ignore a verdict that is not newer than the last, so its version grows, also across owners. */
  private watchVerdicts(): void {
    const { bus } = this;
    const tell = bus.tell.bind(bus);
    bus.tell = (host, verdict) => {
      if (verdict.v <= (this.versions.get(host) ?? 0))
        throw new InvariantError('I13', `verdict ${verdict.v} on ${host}`);
      this.versions.set(host, verdict.v);
      this.states.add(verdict.state);
      tell(host, verdict);
    };
  }

  /** URLs that were given up with their host. */
  get leftUrls(): number {
    const outcomes = this.jobs.flatMap(({ jobNo }) => [...this.store.job(jobNo).outcomes.values()]);
    return outcomes.filter(({ rule }) => rule === 'host-down').length;
  }

  private get isOut(): boolean {
    const now = this.elapsed();
    return now >= this.outage.from && now < this.outage.to;
  }

  protected override domain(): ReturnType<typeof domainActor> {
    return domainActor({ ...this.domainOptions(), giveUpMs: 120_000 });
  }

  protected override isProbeClean(_kick: Kick): boolean {
    return !this.isOut;
  }

  protected override result(lane: Lane, item: LaneItem, ms: number): PageResult {
    const result = super.result(lane, item, ms);
    const isOut = this.isOut;
    const trouble = { kind: 'refused', status: 0, urlH: this.link(item.url).h, team: null, retryMs: null } as const;
    const seen = isOut ? { ok: 0, meanMs: 0, troubles: [trouble] } : { ok: 1, meanMs: ms, troubles: [] };
    const feedback: HostFeedback = { type: 'HostFeedback', host: lane.host, ...seen };
    this.send(actorKey('domain', lane.host), feedback);
    if (!isOut) return result;
    const nothing = { inline: null, credits: 0, outlinks: [], finalUrl: item.url, finalH: null, statusCode: 0 };
    return { ...result, ...nothing, outcome: 'failed', rule: 'SCRAPE_SITE_ERROR', retryable: true, retryAfterMs: null };
  }

  /** Requests that were refused are repeated. */
  protected override checkFetches(): void {}

  /** Whoever does not answer loses pages. */
  protected override lostPages(job: Parameters<CrawlWorld['checkJob']>[0]): Set<string> {
    const failed = [...this.store.job(job.jobNo).outcomes.values()].filter(({ outcome }) => outcome === 'failed');
    return new Set(failed.map(({ url }) => url));
  }
}
