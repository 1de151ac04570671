import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Proxies of a team's own, `{"basic": [url], "stealth": [url]}` with their passwords; NULL = those of the installation. */
const CHANGES = 'ALTER TABLE team ADD COLUMN proxies jsonb;';

export class TeamProxies1763950008000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(CHANGES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
