import type pg from 'pg';

/** robots.txt as last fetched from a host. */
export interface CachedRobots {
  /** HTTP status, 0 when it could not be fetched. */
  status: number;
  body: Buffer;
  /** How long ago it was stored, by the database's clock alone. */
  ageMs: number;
  ttlS: number;
}

/** Shared cache of robots.txt by host key; a copy past its life is still returned, its use is the caller's decision. */
export class RobotsCache {
  constructor(private readonly pool: pg.Pool) {}

  async get(host: string): Promise<CachedRobots | null> {
    const { rows } = await this.pool.query<CachedRobots>({
      name: 'robots-get',
      text: `SELECT status, rules AS body, (extract(epoch FROM now() - at) * 1000)::float8 AS "ageMs", ttl AS "ttlS" FROM robots_cache WHERE host = $1`,
      values: [host],
    });
    return rows[0] ?? null;
  }

  async put(host: string, { status, body, ttlS }: Pick<CachedRobots, 'status' | 'body' | 'ttlS'>): Promise<void> {
    await this.pool.query({
      name: 'robots-put',
      text: `INSERT INTO robots_cache (host, at, ttl, status, rules) VALUES ($1, now(), $2, $3, $4)
        ON CONFLICT (host) DO UPDATE SET at = EXCLUDED.at, ttl = EXCLUDED.ttl, status = EXCLUDED.status, rules = EXCLUDED.rules`,
      values: [host, ttlS, status, body],
    });
  }
}
