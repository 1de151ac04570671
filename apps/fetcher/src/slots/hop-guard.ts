/**
 * Decides before every request of a page whether it may start, and on which connection. One guard lives as long as one
 * page (docs/design/politeness.md, "Express places", docs/design/frontier.md, "Robots and sitemaps"); express places
 * taken for hops into other hosts are given back with it.
 */
import { TroupeError, type HostState } from '@troupe/contracts';
import { canonicalize, hostKey, withoutWww } from '@troupe/frontier';
import type { ExpressPlace, ExpressSlots } from './express-slots.js';
import type { Penalties, RobotsLookup } from '../cluster/ports.js';

/** Why a page was not fetched although nothing failed. */
export interface Refusal {
  outcome: 'robots' | 'redirected';
  /** The URL that was refused. */
  url: string;
}

/** Thrown when a request must not be made; `refusal` becomes the outcome of the page. */
export class RequestRefusedError extends TroupeError {
  constructor(readonly refusal: Refusal) {
    super('SCRAPE_SITE_ERROR', `${refusal.url} is not fetched: ${refusal.outcome}`);
  }
}

/** Thrown when nothing may be asked of a host for a while. */
export class HostPausedError extends TroupeError {
  constructor(
    readonly host: string,
    readonly pauseMs: number,
    state: HostState = 'paused',
  ) {
    super('HOST_PAUSED', `${host} ${REASONS[state]} it is not asked for anything in the next ${seconds(pauseMs)} s`, {
      retryable: true,
      retryAfterMs: pauseMs,
    });
  }
}

const REASONS: Record<HostState, string> = {
  open: 'is at rest:',
  slowed: 'is at rest:',
  paused: 'has asked for a rest (Retry-After):',
  down: 'gives no good answer at the moment:',
  held: 'is held by the operator:',
};

function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000));
}

/** @throws HostPausedError */
export function checkPause(host: string, penalties: Pick<Penalties, 'pauseMs' | 'stateOf'>): void {
  const pauseMs = penalties.pauseMs(host);
  if (pauseMs > 0) throw new HostPausedError(host, pauseMs, penalties.stateOf(host));
}

export interface HopGuardOptions {
  /** Host on whose connection the page is fetched already. */
  host: string;
  /** null: robots are not consulted. */
  robotsAgent: string | null;
  robots: RobotsLookup;
  /** Redirect targets out of it are refused; null: anything goes. */
  scope: { holds(url: string): Promise<boolean> } | null;
  /** Requests to other hosts are refused; `www.` makes no difference. @default any */
  onlyHosts?: readonly string[];
  penalties: Pick<Penalties, 'pauseMs' | 'stateOf'>;
  express: Pick<ExpressSlots, 'acquire'>;
  /** Longest wait for a place on another host. */
  placeWaitMs: number;
  /** Called before a hop inside the own host: keeps its gap. */
  onOwnHost(): Promise<void>;
  signal: AbortSignal;
}

export class HopGuard {
  /** Host of the request that runs or ran last: its troubles are that host's. */
  host: string;
  /** Its URL; empty before the first. */
  url = '';
  /** Set when a request was refused, whatever the engine made of the error. */
  refusal: Refusal | null = null;
  /** Set when another host was under penalty. */
  paused: HostPausedError | null = null;
  private readonly places = new Map<string, ExpressPlace>();
  private isOver = false;

  constructor(private readonly options: HopGuardOptions) {
    this.host = options.host;
  }

  /** Before the first request. @throws RequestRefusedError */
  async checkStart(url: string): Promise<void> {
    this.checkHost(url);
    this.url = url;
    await this.checkRobots(url);
  }

  /** Before following a redirect. @throws RequestRefusedError, HostPausedError, TroupeError CONCURRENCY_QUEUE_TIMEOUT */
  async checkHop(target: string): Promise<void> {
    this.checkHost(target);
    await this.checkScope(target);
    this.host = hostKey(target);
    this.url = target;
    await this.checkRobots(target);
    if (this.host === this.options.host) await this.options.onOwnHost();
    else await this.enter(this.host);
  }

  /** Checks an earlier redirect of a remembered page. No request is made. @throws RequestRefusedError */
  async checkRemembered(target: string): Promise<void> {
    await this.checkScope(target);
    await this.checkRobots(target);
  }

  release(): void {
    this.isOver = true;
    for (const place of this.places.values()) place.release();
    this.places.clear();
  }

  private checkHost(target: string): void {
    const { onlyHosts } = this.options;
    const host = withoutWww(hostKey(target));
    if (onlyHosts?.some((allowed) => withoutWww(allowed) === host) === false) this.refuse('redirected', target);
  }

  private async checkScope(target: string): Promise<void> {
    const { scope } = this.options;
    if (scope === null) return;
    const canonical = canonicalize(target);
    if (canonical === null || !(await scope.holds(canonical))) this.refuse('redirected', canonical ?? target);
  }

  private async checkRobots(url: string): Promise<void> {
    const { robotsAgent, robots, signal } = this.options;
    if (robotsAgent === null) return;
    const rules = await robots.rulesFor(url, signal);
    if (!rules.isAllowed(url, robotsAgent)) this.refuse('robots', url);
  }

  private async enter(host: string): Promise<void> {
    try {
      checkPause(host, this.options.penalties);
    } catch (error) {
      this.paused = error as HostPausedError;
      throw error;
    }
    if (this.places.has(host)) return;
    const place = await this.options.express.acquire(host, this.options.placeWaitMs, this.options.signal);
    // The engine may have given up meanwhile.
    if (this.isOver) place.release();
    else this.places.set(host, place);
  }

  private refuse(outcome: Refusal['outcome'], url: string): never {
    this.refusal = { outcome, url };
    throw new RequestRefusedError(this.refusal);
  }
}
