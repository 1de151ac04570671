/**
 * Chooses the proxy of a request: one of its team's proxies if the team has any of the class, else one of the
 * installation's. Pages that share a browser context (a lane's) share a proxy; all others take turns.
 */
import { createHash } from 'node:crypto';
import type { ProxyClass, ProxyLists, Uuid } from '@troupe/contracts';
import type { Resolver } from '@troupe/egress';
import { LRUCache } from 'lru-cache';
import { noProxyLeft } from './proxy-fault.js';
import { Upstream } from './upstream.js';

export interface ProxyPoolsOptions {
  /** The operator's: their addresses are taken as they are. */
  installation: ProxyLists;
  /** A team's own lists, null when it has none. Asked for every request. */
  listsOf(team: Uuid): ProxyLists | null;
  /** Checks the addresses of teams' proxies. */
  resolver: Pick<Resolver, 'resolve'>;
  log: { warn(context: object, message: string): void };
}

export interface ProxyWish {
  proxy: ProxyClass;
  team: Uuid | null;
  contextKey: string | null;
}

/** Proxies whose state is remembered. */
const MAX_UPSTREAMS = 10_000;

export class ProxyPools {
  private readonly upstreams = new LRUCache<string, Upstream>({ max: MAX_UPSTREAMS });
  private turn = 0;

  constructor(private readonly options: ProxyPoolsOptions) {}

  /**
   * The proxy to use next, null when the request needs none. Resting ones are passed over; when all rest, the one whose
   * last failure is longest ago has its chance.
   * @throws TroupeError SCRAPE_PROXY_SELECTION_ERROR when all of them have been tried
   */
  choose(wish: ProxyWish, tried: ReadonlySet<Upstream>): Upstream | null {
    const pool = this.poolOf(wish);
    if (pool.length === 0) return null;
    const left = turned(pool, this.placeOf(wish, pool.length)).filter((upstream) => !tried.has(upstream));
    const awake = left.find((upstream) => !upstream.isResting);
    if (awake !== undefined) return awake;
    const [first, ...others] = left;
    if (first === undefined) throw noProxyLeft(tried.size);
    return others.reduce((best, other) => (other.failedAt < best.failedAt ? other : best), first);
  }

  /** Do stealth requests of the team leave by other proxies than its basic ones? */
  hasStealthExit(team: Uuid | null): boolean {
    return this.urlsOf('stealth', team).urls.length > 0;
  }

  private poolOf({ proxy, team }: ProxyWish): Upstream[] {
    const own = this.urlsOf(proxy, team);
    const { urls, owner } = own.urls.length === 0 && proxy === 'stealth' ? this.urlsOf('basic', team) : own;
    return urls.map((url) => this.upstream(url, owner));
  }

  private urlsOf(proxy: ProxyClass, team: Uuid | null): { urls: string[]; owner: Uuid | null } {
    const own = team === null ? null : this.options.listsOf(team);
    if (team !== null && own !== null && own[proxy].length > 0) return { urls: own[proxy], owner: team };
    return { urls: this.options.installation[proxy], owner: null };
  }

  private upstream(url: string, owner: Uuid | null): Upstream {
    const key = `${owner ?? ''} ${url}`;
    const known = this.upstreams.get(key);
    if (known !== undefined) return known;
    const upstream = new Upstream({
      url,
      resolver: owner === null ? null : this.options.resolver,
      onFault: ({ shown }, { reason }) =>
        this.options.log.warn({ proxy: shown, team: owner }, `a proxy ${reason}; it rests for a while`),
    });
    this.upstreams.set(key, upstream);
    return upstream;
  }

  private placeOf({ contextKey }: ProxyWish, size: number): number {
    if (contextKey === null) return this.turn++ % size;
    return createHash('sha256').update(contextKey).digest().readUInt32BE(0) % size;
  }
}

function turned<T>(list: T[], by: number): T[] {
  return [...list.slice(by), ...list.slice(0, by)];
}
