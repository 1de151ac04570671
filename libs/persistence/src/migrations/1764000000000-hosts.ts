import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `host`: how each host is treated and why. `host_setting`: what operators want for one, or for all below a suffix.
 * `frontier.not_before`, `frontier.rule`: an item that waits for its next try, and for what. `frontier.tries`: how often it was
 * tried. `job.slow_hosts`: names of hosts of a running job that are slowed, down, paused or held.
 */
const CHANGES = `
CREATE TABLE IF NOT EXISTS host (
  host text PRIMARY KEY,
  state text NOT NULL,
  rate float8,
  max_conn int NOT NULL,
  gap_ms int NOT NULL,
  since timestamptz NOT NULL,
  until timestamptz,
  plateau_rate float8,
  plateau_ms int,
  last jsonb NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS host_by_state ON host (state, updated_at) WHERE state <> 'open';
CREATE INDEX IF NOT EXISTS host_by_age ON host (updated_at);
CREATE TABLE IF NOT EXISTS host_setting (
  pattern text PRIMARY KEY,
  max_conn int,
  gap_ms int,
  max_rate float8,
  express_conn int,
  crawl_delay text,
  give_up_min int,
  hold boolean,
  note text,
  updated_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE frontier ADD COLUMN IF NOT EXISTS not_before timestamptz, ADD COLUMN IF NOT EXISTS rule text;
ALTER TABLE frontier ADD COLUMN IF NOT EXISTS tries smallint NOT NULL DEFAULT 0;
ALTER TABLE job ADD COLUMN IF NOT EXISTS slow_hosts jsonb NOT NULL DEFAULT '[]';`;

export class Hosts1764000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
