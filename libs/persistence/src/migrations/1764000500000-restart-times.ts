import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A job that was started again has as much time as one that was started for the first time. */
export class RestartTimes1764000500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE job_start ADD COLUMN restarted_at timestamptz');
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
