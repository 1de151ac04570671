/**
 * Remembers what `auto` requests have found out about hosts: which ones let a team in by stealth alone, and which not
 * even then.
 */
import type { ProxyClass, Uuid } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';

/** After this time basic proxies are tried again, and stealth where it did not help. */
const TTL_MS = 30 * 60_000;
const MAX_HOSTS = 10_000;
/** Pages in a row that neither class could get. After them the second try is left out. */
const MISSES_BEFORE_HOPELESS = 3;

interface Known {
  first: ProxyClass;
  misses: number;
}

const UNKNOWN: Known = { first: 'basic', misses: 0 };

export class StealthHosts {
  private readonly hosts: LRUCache<string, Known>;

  constructor(ttlMs: number = TTL_MS) {
    this.hosts = new LRUCache({ max: MAX_HOSTS, ttl: ttlMs });
  }

  /** The class that an `auto` request begins with. */
  first(team: Uuid, url: string): ProxyClass {
    return this.known(team, url).first;
  }

  /** Neither class has got a page of late. */
  isHopeless(team: Uuid, url: string): boolean {
    return this.known(team, url).misses >= MISSES_BEFORE_HOPELESS;
  }

  /** Tells by which class a page was had after the other one had been refused; null: by neither. */
  learn(team: Uuid, url: string, by: ProxyClass | null): void {
    const misses = by === null ? this.known(team, url).misses + 1 : 0;
    this.hosts.set(keyOf(team, url), { first: by ?? 'basic', misses });
  }

  private known(team: Uuid, url: string): Known {
    return this.hosts.get(keyOf(team, url)) ?? UNKNOWN;
  }
}

function keyOf(team: Uuid, url: string): string {
  return `${team} ${URL.parse(url)?.host ?? url}`;
}
