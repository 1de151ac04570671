import type { Uuid } from '@troupe/contracts';
import type pg from 'pg';

export interface StoredScrape {
  team: Uuid;
  /** gzip of the document's JSON. */
  gzip: Buffer;
  expiresAt: Date;
}

/** Documents of sync scrapes, kept for `GET /v2/scrape/{id}`. Off the path of the scrape itself. */
export class ScrapeRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Storing the same id again on the same day changes nothing. */
  async storeDocument(id: Uuid, team: Uuid, gzip: Buffer, expiresAt: Date): Promise<void> {
    await this.pool.query({
      name: 'scrape-store',
      text: `INSERT INTO scrape_document (id, day, team_id, inline, expires_at)
        VALUES ($1, (extract(epoch FROM now())::bigint / 86400 - 19723)::int, $2, $3, $4) ON CONFLICT DO NOTHING`,
      values: [id, team, gzip, expiresAt],
    });
  }

  /** null when unknown or expired. */
  async find(id: Uuid): Promise<StoredScrape | null> {
    const { rows } = await this.pool.query<StoredScrape>({
      name: 'scrape-find',
      text: `SELECT team_id AS team, inline AS gzip, expires_at AS "expiresAt" FROM scrape_document WHERE id = $1 AND expires_at > now()`,
      values: [id],
    });
    return rows[0] ?? null;
  }
}
