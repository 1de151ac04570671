import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A crawl that tracks changes asks which pages of its site the histories know. Histories that are older than this have no
 * URL until their page is scraped again.
 */
const CHANGES = `
ALTER TABLE change_snapshot ADD COLUMN IF NOT EXISTS url text, ADD COLUMN IF NOT EXISTS site_h bigint;
CREATE INDEX IF NOT EXISTS change_snapshot_by_site ON change_snapshot (team_id, tag, site_h, url_h) WHERE site_h IS NOT NULL;`;

export class TrackedPages1763950014000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
