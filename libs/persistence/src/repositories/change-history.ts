/** The newest text of each tracked page, and the one before it (docs/api/formats.md, "changeTracking"). */
import {
  fingerprintFromInt64,
  type Fingerprint,
  type HistoryRange,
  type TrackedPage,
  type Uuid,
} from '@troupe/contracts';
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

/** Entry that a scrape puts on top of the history of its page. */
export interface NewSnapshot extends Omit<Snapshot, 'at'> {
  url: string;
  /** Fingerprint of the `siteKey` of the URL. */
  siteH: Fingerprint;
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
  async replace(key: HistoryKey, scrape: Uuid, now: NewSnapshot): Promise<Snapshot | null> {
    return this.read(
      `WITH old AS (${OLD} FOR UPDATE),
        written AS (INSERT INTO change_snapshot AS s (team_id, url_h, tag, by_id, at, hash, blob, url, site_h)
          VALUES ($1, $2, $3, $4, now(), $5, $6, $7, $8)
          ON CONFLICT (team_id, url_h, tag) DO UPDATE SET ${['at', 'hash', 'blob'].map(KEPT).join(', ')},
            by_id = EXCLUDED.by_id, at = EXCLUDED.at, hash = EXCLUDED.hash, blob = EXCLUDED.blob,
            url = EXCLUDED.url, site_h = EXCLUDED.site_h)
        ${EARLIER}`,
      [...keyValues(key), scrape, now.hash, now.blob, storable(now.url), int64(now.siteH)],
    );
  }

  /** Entry that a scrape would be compared with. */
  async find(key: HistoryKey, scrape: Uuid): Promise<Snapshot | null> {
    return this.read(`WITH old AS (${OLD}) ${EARLIER}`, [...keyValues(key), scrape]);
  }

  /** Histories last written by versions that kept no URL are left out. */
  async pagesOf({ team, tag, siteH, after, limit }: HistoryRange): Promise<TrackedPage[]> {
    const [from, values] = after === null ? ['', []] : ['AND url_h > $5', [int64(after)]];
    const { rows } = await this.pool.query<{ url_h: string; url: string }>(
      `SELECT url_h, url FROM change_snapshot WHERE team_id = $1 AND tag = $2 AND site_h = $3 ${from}
        ORDER BY url_h LIMIT $4`,
      [team, storable(tag ?? ''), int64(siteH), limit, ...values],
    );
    return rows.map((row) => ({ urlH: fingerprintFromInt64(BigInt(row.url_h)), url: row.url }));
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
