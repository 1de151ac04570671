import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `frontier.browser`: a fetcher without a browser has handed the URL back, a fetcher with one must take it. */
const CHANGES = 'ALTER TABLE frontier ADD COLUMN browser boolean NOT NULL DEFAULT false';

export class BrowserItems1763950010000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
