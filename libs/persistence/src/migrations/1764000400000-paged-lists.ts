import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `ledger_count`: how many URLs of a job ended with each outcome, how many are in its frontier (`pending`), and how many good
 * ones were `revalidated`. Triggers keep it, in the transaction of the rows it counts: no writer can forget it, nor one of a
 * release before this. Only the owner of a job writes its outcomes and its frontier, so that no other writer waits for its rows.
 */
const COUNTS = `
CREATE TABLE IF NOT EXISTS ledger_count (
  job_no bigint, what text, n bigint NOT NULL, PRIMARY KEY (job_no, what)
) PARTITION BY RANGE (job_no);

DO $$
DECLARE day bigint;
BEGIN
  FOR day IN SELECT substring(c.relname FROM '_d([0-9]+)$')::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'url_outcome'::regclass
  LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS ledger_count_d%s (LIKE ledger_count INCLUDING ALL) WITH (fillfactor = 50)', day);
    EXECUTE format('ALTER TABLE ledger_count ATTACH PARTITION ledger_count_d%s FOR VALUES FROM (%s) TO (%s)',
      day, day << 40, (day + 1) << 40);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION count_outcomes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_count (job_no, what, n)
  SELECT job_no, outcome, count(*) FROM changed GROUP BY 1, 2
  UNION ALL SELECT job_no, 'revalidated', count(*) FROM changed WHERE outcome = 'ok' AND rule = 'revalidated' GROUP BY 1
  ORDER BY 1, 2
  ON CONFLICT (job_no, what) DO UPDATE SET n = ledger_count.n + EXCLUDED.n;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_frontier() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_count (job_no, what, n)
  SELECT job_no, 'pending', CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END FROM changed GROUP BY 1 ORDER BY 1
  ON CONFLICT (job_no, what) DO UPDATE SET n = ledger_count.n + EXCLUDED.n;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER counted AFTER INSERT ON url_outcome
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_outcomes();
CREATE OR REPLACE TRIGGER counted AFTER INSERT ON frontier
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_frontier();
CREATE OR REPLACE TRIGGER uncounted AFTER DELETE ON frontier
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_frontier();

INSERT INTO ledger_count (job_no, what, n)
SELECT job_no, outcome, count(*) FROM url_outcome GROUP BY 1, 2
UNION ALL SELECT job_no, 'revalidated', count(*) FROM url_outcome WHERE outcome = 'ok' AND rule = 'revalidated' GROUP BY 1
UNION ALL SELECT job_no, 'pending', count(*) FROM frontier GROUP BY 1;`;

/** In the order in which pages of the lists go on. */
const INDEXES = `
CREATE INDEX IF NOT EXISTS url_outcome_by_outcome ON url_outcome (job_no, outcome, at, item);
CREATE INDEX IF NOT EXISTS job_error_by_time ON job_error (job_no, at, id);`;

export class PagedLists1764000400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // Rows written from here on meet the triggers; rows written before are counted.
    await runner.query('LOCK TABLE url_outcome, frontier, job_error IN SHARE ROW EXCLUSIVE MODE');
    for (const sql of [INDEXES, COUNTS]) await runner.query(sql);
  }

  down(): Promise<void> {
    return Promise.reject(new Error('migrations are forward only: restore a backup to go back'));
  }
}
