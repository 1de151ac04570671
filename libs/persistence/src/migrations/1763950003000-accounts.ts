import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * NULL concurrency = the installation's `TEAM_CONCURRENCY`. There was no way to give a team its own until now, so every
 * stored number is a copy of that default.
 */
const TEAMS_AND_KEYS = `
ALTER TABLE team ALTER COLUMN concurrency DROP NOT NULL,
  ADD COLUMN webhook_secret_previous text, ADD COLUMN webhook_secret_rotated_at timestamptz;
UPDATE team SET concurrency = NULL;
ALTER TABLE api_key ADD COLUMN prefix text NOT NULL DEFAULT '', ADD COLUMN last_used_at timestamptz;
CREATE INDEX api_key_team ON api_key (team_id);`;

/**
 * Usage of a team. Jobs: one ledger row each, found by team and day through the job number. Calls without a job:
 * sums by day and key, kept when the lines of scrape_log have gone, and written by the team's actor alone.
 */
const USAGE = `
ALTER TABLE credit_ledger ADD COLUMN pages int NOT NULL DEFAULT 0;
CREATE INDEX credit_ledger_team ON credit_ledger (team_id, job_no);
CREATE INDEX job_completed ON job (team_id, finished_at) WHERE status = 'completed';
CREATE TABLE scrape_usage (
  team_id uuid NOT NULL, day int NOT NULL, key_id uuid, credits bigint NOT NULL, calls bigint NOT NULL,
  last_at timestamptz NOT NULL, UNIQUE NULLS NOT DISTINCT (team_id, day, key_id)
) WITH (fillfactor = 50);
INSERT INTO scrape_usage (team_id, day, key_id, credits, calls, last_at)
  SELECT team_id, day, key_id, sum(credits), count(*), max(at) FROM scrape_log GROUP BY team_id, day, key_id;`;

/** rate_use: requests of a team in its newest minute. Unlogged: what a crash forgets is at most a minute old. */
const LIMITS = `
CREATE UNLOGGED TABLE rate_use (
  team_id uuid, grp text, minute bigint NOT NULL, used int NOT NULL, PRIMARY KEY (team_id, grp)
) WITH (fillfactor = 50);
CREATE TABLE blocked_host (host text PRIMARY KEY, reason text, at timestamptz NOT NULL);
CREATE TABLE admin_audit (
  id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), actor text NOT NULL, ip text, action text NOT NULL,
  target text NOT NULL, details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX admin_audit_at ON admin_audit (at);`;

export class Accounts1763950003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [TEAMS_AND_KEYS, USAGE, LIMITS]) await runner.query(sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
