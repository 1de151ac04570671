import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The start of a job outlives its command: a job whose command is gone and that no actor has is started again. And
 * each recorded command has times of its own, so that none waits behind another one.
 */
const CHANGES = `
CREATE TABLE job_start (
  job_no bigint, envelope bytea NOT NULL, restarts smallint NOT NULL DEFAULT 0, PRIMARY KEY (job_no)
) PARTITION BY RANGE (job_no);
ALTER TABLE cmd_outbox ADD COLUMN tries int NOT NULL DEFAULT 0, ADD COLUMN next_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX cmd_outbox_due ON cmd_outbox (next_at);
CREATE INDEX cmd_outbox_by_actor ON cmd_outbox (split_part(subject, '.', 4));`;

export class JobStarts1764000200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
