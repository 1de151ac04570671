import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * States of tens of kilobytes are written several times a second: lz4 takes two fifths of the time of the default. A
 * server that was built without it keeps the default.
 */
export class ActorCompression1763950016000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`DO $$ BEGIN
      ALTER TABLE actor ALTER COLUMN state SET COMPRESSION lz4;
      EXCEPTION WHEN feature_not_supported THEN NULL;
    END $$`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
