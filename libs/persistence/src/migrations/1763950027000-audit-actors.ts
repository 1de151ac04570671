import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Entries of earlier releases named the operator by the first characters of the key: the log keeps no part of a key. */
export class AuditActors1763950027000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`UPDATE admin_audit SET actor = 'an earlier key' WHERE actor LIKE '%…'`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
