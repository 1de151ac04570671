import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Calls that change a recorded job. `seeds`, `paused` and `pause_v` are the gateway's: how many seeds of a batch are
 * recorded, whether a crawl shall rest, and how often that changed. `excluded` is the actor's: links left out, by rule.
 */
export class JobCalls1763950005000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE job ADD COLUMN seeds int NOT NULL DEFAULT 0, ADD COLUMN paused boolean NOT NULL DEFAULT false,
        ADD COLUMN pause_v int NOT NULL DEFAULT 0, ADD COLUMN excluded jsonb NOT NULL DEFAULT '{}';
      ALTER TABLE url_excluded ADD COLUMN at timestamptz NOT NULL DEFAULT now();
      UPDATE job j SET seeds = coalesce((SELECT (a.state -> 's' -> 'seeds' ->> 'total')::int FROM actor a
        WHERE a.key = 'batch/' || j.id), j.total) WHERE j.kind = 'batch'`);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
