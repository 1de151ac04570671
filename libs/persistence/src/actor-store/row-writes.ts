/** One set-based statement per kind of row effect, for all actors of a drain (docs/design/data-model.md, "Tables of jobs"). */
import { dayOf, fingerprintToInt64, type Fingerprint, type JobNo, type RowOp } from '@troupe/contracts';
import type pg from 'pg';
import { failJobsText } from './fail-jobs.js';
import type { ResultTerms } from './result-terms.js';
import { bulkQuery, groupBy, lastByKey, storable, storableJson, type BulkStatement } from './statement.js';

type Op<K extends RowOp['op']> = Extract<RowOp, { op: K }>;

export const int64 = (h: Fingerprint): string => fingerprintToInt64(h).toString();
const textOrNull = (text: string | null): string | null => (text === null ? null : storable(text));

export interface FrontierInsert {
  jobNo: JobNo;
  depth: number;
  item: number;
  host: string;
  url: string;
  h: Fingerprint | null;
  parent: number | null;
}

export const INSERT_FRONTIER: BulkStatement<FrontierInsert> = {
  name: 'frontier-insert',
  text: `INSERT INTO frontier (job_no, shard, depth, seq, st, attempt, host, url, h, from_item)
    SELECT job_no, 0, depth, seq, 0, 0, host, url, h, from_item
    FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
      AS x(job_no, depth, seq, host, url, h, from_item)`,
  columns: [
    (r) => r.jobNo,
    (r) => r.depth,
    (r) => r.item,
    (r) => r.host,
    (r) => storable(r.url),
    (r) => (r.h === null ? null : int64(r.h)),
    (r) => r.parent,
  ],
};

/** The gateway has recorded seeds that the batch's actor has not heard of: a batch that it calls completed is not. */
const HAS_MORE_SEEDS = `x.status = 'completed' AND j.seeds > x.seeds`;

type Statements = { [K in RowOp['op']]: (terms: ResultTerms) => BulkStatement<Op<K>> };

/** In the order in which they run. */
const STATEMENTS: Statements = {
  'frontier.mark': () => ({
    name: 'frontier-mark',
    text: `UPDATE frontier f SET st = x.st, attempt = x.attempt, browser = x.browser, tries = x.tries, rule = x.rule,
        not_before = now() + x.wait_ms * interval '1 millisecond'
      FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::smallint[], $5::smallint[], $6::boolean[], $7::smallint[],
        $8::float8[], $9::text[]) AS x(job_no, depth, seq, st, attempt, browser, tries, wait_ms, rule)
      WHERE f.job_no = x.job_no AND f.shard = 0 AND f.depth = x.depth AND f.seq = x.seq`,
    columns: [
      (r) => r.jobNo,
      (r) => r.depth,
      (r) => r.item,
      (r) => r.st,
      (r) => r.attempt,
      (r) => r.browser,
      (r) => r.tries ?? 0,
      (r) => r.waitMs ?? null,
      (r) => r.rule ?? null,
    ],
  }),
  'frontier.delete': () => ({
    name: 'frontier-delete',
    text: `DELETE FROM frontier f USING unnest($1::bigint[], $2::int[], $3::bigint[]) AS x(job_no, depth, seq)
      WHERE f.job_no = x.job_no AND f.shard = 0 AND f.depth = x.depth AND f.seq = x.seq`,
    columns: [(r) => r.jobNo, (r) => r.depth, (r) => r.item],
  }),
  'lane.insert': () => ({
    name: 'lane-insert',
    text: `INSERT INTO lane (job_no, lane, host, slot, slot_gen, token, token_gen, shard, items, depths, run)
      SELECT job_no, lane, host, slot, slot_gen, token, token_gen, 0, items::bigint[], depths::int[], run
      FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::smallint[], $5::bigint[], $6::int[], $7::bigint[], $8::text[],
        $9::text[], $10::uuid[]) AS x(job_no, lane, host, slot, slot_gen, token, token_gen, items, depths, run)`,
    columns: [
      (r) => r.jobNo,
      (r) => r.lane,
      (r) => r.host,
      (r) => r.slot.i,
      (r) => r.slot.gen,
      (r) => r.token.i,
      (r) => r.token.gen,
      (r) => `{${r.items.map(({ item }) => item).join()}}`,
      (r) => `{${r.items.map(({ depth }) => depth).join()}}`,
      (r) => r.run,
    ],
  }),
  'lane.started': () => ({
    name: 'lane-started',
    text: `UPDATE lane l SET run = x.run, started_at = now() FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS x(job_no, lane, run)
      WHERE l.job_no = x.job_no AND l.lane = x.lane`,
    columns: [(r) => r.jobNo, (r) => r.lane, (r) => r.run],
  }),
  'lane.delete': () => ({
    name: 'lane-delete',
    text: `DELETE FROM lane l USING unnest($1::bigint[], $2::bigint[]) AS x(job_no, lane)
      WHERE l.job_no = x.job_no AND l.lane = x.lane`,
    columns: [(r) => r.jobNo, (r) => r.lane],
  }),
  'page.insert': () => ({
    name: 'page-insert',
    text: `INSERT INTO page (job_no, shard, ord, item, url, final_url, status, depth, bytes, blob, inline, credits, finished_at)
      SELECT job_no, 0, ord, item, url, final_url, status, depth, bytes, blob, decode(inline, 'base64'), credits, now()
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::smallint[], $7::int[], $8::int[],
        $9::text[], $10::text[], $11::smallint[])
        AS x(job_no, ord, item, url, final_url, status, depth, bytes, blob, inline, credits)`,
    columns: [
      (r) => r.jobNo,
      (r) => r.ord,
      (r) => r.item,
      (r) => storable(r.url),
      (r) => storable(r.finalUrl),
      (r) => r.statusCode,
      (r) => r.depth,
      (r) => r.bytes,
      (r) => r.blob,
      (r) => r.inline,
      (r) => r.credits,
    ],
  }),
  'outcome.insert': () => ({
    name: 'outcome-insert',
    text: `INSERT INTO url_outcome (job_no, item, url, parent_item, depth, outcome, rule, status, bytes, ms, engine, attempts, at)
      SELECT *, now() FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::int[], $6::text[], $7::text[],
        $8::smallint[], $9::bigint[], $10::int[], $11::text[], $12::smallint[])`,
    columns: [
      (r) => r.jobNo,
      (r) => r.item,
      (r) => storable(r.url),
      (r) => r.parent,
      (r) => r.depth,
      (r) => r.outcome,
      (r) => textOrNull(r.rule),
      (r) => r.statusCode,
      (r) => r.bytes,
      (r) => whole(r.ms),
      (r) => r.engine,
      (r) => r.attempts,
    ],
  }),
  'excluded.insert': () => ({
    name: 'excluded-insert',
    text: `INSERT INTO url_excluded (job_no, h, url, rule, parent_item, at)
      SELECT *, now() FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) ON CONFLICT DO NOTHING`,
    columns: [(r) => r.jobNo, (r) => int64(r.h), (r) => storable(r.url), (r) => r.rule, (r) => r.parent],
  }),
  'error.insert': () => ({
    name: 'error-insert',
    text: `INSERT INTO job_error (job_no, id, at, url, code, message)
      SELECT job_no, id, now(), url, code, message
      FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS x(job_no, id, url, code, message)`,
    columns: [(r) => r.jobNo, (r) => r.id, (r) => storable(r.url), (r) => r.code, (r) => storable(r.message)],
  }),
  'job.update': ({ resultTtlHours, zeroRetentionGraceMinutes }) => ({
    name: `job-update-${resultTtlHours}-${zeroRetentionGraceMinutes}`,
    text: `UPDATE job j SET status = CASE WHEN ${HAS_MORE_SEEDS} THEN 'scraping' ELSE x.status END,
        total = x.total + greatest(j.seeds - x.seeds, 0), completed = x.completed, credits = x.credits, error = x.error,
        warning = x.warning, excluded = x.excluded::jsonb, slow_hosts = x.slow_hosts::jsonb, tokens = coalesce(x.tokens, j.tokens),
        finished_at = CASE WHEN x.finished AND NOT (${HAS_MORE_SEEDS}) THEN now() END,
        expires_at = CASE WHEN NOT x.finished OR ${HAS_MORE_SEEDS} THEN j.expires_at
          WHEN j.zdr THEN now() + interval '${zeroRetentionGraceMinutes} minutes'
          ELSE now() + interval '${resultTtlHours} hours' END
      FROM unnest($1::bigint[], $2::text[], $3::int[], $4::int[], $5::int[], $6::text[], $7::text[], $8::boolean[], $9::int[],
        $10::text[], $11::bigint[], $12::text[])
        AS x(job_no, status, total, completed, credits, error, warning, finished, seeds, excluded, tokens, slow_hosts)
      WHERE j.job_no = x.job_no AND j.finished_at IS NULL`,
    columns: [
      (r) => r.jobNo,
      (r) => r.status,
      (r) => r.total,
      (r) => r.completed,
      (r) => r.credits,
      (r) => textOrNull(r.error),
      (r) => textOrNull(r.warning),
      (r) => r.finished,
      (r) => r.seeds,
      (r) => storableJson(r.excluded),
      (r) => r.tokens ?? null,
      (r) => JSON.stringify(r.slowHosts ?? []),
    ],
  }),
  'job.fail': (terms) => ({
    name: `job-fail-${terms.resultTtlHours}-${terms.zeroRetentionGraceMinutes}`,
    text: failJobsText(terms),
    columns: [(r) => r.job, (r) => storable(r.error)],
  }),
  'host.upsert': () => ({
    name: 'host-upsert',
    text: `INSERT INTO host (host, state, rate, max_conn, gap_ms, since, until, plateau_rate, plateau_ms, last, updated_at)
      SELECT host, state, rate, max_conn, gap_ms, to_timestamp(since_ms / 1000), to_timestamp(until_ms / 1000), plateau_rate,
        plateau_ms, last::jsonb, now()
      FROM unnest($1::text[], $2::text[], $3::float8[], $4::int[], $5::int[], $6::float8[], $7::float8[], $8::float8[],
        $9::int[], $10::text[])
        AS x(host, state, rate, max_conn, gap_ms, since_ms, until_ms, plateau_rate, plateau_ms, last)
      ON CONFLICT (host) DO UPDATE SET state = EXCLUDED.state, rate = EXCLUDED.rate, max_conn = EXCLUDED.max_conn,
        gap_ms = EXCLUDED.gap_ms, since = EXCLUDED.since, until = EXCLUDED.until, plateau_rate = EXCLUDED.plateau_rate,
        plateau_ms = EXCLUDED.plateau_ms, last = EXCLUDED.last, updated_at = EXCLUDED.updated_at`,
    columns: [
      (r) => r.host,
      (r) => r.state,
      (r) => r.pagesPerSecond,
      (r) => r.maxConn,
      (r) => whole(r.gapMs),
      (r) => r.sinceMs,
      (r) => r.untilMs,
      (r) => r.plateau?.pagesPerSecond ?? null,
      (r) => whole(r.plateau?.ms ?? null),
      (r) => storableJson(r.reasons),
    ],
  }),
  'command.delete': () => ({
    name: 'command-delete',
    text: `DELETE FROM cmd_outbox c USING unnest($1::uuid[]) AS x(id) WHERE c.id = x.id`,
    columns: [(r) => r.id],
  }),
  'ledger.upsert': () => ({
    name: 'ledger-upsert',
    text: `INSERT INTO credit_ledger (job_no, team_id, kind, key_id, credits, pages, at)
      SELECT *, now() FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::uuid[], $5::int[], $6::int[])
      ON CONFLICT (job_no, team_id, kind) DO UPDATE SET credits = EXCLUDED.credits, pages = EXCLUDED.pages, at = EXCLUDED.at`,
    columns: [(r) => r.jobNo, (r) => r.team, (r) => r.kind, (r) => r.keyId, (r) => r.credits, (r) => r.pages],
  }),
  'scrape.insert': () => ({
    name: 'scrape-insert',
    // Only a line that is new counts: a call is billed once, however often its bill arrives.
    text: `WITH logged AS (INSERT INTO scrape_log (id, day, team_id, key_id, url, status, credits, ms, at)
      SELECT id, day, team_id, key_id, url, status, credits, ms, to_timestamp(at_ms / 1000)
      FROM unnest($1::uuid[], $2::int[], $3::uuid[], $4::uuid[], $5::text[], $6::smallint[], $7::int[], $8::int[], $9::float8[])
        AS x(id, day, team_id, key_id, url, status, credits, ms, at_ms)
      ON CONFLICT DO NOTHING RETURNING team_id, day, key_id, credits, at)
      INSERT INTO scrape_usage (team_id, day, key_id, credits, calls, last_at)
      SELECT team_id, day, key_id, sum(credits), count(*), max(at) FROM logged GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
      ON CONFLICT (team_id, day, key_id) DO UPDATE SET credits = scrape_usage.credits + EXCLUDED.credits,
        calls = scrape_usage.calls + EXCLUDED.calls, last_at = greatest(scrape_usage.last_at, EXCLUDED.last_at)`,
    columns: [
      (r) => r.id,
      (r) => dayOf(r.atMs),
      (r) => r.team,
      (r) => r.keyId,
      (r) => storable(r.url),
      (r) => r.statusCode,
      (r) => r.credits,
      (r) => whole(r.ms),
      (r) => r.atMs,
    ],
  }),
  'delivery.attempt': () => ({
    name: 'delivery-attempt',
    text: `INSERT INTO delivery_attempt (job_no, event_no, attempt, at, status, error, ms, final)
      SELECT job_no, event_no, attempt, to_timestamp(at_ms / 1000), status, error, ms, final
      FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::float8[], $5::smallint[], $6::text[], $7::int[], $8::boolean[])
        AS x(job_no, event_no, attempt, at_ms, status, error, ms, final)
      ON CONFLICT DO NOTHING`,
    columns: [
      (r) => r.jobNo,
      (r) => r.eventNo,
      (r) => r.attempt,
      (r) => r.atMs,
      (r) => r.status,
      (r) => textOrNull(r.error),
      (r) => whole(r.ms),
      (r) => r.final,
    ],
  }),
  'delivery.end': () => ({
    name: 'delivery-end',
    text: `INSERT INTO delivery_end (job_no, event_no, status) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])
      ON CONFLICT DO NOTHING`,
    columns: [(r) => r.jobNo, (r) => r.eventNo, (r) => r.status],
  }),
  'delivery.reopen': () => ({
    name: 'delivery-reopen',
    text: `UPDATE delivery_attempt d SET final = false
      FROM unnest($1::bigint[], $2::bigint[], $3::smallint[]) AS x(job_no, event_no, attempt)
      WHERE d.job_no = x.job_no AND d.event_no = x.event_no AND d.attempt = x.attempt`,
    columns: [(r) => r.jobNo, (r) => r.eventNo, (r) => r.attempt],
  }),
};

/** Rows of which only the newest of a drain counts. */
const REPLACED: { [K in RowOp['op']]?: (row: Op<K>) => string } = {
  'frontier.mark': (r) => `${r.jobNo} ${r.item}`,
  'lane.started': (r) => `${r.jobNo} ${r.lane}`,
  'job.update': (r) => r.jobNo,
  'job.fail': (r) => r.job,
  'host.upsert': (r) => r.host,
  'ledger.upsert': (r) => `${r.jobNo} ${r.team} ${r.kind}`,
};

function whole<T extends number | null>(ms: T): T {
  return (ms === null ? null : Math.round(ms)) as T;
}

export class RowWriter {
  private readonly statements: { op: RowOp['op']; bulk: BulkStatement<RowOp> }[];

  constructor(terms: ResultTerms) {
    this.statements = Object.entries(STATEMENTS).map(([op, make]) => ({
      op: op as RowOp['op'],
      bulk: make(terms) as BulkStatement<never> as BulkStatement<RowOp>,
    }));
  }

  queries(rows: readonly RowOp[]): pg.QueryConfig[] {
    if (rows.length === 0) return [];
    const byOp = groupBy(rows, (row) => row.op);
    return this.statements.flatMap(({ op, bulk }) => {
      const own = byOp.get(op);
      return own === undefined ? [] : [bulkQuery(bulk, newest(op, own))];
    });
  }
}

function newest(op: RowOp['op'], rows: readonly RowOp[]): readonly RowOp[] {
  const key = REPLACED[op] as ((row: RowOp) => string) | undefined;
  return key === undefined ? rows : lastByKey(rows, key);
}
