import type { Uuid } from '@troupe/contracts';
import type pg from 'pg';

const TODAY = `(now() AT TIME ZONE 'UTC')::date`;
const ADD = `INSERT INTO model_usage (team_id, day, tokens) VALUES ($1, ${TODAY}, $2)
  ON CONFLICT (team_id, day) DO UPDATE SET tokens = model_usage.tokens + excluded.tokens RETURNING tokens::float8 AS tokens`;
const OF_TODAY = `SELECT tokens::float8 AS tokens FROM model_usage WHERE team_id = $1 AND day = ${TODAY}`;

/** Tokens of language models that teams used, by day (UTC). */
export class ModelUsage {
  constructor(private readonly pool: pg.Pool) {}

  /** Resolves with the sum of today, these included. */
  async add(team: Uuid, tokens: number): Promise<number> {
    const { rows } = await this.pool.query<{ tokens: number }>({
      name: 'model-usage-add',
      text: ADD,
      values: [team, tokens],
    });
    return rows[0]!.tokens;
  }

  async today(team: Uuid): Promise<number> {
    const { rows } = await this.pool.query<{ tokens: number }>(OF_TODAY, [team]);
    return rows[0]?.tokens ?? 0;
  }
}
