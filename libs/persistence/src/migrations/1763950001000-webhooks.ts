import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every attempt to deliver a webhook event (design/data-model.md §3). `final`: no further one follows by itself. */
const DELIVERY_ATTEMPT = `
CREATE TABLE delivery_attempt (
  job_no bigint, event_no bigint, attempt smallint, at timestamptz NOT NULL, status smallint, error text, ms int NOT NULL,
  final boolean NOT NULL, PRIMARY KEY (job_no, event_no, attempt)
) PARTITION BY RANGE (job_no)`;

export class Webhooks1763950001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(DELIVERY_ATTEMPT);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
