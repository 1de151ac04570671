import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Pages that may be served again, and the texts that later scrapes are compared with (docs/design/data-model.md, "Teams and caches"). The
 * cache writes no WAL: after a crash of Postgres it is empty, which costs requests and loses nothing. `bucket` is the hour (yyyymmddhh)
 * under which a body is stored, and with which it is dropped.
 */
const TABLES = `
CREATE UNLOGGED TABLE page_cache (
  team_id uuid, url_h bigint, opt_h bigint, url text NOT NULL, at timestamptz NOT NULL, bucket int NOT NULL,
  blob text NOT NULL, meta jsonb NOT NULL, PRIMARY KEY (team_id, url_h, opt_h)
);
CREATE INDEX page_cache_by_bucket ON page_cache (bucket);
CREATE UNLOGGED TABLE page_cache_bucket (bucket int PRIMARY KEY, bytes bigint NOT NULL) WITH (fillfactor = 50);

CREATE TABLE change_snapshot (
  team_id uuid, url_h bigint, tag text, by_id uuid NOT NULL, at timestamptz NOT NULL, hash bytea NOT NULL, blob text NOT NULL,
  prev_at timestamptz, prev_hash bytea, prev_blob text, PRIMARY KEY (team_id, url_h, tag)
);

CREATE INDEX job_to_erase ON job (expires_at) WHERE zdr;`;

export class Cache1763950006000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(TABLES);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
