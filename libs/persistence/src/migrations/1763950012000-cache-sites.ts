import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `site_h`: fingerprint of what a page's host has in common with its subdomains, by which maps ask for known URLs. */
const CHANGES = `
ALTER TABLE page_cache ADD COLUMN site_h bigint;
CREATE INDEX page_cache_by_site ON page_cache (team_id, site_h);`;

export class CacheSites1763950012000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
