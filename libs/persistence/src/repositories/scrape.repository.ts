import type { Uuid } from '@troupe/contracts';
import type pg from 'pg';

export interface StoredScrape {
  team: Uuid;
  /** The document, packed. */
  packed: Buffer;
  expiresAt: Date;
}

export interface NewScrape extends StoredScrape {
  id: Uuid;
}

/** Documents of sync scrapes, kept for `GET /v2/scrape/{id}`. Off the path of the scrape itself. */
export class ScrapeRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Storing the same id again on the same day changes nothing. */
  async store(scrapes: readonly NewScrape[]): Promise<void> {
    if (scrapes.length === 0) return;
    const rows = scrapes.map(
      (_, i) => `($${4 * i + 1}::uuid, $${4 * i + 2}::uuid, $${4 * i + 3}::bytea, $${4 * i + 4}::timestamptz)`,
    );
    await this.pool.query({
      text: `INSERT INTO scrape_document (id, day, team_id, inline, expires_at)
        SELECT id, (extract(epoch FROM now())::bigint / 86400 - 19723)::int, team, document, expires
        FROM (VALUES ${rows.join(', ')}) AS new (id, team, document, expires) ON CONFLICT DO NOTHING`,
      values: scrapes.flatMap(({ id, team, packed, expiresAt }) => [id, team, packed, expiresAt]),
    });
  }

  /** null when unknown or expired. */
  async find(id: Uuid): Promise<StoredScrape | null> {
    const { rows } = await this.pool.query<StoredScrape>({
      name: 'scrape-find',
      text: `SELECT team_id AS team, inline AS packed, expires_at AS "expiresAt" FROM scrape_document WHERE id = $1 AND expires_at > now()`,
      values: [id],
    });
    return rows[0] ?? null;
  }
}
