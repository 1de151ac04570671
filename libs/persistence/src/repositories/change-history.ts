/** The newest text of each tracked page, and the one before it (spec/formats.md, "changeTracking"). */
import type { Fingerprint, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { int64 } from '../actor-store/row-writes.js';
import { storable } from '../actor-store/statement.js';

export interface HistoryKey {
  team: Uuid;
  urlH: Fingerprint;
  /** null = the default history. */
  tag: string | null;
}

export interface Snapshot {
  at: Date;
  hash: Buffer;
  /** Key of the gzip of its text. */
  blob: string;
}

const OLD = `SELECT by_id, at, hash, blob, prev_at, prev_hash, prev_blob FROM change_snapshot
  WHERE team_id = $1 AND url_h = $2 AND tag = $3`;
/** A scrape that is run again is not compared with itself. */
const EARLIER = `SELECT CASE WHEN by_id = $4 THEN prev_at ELSE at END AS at, CASE WHEN by_id = $4 THEN prev_hash ELSE hash END AS hash,
  CASE WHEN by_id = $4 THEN prev_blob ELSE blob END AS blob FROM old`;
const KEPT = (column: string): string =>
  `prev_${column} = CASE WHEN s.by_id = EXCLUDED.by_id THEN s.prev_${column} ELSE s.${column} END`;

export class ChangeHistory {
  constructor(private readonly pool: pg.Pool) {}

  /** Puts `now` on top and returns what was there before this scrape; null = nothing. Repeating it changes nothing. */
  async replace(key: HistoryKey, scrape: Uuid, now: Omit<Snapshot, 'at'>): Promise<Snapshot | null> {
    return this.read(
      `WITH old AS (${OLD} FOR UPDATE),
        written AS (INSERT INTO change_snapshot AS s (team_id, url_h, tag, by_id, at, hash, blob)
          VALUES ($1, $2, $3, $4, now(), $5, $6)
          ON CONFLICT (team_id, url_h, tag) DO UPDATE SET ${['at', 'hash', 'blob'].map(KEPT).join(', ')},
            by_id = EXCLUDED.by_id, at = EXCLUDED.at, hash = EXCLUDED.hash, blob = EXCLUDED.blob)
        ${EARLIER}`,
      [...keyValues(key), scrape, now.hash, now.blob],
    );
  }

  /** What a scrape would be compared with. */
  async find(key: HistoryKey, scrape: Uuid): Promise<Snapshot | null> {
    return this.read(`WITH old AS (${OLD}) ${EARLIER}`, [...keyValues(key), scrape]);
  }

  private async read(text: string, values: unknown[]): Promise<Snapshot | null> {
    const { rows } = await this.pool.query<{ at: Date | null; hash: Buffer; blob: string }>(text, values);
    const row = rows[0];
    return row === undefined || row.at === null ? null : { at: row.at, hash: row.hash, blob: row.blob };
  }
}

function keyValues({ team, urlH, tag }: HistoryKey): unknown[] {
  return [team, int64(urlH), storable(tag ?? '')];
}
