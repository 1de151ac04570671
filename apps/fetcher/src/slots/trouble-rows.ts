/**
 * Counts URLs of a host that failed in a row, as this process sees them. One says nothing about the host. From the
 * second on the host is left alone for a while, even if its actor has not said so. As in the actor, a URL has one vote
 * in ten minutes.
 */
import { LRUCache } from 'lru-cache';

interface Row {
  retryMs: number | null;
  /** How often the host was left alone since its last clean answer. */
  rests: number;
}

const REMEMBERED_HOSTS = 10_000;
const REMEMBERED_URLS = 20_000;
const ROW_MS = 30_000;
const VOTE_MS = 600_000;
const FIRST_REST_MS = 1000;
/** By then another scheduler owns the actor of a host whose scheduler died. */
const LAST_REST_MS = 8000;

export class TroubleRows {
  private readonly rows = new LRUCache<string, Row>({ max: REMEMBERED_HOSTS, ttl: ROW_MS });
  private readonly voted = new LRUCache<string, true>({ max: REMEMBERED_URLS, ttl: VOTE_MS });

  clean(host: string): void {
    this.rows.delete(host);
  }

  /** Milliseconds for which the host is left alone, 0 = not at all. A Retry-After counts when two URLs name one. */
  trouble(host: string, { urlH, retryMs }: { urlH: string; retryMs: number | null }): number {
    const vote = `${host} ${urlH}`;
    if (this.voted.has(vote)) return 0;
    this.voted.set(vote, true);
    const row = this.rows.get(host);
    const rests = row === undefined ? 0 : row.rests + 1;
    this.rows.set(host, { retryMs, rests });
    if (row === undefined) return 0;
    const agreedMs = row.retryMs === null || retryMs === null ? 0 : Math.min(row.retryMs, retryMs);
    return Math.max(agreedMs, Math.min(LAST_REST_MS, FIRST_REST_MS * 2 ** (rests - 1)));
  }
}
