import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Owners that end without a release, and the turns in which they end: what kills a process is found by it. */
const CHANGES = `
ALTER TABLE part_lease ADD COLUMN IF NOT EXISTS released boolean NOT NULL DEFAULT true,
  ADD COLUMN IF NOT EXISTS lost int NOT NULL DEFAULT 0;
CREATE TABLE IF NOT EXISTS turn_mark (part smallint, key text, n int NOT NULL, PRIMARY KEY (part, key));
CREATE INDEX IF NOT EXISTS outbox_open_pairs ON outbox (part, id) WHERE to_key IS NOT NULL;`;

export class SafeTurns1764000100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
