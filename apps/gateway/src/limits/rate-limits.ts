/**
 * Requests per team, group and minute, counted over all gateways (docs/api/limits.md).
 *
 * A request is judged by numbers in memory and costs no message. Every 100 ms the admitted requests are added together
 * to the shared counts of Postgres, and the totals that come back are told to the other gateways. So one gateway is
 * exact. Several gateways let in too many requests only until they have heard of each other, which takes little more
 * than 100 ms. Windows are the minutes of the database's clock. While Postgres is away every gateway counts for itself.
 */
import { Inject, Injectable, Optional, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { type RateGroup, type Uuid } from '@troupe/contracts';
import { type Logger } from '@troupe/observability';
import { RateCounter, type RateTotal, type RateUse } from '@troupe/persistence';
import { CONFIG, LOG } from '@troupe/service';
import { type Caller } from '../auth/caller.js';
import { ApiError } from '../errors/api-error.js';
import { RateNews } from './rate-news.js';

/** Requests per minute of a team that has no limits of its own. */
export const DEFAULT_LIMITS: Readonly<Record<RateGroup, number>> = {
  scrape: 100,
  crawl: 15,
  map: 100,
  search: 100,
  extract: 100,
  crawlStatus: 25_000,
  extractStatus: 25_000,
  account: 500,
};

const TELL_MS = 100;
const WINDOW_MS = 60_000;

interface Count {
  team: Uuid;
  group: RateGroup;
  /** Sum over all gateways, as far as this one knows, its own included. */
  used: number;
  /** Admitted here and not told yet. */
  untold: number;
}

@Injectable()
export class RateLimits implements OnApplicationBootstrap, OnApplicationShutdown {
  private counts = new Map<string, Count>();
  private windowEndMs: number;
  private timer: NodeJS.Timeout | null = null;
  private isTelling = false;
  private isCutOff = false;

  /** @param now monotonic milliseconds */
  constructor(
    @Inject(RateCounter) private readonly counter: Pick<RateCounter, 'add'>,
    @Inject(RateNews) private readonly news: Pick<RateNews, 'publish' | 'listen'>,
    @Inject(CONFIG) private readonly settings: { rateLimits: boolean },
    @Inject(LOG) private readonly log: Pick<Logger, 'warn'>,
    @Optional() private readonly now: () => number = () => performance.now(),
  ) {
    // A guess until the database has told its clock.
    this.windowEndMs = this.now() + WINDOW_MS - (Date.now() % WINDOW_MS);
  }

  onApplicationBootstrap(): void {
    if (!this.settings.rateLimits) return;
    this.news.listen((totals) => this.hear(totals));
    this.timer = setInterval(() => void this.tell(), TELL_MS);
    this.timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    await this.tell();
  }

  /** Counts one request, unless limits are off. @throws ApiError 429, which is not counted */
  admit(caller: Pick<Caller, 'team' | 'flags'>, group: RateGroup): void {
    if (!this.settings.rateLimits) return;
    this.roll();
    const limit = caller.flags.rateLimits?.[group] ?? DEFAULT_LIMITS[group];
    const count = this.countOf(caller.team, group);
    if (count.used >= limit) throw this.refusal(group, limit);
    count.used++;
    count.untold++;
  }

  /** Adds the requests admitted since the last time to the shared counts and takes over their totals. */
  async tell(): Promise<void> {
    if (this.isTelling) return;
    this.roll();
    const counts = this.counts;
    const news = [...counts.values()].filter(({ untold }) => untold > 0);
    if (news.length === 0) return;
    const uses: RateUse[] = news.map(({ team, group, untold }) => ({ team, group, n: untold }));
    for (const count of news) count.untold = 0;
    this.isTelling = true;
    try {
      const totals = await this.counter.add(uses);
      this.learn(counts, totals);
      this.news.publish(totals);
      this.isCutOff = false;
    } catch (error) {
      uses.forEach(({ n }, i) => (news[i]!.untold += n));
      if (!this.isCutOff) this.log.warn({ err: error }, 'rate limits are counted by this gateway alone for now');
      this.isCutOff = true;
    } finally {
      this.isTelling = false;
    }
  }

  /** Totals of a minute that has ended here meanwhile say nothing about the present one. */
  private learn(counts: Map<string, Count>, totals: RateTotal[]): void {
    if (counts !== this.counts || !this.turnTo(totals)) return;
    for (const { team, group, n } of totals) {
      const count = this.countOf(team, group);
      count.used = n + count.untold;
    }
  }

  /** Takes over totals of another gateway. Requests that this gateway is just telling may be missing in them. */
  private hear(totals: RateTotal[]): void {
    this.roll();
    if (!this.turnTo(totals)) return;
    for (const { team, group, n } of totals) {
      const count = this.countOf(team, group);
      count.used = Math.max(count.used, n + count.untold);
    }
  }

  /** Takes over the database's minute; false when the totals are of one that is over here. */
  private turnTo([first]: RateTotal[]): boolean {
    if (first === undefined) return false;
    const endMs = this.now() + first.leftMs;
    if (endMs < this.windowEndMs - WINDOW_MS / 2) return false;
    // The database's minute has turned a moment before ours: counts that are not among the totals belong to the last one.
    if (endMs > this.windowEndMs + WINDOW_MS / 2) this.counts = new Map();
    this.windowEndMs = endMs;
    return true;
  }

  private roll(): void {
    const now = this.now();
    if (now < this.windowEndMs) return;
    this.counts = new Map();
    this.windowEndMs += WINDOW_MS * (1 + Math.floor((now - this.windowEndMs) / WINDOW_MS));
  }

  private countOf(team: Uuid, group: RateGroup): Count {
    const key = `${team} ${group}`;
    let count = this.counts.get(key);
    if (!count) this.counts.set(key, (count = { team, group, used: 0, untold: 0 }));
    return count;
  }

  private refusal(group: RateGroup, limit: number): ApiError {
    const retryAfterS = Math.max(1, Math.ceil((this.windowEndMs - this.now()) / 1000));
    return new ApiError(
      429,
      `Rate limit exceeded: this team may make ${limit} requests of the group "${group}" per minute. Try again in ${retryAfterS} s.`,
      { retryAfterS },
    );
  }
}
