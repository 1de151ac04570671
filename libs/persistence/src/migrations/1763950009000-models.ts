import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Jobs that work with a language model. `model_step` holds the result of each finished step, written by the extractor before
 * the job's actor is told: a repeated task finds it. `extract_result` is what the client reads. `job.parent`: the job for
 * which this one fetches pages; it is no client's own. `team.model`: `ModelAccess` of a team's own, with its key; NULL = the
 * installation's. `selector_recipe`: selectors that a model wrote for the pages of a host, by a hash of the wish they answer;
 * `recipe` NULL: they could not be written, or no longer hold.
 */
const CHANGES = `
ALTER TABLE job ADD COLUMN tokens bigint NOT NULL DEFAULT 0, ADD COLUMN parent uuid;
ALTER TABLE team ADD COLUMN model jsonb;
CREATE INDEX job_agents ON job (team_id, created_at DESC) WHERE kind = 'agent';

CREATE TABLE model_step (
  job_no bigint, step text, at timestamptz NOT NULL DEFAULT now(), tokens int NOT NULL, credits int NOT NULL, result jsonb NOT NULL,
  PRIMARY KEY (job_no, step)
) PARTITION BY RANGE (job_no);
CREATE TABLE extract_result (
  job_no bigint PRIMARY KEY, data jsonb NOT NULL, sources jsonb NOT NULL
) PARTITION BY RANGE (job_no);

CREATE TABLE selector_recipe (
  team_id uuid, host text, wish bytea, at timestamptz NOT NULL DEFAULT now(), recipe jsonb, misses int NOT NULL DEFAULT 0,
  PRIMARY KEY (team_id, host, wish)
);
CREATE TABLE model_usage (team_id uuid, day date, tokens bigint NOT NULL, PRIMARY KEY (team_id, day)) WITH (fillfactor = 50);`;

export class Models1763950009000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
