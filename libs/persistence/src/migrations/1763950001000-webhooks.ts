import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Numbers of the events that are ends of their job; a batch that was appended to has several. */
const DELIVERY_END = `
CREATE TABLE delivery_end (
  job_no bigint, event_no bigint, status text NOT NULL, PRIMARY KEY (job_no, event_no)
) PARTITION BY RANGE (job_no)`;

/** Every attempt to deliver a webhook event (docs/design/data-model.md, "Tables of jobs"). `final`: no further one follows by itself. */
const DELIVERY_ATTEMPT = `
CREATE TABLE delivery_attempt (
  job_no bigint, event_no bigint, attempt smallint, at timestamptz NOT NULL, status smallint, error text, ms int NOT NULL,
  final boolean NOT NULL, PRIMARY KEY (job_no, event_no, attempt)
) PARTITION BY RANGE (job_no)`;

export class Webhooks1763950001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [DELIVERY_ATTEMPT, DELIVERY_END]) await runner.query(sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
