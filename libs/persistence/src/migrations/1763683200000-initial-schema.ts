import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The owner of a key, what it knows, and the messages a turn leaves behind (docs/design/data-model.md, "Tables of actors"). */
const ACTOR_TABLES = `
CREATE TABLE part_lease (part smallint PRIMARY KEY, epoch bigint NOT NULL, owner text NOT NULL, taken_at timestamptz NOT NULL);

CREATE TABLE actor (
  key text PRIMARY KEY, part smallint NOT NULL, kind text NOT NULL, epoch bigint NOT NULL, rev bigint NOT NULL,
  state jsonb, terminal boolean NOT NULL, updated_at timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX actor_open ON actor (part) WHERE NOT terminal;

CREATE TABLE outbox (
  part smallint NOT NULL, id bigint NOT NULL, from_key text NOT NULL, to_key text, n bigint,
  subject text NOT NULL, body bytea NOT NULL, created_at timestamptz NOT NULL, PRIMARY KEY (part, id)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_pair ON outbox (to_key, from_key, n) WHERE to_key IS NOT NULL;

CREATE TABLE cmd_outbox (id uuid PRIMARY KEY, subject text NOT NULL, body bytea NOT NULL, created_at timestamptz NOT NULL);

CREATE TABLE inbox_cursor (to_key text, from_key text, n bigint NOT NULL, PRIMARY KEY (to_key, from_key));

CREATE TABLE actor_timer (
  key text, name text, part smallint NOT NULL, due_at timestamptz NOT NULL, PRIMARY KEY (key, name)
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX actor_timer_due ON actor_timer (part, due_at);

CREATE TABLE dead_letter (
  id bigserial PRIMARY KEY, at timestamptz NOT NULL, part smallint NOT NULL, key text NOT NULL, type text NOT NULL,
  envelope jsonb, error text NOT NULL, actor_rev bigint
);`;

/** Bulk tables of jobs, one partition a day by job_no. Row order in a key is the order in which it is read. */
const JOB_TABLES = `
CREATE SEQUENCE job_sequence MAXVALUE 1099511627775 CYCLE;

CREATE TABLE job (
  job_no bigint PRIMARY KEY, id uuid NOT NULL, team_id uuid NOT NULL, kind text NOT NULL, status text NOT NULL,
  created_at timestamptz NOT NULL, finished_at timestamptz, expires_at timestamptz NOT NULL, origin_url text,
  options jsonb NOT NULL, total int NOT NULL, completed int NOT NULL, credits int NOT NULL,
  error text, warning text, zdr boolean NOT NULL, shards smallint NOT NULL
) PARTITION BY RANGE (job_no);
CREATE INDEX job_running ON job (team_id, created_at DESC) WHERE status = 'scraping';

CREATE TABLE job_id (
  id uuid PRIMARY KEY, job_no bigint NOT NULL, team_id uuid NOT NULL, kind text NOT NULL, expires_at timestamptz NOT NULL
);
CREATE TABLE idempotency (team_id uuid, key text, id uuid NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (team_id, key));

CREATE TABLE url_seen (job_no bigint, h bigint, PRIMARY KEY (job_no, h)) PARTITION BY RANGE (job_no);

CREATE TABLE frontier (
  job_no bigint, shard smallint, depth int, seq bigint, st smallint NOT NULL, attempt smallint NOT NULL,
  host text NOT NULL, url text NOT NULL, h bigint, from_item bigint, PRIMARY KEY (job_no, shard, depth, seq)
) PARTITION BY RANGE (job_no);

CREATE TABLE lane (
  job_no bigint, lane bigint, host text NOT NULL, slot smallint NOT NULL, slot_gen bigint NOT NULL,
  token int NOT NULL, token_gen bigint NOT NULL, shard smallint NOT NULL, items bigint[] NOT NULL, depths int[] NOT NULL,
  run uuid, started_at timestamptz, PRIMARY KEY (job_no, lane)
) PARTITION BY RANGE (job_no);

CREATE TABLE job_seed (
  job_no bigint, ord bigint, url text NOT NULL, host text NOT NULL, PRIMARY KEY (job_no, ord)
) PARTITION BY RANGE (job_no);

CREATE TABLE url_outcome (
  job_no bigint, item bigint, url text NOT NULL, parent_item bigint, depth int NOT NULL, outcome text NOT NULL, rule text,
  status smallint, bytes bigint, ms int, engine text, attempts smallint NOT NULL, at timestamptz NOT NULL,
  PRIMARY KEY (job_no, item)
) PARTITION BY RANGE (job_no);

CREATE TABLE url_excluded (
  job_no bigint, h bigint, url text NOT NULL, rule text NOT NULL, parent_item bigint, PRIMARY KEY (job_no, h)
) PARTITION BY RANGE (job_no);

CREATE TABLE page (
  job_no bigint, shard smallint, ord bigint, item bigint NOT NULL, url text NOT NULL, final_url text NOT NULL,
  status smallint NOT NULL, depth int NOT NULL, bytes int NOT NULL, blob text, inline bytea, meta jsonb,
  credits smallint NOT NULL, finished_at timestamptz NOT NULL,
  PRIMARY KEY (job_no, shard, ord), UNIQUE (job_no, shard, item)
) PARTITION BY RANGE (job_no);
ALTER TABLE page ALTER COLUMN inline SET STORAGE EXTERNAL;

CREATE TABLE page_segment (
  job_no bigint, first_ord bigint, shard smallint NOT NULL, from_ord bigint NOT NULL, to_ord bigint NOT NULL,
  PRIMARY KEY (job_no, first_ord)
) PARTITION BY RANGE (job_no);

CREATE TABLE job_error (
  job_no bigint, id uuid, at timestamptz NOT NULL, url text NOT NULL, code text NOT NULL, message text NOT NULL,
  PRIMARY KEY (job_no, id)
) PARTITION BY RANGE (job_no);`;

/** Teams, credits, caches. Tables of single scrapes are partitioned by `day`, days since 2024-01-01. */
const ACCOUNT_TABLES = `
CREATE TABLE team (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL UNIQUE, concurrency int NOT NULL, credits_limit bigint,
  flags jsonb NOT NULL DEFAULT '{}', webhook_secret text, created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE api_key (
  hash bytea PRIMARY KEY, id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(), team_id uuid NOT NULL REFERENCES team (id),
  name text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz, revoked_at timestamptz
);
CREATE TABLE credit_ledger (
  team_id uuid, job_no bigint, kind text, key_id uuid, credits int NOT NULL, at timestamptz NOT NULL,
  PRIMARY KEY (job_no, team_id, kind)
);
CREATE TABLE scrape_log (
  id uuid, day int, team_id uuid NOT NULL, key_id uuid, at timestamptz NOT NULL, url text NOT NULL, status smallint NOT NULL,
  credits int NOT NULL, ms int NOT NULL, PRIMARY KEY (id, day)
) PARTITION BY RANGE (day);
CREATE TABLE scrape_document (
  id uuid, day int, team_id uuid NOT NULL, blob text, inline bytea, expires_at timestamptz NOT NULL, PRIMARY KEY (id, day)
) PARTITION BY RANGE (day);
ALTER TABLE scrape_document ALTER COLUMN inline SET STORAGE EXTERNAL;
CREATE TABLE robots_cache (
  host text PRIMARY KEY, at timestamptz NOT NULL, ttl int NOT NULL, status smallint NOT NULL, rules bytea NOT NULL
);`;

export class InitialSchema1763683200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const sql of [ACTOR_TABLES, JOB_TABLES, ACCOUNT_TABLES]) await runner.query(sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
