/**
 * Troubled URLs of a host in a row, as this process sees them. One says nothing about the host; from the second on it is
 * left alone for a while, whether or not its actor is there to say so.
 */
import { LRUCache } from 'lru-cache';

interface Row {
  url: string;
  retryMs: number | null;
  /** How often it was left alone since its last clean answer. */
  rests: number;
}

const REMEMBERED_HOSTS = 10_000;
const ROW_MS = 30_000;
const FIRST_REST_MS = 1000;
/** By then a host whose actor's owner died has another one. */
const LAST_REST_MS = 8000;

export class TroubleRows {
  readonly #rows = new LRUCache<string, Row>({ max: REMEMBERED_HOSTS, ttl: ROW_MS });

  clean(host: string): void {
    this.#rows.delete(host);
  }

  /** Milliseconds for which the host is left alone, 0 = not at all. A Retry-After counts when two URLs name one. */
  trouble(host: string, { url, retryMs }: Pick<Row, 'url' | 'retryMs'>): number {
    const row = this.#rows.get(host);
    const isRow = row !== undefined && (row.rests > 0 || row.url !== url);
    const rests = isRow ? row.rests + 1 : 0;
    this.#rows.set(host, { url, retryMs, rests });
    if (!isRow) return 0;
    const agreedMs = row.retryMs === null || retryMs === null ? 0 : Math.min(row.retryMs, retryMs);
    return Math.max(agreedMs, Math.min(LAST_REST_MS, FIRST_REST_MS * 2 ** (rests - 1)));
  }
}
