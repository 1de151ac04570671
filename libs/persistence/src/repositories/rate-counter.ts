import type { RateGroup, Uuid } from '@troupe/contracts';
import type pg from 'pg';

export interface RateUse {
  team: Uuid;
  group: RateGroup;
  /** Requests. */
  n: number;
}

export interface RateTotal extends RateUse {
  /** Until the present minute is over, by the database's clock. */
  leftMs: number;
}

/** A row is of its newest minute. Counts that arrive late, for a minute that is over, are dropped. */
const ADD = `INSERT INTO rate_use (team_id, grp, minute, used)
  SELECT team, grp, floor(extract(epoch FROM now()) / 60)::bigint, n
  FROM unnest($1::uuid[], $2::text[], $3::int[]) AS x(team, grp, n) ORDER BY team, grp
  ON CONFLICT (team_id, grp) DO UPDATE SET minute = greatest(rate_use.minute, EXCLUDED.minute),
    used = CASE WHEN rate_use.minute = EXCLUDED.minute THEN rate_use.used + EXCLUDED.used
      WHEN rate_use.minute < EXCLUDED.minute THEN EXCLUDED.used ELSE rate_use.used END
  RETURNING team_id AS team, grp AS "group", used AS n,
    ((minute + 1) * 60000 - extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "leftMs"`;

/** Requests per team, group and minute, summed over all gateways. */
export class RateCounter {
  constructor(private readonly pool: pg.Pool) {}

  /** Adds to the present minute and returns the totals. Each (team, group) at most once. */
  async add(uses: readonly RateUse[]): Promise<RateTotal[]> {
    const { rows } = await this.pool.query<RateTotal>({
      name: 'rate-add',
      text: ADD,
      values: [uses.map(({ team }) => team), uses.map(({ group }) => group), uses.map(({ n }) => n)],
    });
    return rows;
  }
}
