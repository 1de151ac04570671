/** How the hosts of a world treat those who ask: limits, outages, rules that cannot be read. All of it ends with the faults. */
import type { HostSetting, TroubleKind } from '@troupe/contracts';
import type { Random } from '@troupe/actors';
import type { Faults } from './faults.js';

interface Span {
  from: number;
  to: number;
}

export interface Refusal {
  kind: TroubleKind;
  status: 0 | 429 | 503;
  retryMs: number | null;
}

export interface RobotsAnswer {
  status: number;
  retryMs: number | null;
}

/** Half of them show it, and some of what is said of them may be lost. */
const NOTORIOUS_PAGES = 8;

/** Times are ms since the world began. */
export class HostConduct {
  readonly maxConn: number;
  private readonly maxRate: number | null;
  /** An operator wants no requests. */
  private readonly held: Span | null;
  private readonly perS: number | null;
  private readonly retryMs: number | null;
  private readonly outage: Span | null;
  private readonly outageStatus: 0 | 503;
  private readonly robotsOut: Span | null;
  /** Starts of the last second. */
  private starts: number[] = [];
  /** What it has refused, and when. */
  private refusals: { url: string; at: number }[] = [];
  /** It has refused so many pages within half a minute that everybody has to know. */
  isNotorious = false;

  constructor(random: Random, faults: Faults, outage: Span | null) {
    this.maxConn = random.int(1, 2);
    this.maxRate = random.chance(0.1) ? random.int(2, 5) : null;
    this.held = random.chance(0.05) ? spanOf(random.int(0, 20_000), random.int(3_000, 20_000)) : null;
    const limits = faults.of('rate limit');
    this.perS = faults.has('rate limit', 0.25) ? limits.int(1, 2) : null;
    this.retryMs = limits.chance(0.5) ? limits.int(1_000, 6_000) : null;
    const dice = faults.of('outage');
    this.outage = outage ?? (faults.has('outage', 0.1) ? spanOf(dice.int(0, 30_000), dice.int(3_000, 40_000)) : null);
    this.outageStatus = dice.chance(0.5) ? 0 : 503;
    const robots = faults.of('unreadable robots');
    const isUnreadable = faults.has('unreadable robots', 0.1);
    this.robotsOut = isUnreadable ? spanOf(robots.int(0, 10_000), robots.int(5_000, 60_000)) : null;
  }

  /** What an operator has set for it. @param extraConn of a mutant */
  setting(now: number, extraConn: number): HostSetting {
    const setting = { pattern: '*', maxConn: this.maxConn + extraConn };
    return { ...setting, ...(this.maxRate === null ? {} : { maxRate: this.maxRate }), hold: within(this.held, now) };
  }

  get isTroubled(): boolean {
    return this.perS !== null || this.outage !== null || this.robotsOut !== null;
  }

  isOut(now: number): boolean {
    return within(this.outage, now);
  }

  /** A request begins; null: it is answered well. */
  refuse(url: string, now: number): Refusal | null {
    this.starts = [...this.starts.filter((at) => at > now - 1_000), now];
    const refusal = this.refusalOf(now);
    if (refusal === null) return null;
    this.refusals = [...this.refusals.filter(({ at }) => at > now - 20_000), { url, at: now }];
    this.isNotorious ||= new Set(this.refusals.map((one) => one.url)).size >= NOTORIOUS_PAGES;
    return refusal;
  }

  private refusalOf(now: number): Refusal | null {
    const isFast = this.perS !== null && this.starts.length > this.perS;
    if (this.isOut(now)) {
      const kind = this.outageStatus === 0 ? 'refused' : 'unavailable';
      return { kind, status: this.outageStatus, retryMs: null };
    }
    return isFast ? { kind: 'rateLimited', status: 429, retryMs: this.retryMs } : null;
  }

  robots(now: number): RobotsAnswer {
    return within(this.robotsOut, now) ? { status: 503, retryMs: this.retryMs } : { status: 200, retryMs: null };
  }
}

function spanOf(from: number, ms: number): Span {
  return { from, to: from + ms };
}

function within(span: Span | null, now: number): boolean {
  return span !== null && now >= span.from && now < span.to;
}
