/**
 * A small world for the policy of a host: a site, the slots of two fetchers that report as real ones do, and one job that
 * tries its pages again. Virtual time in ms, everything from one seed.
 */
import type { HostFeedback, HostTrouble, TroubleKind } from '@troupe/contracts';
import {
  applyFeedback,
  createHostPolicy,
  hostLimits,
  settleHost,
  takeProbe,
  type HostConfig,
  type HostPolicy,
} from './host-policy.js';

export class Dice {
  constructor(private state: number) {}

  /** [0, 1) */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Log-normal about a mean: durations. */
  about(mean: number, spread = 0.3): number {
    const normal = Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
    return mean * Math.exp(spread * normal - (spread * spread) / 2);
  }
}

export interface Page {
  no: number;
  tries: number;
  strikes: number;
}

export interface Answer {
  ms: number;
  status: 0 | 200 | 429 | 503;
  retryMs?: number;
  /** The site's owner would rather not have had this request. */
  isViolation?: boolean;
}

export interface Site {
  answer(now: number, page: Page): Answer;
  /** Mean wait of its other visitors, ms. */
  visitorsWaitMs?(): number;
}

export interface Outcome {
  seconds: number;
  lost: number;
  violations: number;
  visitorsWaitMs: number;
  policy: HostPolicy;
}

const FETCHERS = 2;
const LATENCY_MS = 40;
const REPORT_MS = 1000;
const TROUBLE_REPORT_MS = 100;
const RESULT_MS = 120;
const LIMIT_MS = 2 * 3_600_000;
const PROBE_DELAY_MS = 40;

interface Slot {
  lastStart: number;
  isBusy: boolean;
  fetcher: Reporter;
}

/** Answers that one fetcher has seen and not reported. */
class Reporter {
  private ok = 0;
  private sumMs = 0;
  private okUrl: string | null = null;
  private troubles: HostTrouble[] = [];
  private reportAt: number | null = null;
  private lastAt = -REPORT_MS;

  constructor(private readonly world: HostWorld) {}

  clean(ms: number, url: string): void {
    this.ok += 1;
    this.sumMs += ms;
    this.okUrl = url;
    this.plan(Math.max(this.world.now, this.lastAt + REPORT_MS));
  }

  trouble(trouble: HostTrouble): void {
    this.troubles.push(trouble);
    this.plan(Math.max(this.world.now, this.lastAt + TROUBLE_REPORT_MS));
  }

  private plan(at: number): void {
    if (this.reportAt !== null && this.reportAt <= at) return;
    this.reportAt = at;
    this.world.at(at, () => this.report(at));
  }

  private report(at: number): void {
    if (this.reportAt !== at) return;
    this.reportAt = null;
    this.lastAt = at;
    const feedback: HostFeedback = {
      type: 'HostFeedback',
      host: 'h',
      ok: this.ok,
      meanMs: this.ok === 0 ? 0 : this.sumMs / this.ok,
      ...(this.okUrl === null ? {} : { okUrl: this.okUrl }),
      troubles: this.troubles,
    };
    this.ok = 0;
    this.sumMs = 0;
    this.okUrl = null;
    this.troubles = [];
    this.world.at(at + LATENCY_MS, () => this.world.tell(feedback));
  }
}

export class HostWorld {
  now = 0;
  private readonly events: { at: number; n: number; run: () => void }[] = [];
  private scheduled = 0;
  private readonly policy: HostPolicy;
  private limits;
  private readonly slots: Slot[];
  private readonly ready: Page[];
  private waiting: { at: number; page: Page }[] = [];
  private finishedAt = 0;
  private done = 0;
  private lost = 0;
  private violations = 0;
  private wakeAt = Infinity;

  constructor(
    private readonly site: Site,
    pages: number,
    config: HostConfig,
  ) {
    this.policy = createHostPolicy(config);
    settleHost(this.policy, { now: 0, wallMs: 0 });
    this.limits = hostLimits(this.policy, 0);
    const reporters = Array.from({ length: FETCHERS }, () => new Reporter(this));
    this.slots = Array.from({ length: config.maxConn }, (_, i) => ({
      lastStart: -1e9,
      isBusy: false,
      fetcher: reporters[i % FETCHERS]!,
    }));
    this.ready = Array.from({ length: pages }, (_, no) => ({ no, tries: 0, strikes: 0 }));
  }

  run(): Outcome {
    const pages = this.ready.length;
    this.at(0, () => this.work());
    while (this.done + this.lost < pages && this.now < LIMIT_MS) {
      const event = this.takeEvent();
      if (event === null) throw new Error(`nothing moves at ${this.now} ms: ${JSON.stringify(this.limits)}`);
      this.now = event.at;
      event.run();
    }
    return {
      seconds: this.finishedAt / 1000,
      lost: pages - this.done,
      violations: this.violations,
      visitorsWaitMs: this.site.visitorsWaitMs?.() ?? 0,
      policy: this.policy,
    };
  }

  at(at: number, run: () => void): void {
    const event = { at, n: this.scheduled++, run };
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    this.events.splice(low, 0, event);
  }

  /** The host's actor: a turn, and what all fetchers are told afterwards. */
  tell(feedback: HostFeedback | null): void {
    const moment = { now: this.now, wallMs: this.now };
    if (feedback !== null) applyFeedback(this.policy, feedback, moment);
    const probe = takeProbe(this.policy, this.now);
    settleHost(this.policy, moment);
    const { down } = this.policy;
    if (probe !== null) this.probe(probe.url);
    else if (down !== null) this.at(down.probeAt, () => this.tell(null));
    this.at(this.now + LATENCY_MS, () => this.obey());
  }

  private obey(): void {
    this.limits = hostLimits(this.policy, this.now);
    this.work();
  }

  private probe(url: string | null): void {
    const page = { no: Number(url ?? 0), tries: 1, strikes: 0 };
    this.at(this.now + PROBE_DELAY_MS, () => {
      const answer = this.ask(page);
      const feedback = { type: 'HostFeedback' as const, host: 'h', ok: 0, meanMs: 0, troubles: [] };
      const clean = answer.status === 200;
      this.at(this.now + answer.ms + LATENCY_MS, () => this.tell({ ...feedback, probe: { clean } }));
    });
  }

  private takeEvent(): { at: number; run: () => void } | null {
    return this.events.pop() ?? null;
  }

  private ask(page: Page): Answer {
    const answer = this.site.answer(this.now, page);
    if (answer.isViolation === true) this.violations += 1;
    return answer;
  }

  private work(): void {
    this.ready.push(...this.waiting.filter(({ at }) => at <= this.now).map(({ page }) => page));
    this.waiting = this.waiting.filter(({ at }) => at > this.now);
    const { maxConn, gapMs } = this.limits;
    const pausedUntil = this.policy.pauseUntil;
    if (pausedUntil > this.now && this.limits.state === 'paused') return this.wake(pausedUntil);
    for (const slot of this.slots.slice(0, maxConn)) {
      if (slot.isBusy || this.ready.length === 0) continue;
      if (this.slots.filter(({ isBusy }) => isBusy).length >= maxConn) break;
      if (slot.lastStart + gapMs > this.now) this.wake(slot.lastStart + gapMs);
      else this.fetch(slot, this.ready.shift()!);
    }
    if (this.waiting.length > 0) this.wake(Math.min(...this.waiting.map(({ at }) => at)));
  }

  private wake(at: number): void {
    if (at >= this.wakeAt) return;
    this.wakeAt = at;
    this.at(at, () => {
      if (this.wakeAt <= this.now) this.wakeAt = Infinity;
      this.obey();
    });
  }

  private fetch(slot: Slot, page: Page): void {
    slot.isBusy = true;
    slot.lastStart = this.now;
    page.tries += 1;
    const answer = this.ask(page);
    this.at(this.now + answer.ms, () => {
      slot.isBusy = false;
      const url = String(page.no);
      if (answer.status === 200) slot.fetcher.clean(answer.ms, url);
      else slot.fetcher.trouble(troubleOf(url, answer));
      this.at(this.now + RESULT_MS, () => this.settle(page, answer));
      this.work();
    });
  }

  private settle(page: Page, answer: Answer): void {
    if (answer.status === 200) this.done += 1;
    else this.again(page, answer);
    if (this.done + this.lost > 0) this.finishedAt = this.now;
    this.work();
  }

  /** A failure is the page's own unless the host as a whole is known to be in trouble. */
  private again(page: Page, { status, retryMs }: Answer): void {
    const { state, limitedMs, deaf } = hostLimits(this.policy, this.now);
    const isHosts = state === 'down' || (status === 429 && limitedMs !== null && limitedMs < 60_000);
    if (!isHosts) page.strikes += 1;
    if (page.strikes >= 3 || page.tries >= 30) {
      this.lost += 1;
      return;
    }
    if (isHosts) return void this.waiting.push({ at: this.now, page });
    const first = deaf && status !== 429 ? 30_000 : 2000;
    const second = deaf && status !== 429 ? 120_000 : 8000;
    const waitMs = Math.max(page.strikes <= 1 ? first : second, retryMs ?? 0);
    this.waiting.push({ at: this.now + waitMs, page });
  }
}

const KINDS: Record<0 | 429 | 503, TroubleKind> = { 0: 'timeout', 429: 'rateLimited', 503: 'unavailable' };

function troubleOf(url: string, { status, retryMs }: Answer): HostTrouble {
  const kind = KINDS[status as 0 | 429 | 503];
  return { kind, status, urlH: url.padStart(16, '0'), url, team: null, retryMs: retryMs ?? null };
}
