/** What became of every URL of a job, read as one consistent snapshot (spec: `GET …/ledger`). */
import { FROM_HISTORY, REVALIDATED, type JobNo, type Outcome } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';

/** How a URL of a job stands; `pending` only while the job runs. */
export type LedgerOutcome = Outcome | 'pending';

export interface LedgerEntry {
  item: number;
  url: string;
  outcome: LedgerOutcome;
  rule: string | null;
  depth: number;
  /** URL of the page that named it, null for start pages, seeds and sitemaps. */
  parent: string | null;
  /** Named by a history of earlier scrapes, by nothing that the job had read before. */
  fromHistory: boolean;
  status: number | null;
  bytes: number | null;
  ms: number | null;
  engine: string | null;
  attempts: number;
  /** Of a pending one that waits: when it may be fetched; null: not known, or it does not wait. */
  notBefore: Date | null;
  /** When it was decided; for what is pending the time of the snapshot. */
  at: Date;
}

export interface LedgerQuery {
  skip: number;
  limit: number;
  /** null = every URL that belongs to the job, in order of discovery. */
  outcome: LedgerOutcome | null;
}

export interface Ledger {
  /** By outcome, without zeros; their sum is `discovered`. */
  counts: Partial<Record<LedgerOutcome, number>>;
  discovered: number;
  /** Of the good pages: not changed since the cache had them, as their sites said. */
  revalidated: number;
  /** Links left out, by scope rule. */
  excluded: Partial<Record<string, number>>;
  entries: LedgerEntry[];
  hasMore: boolean;
}

const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const MAX_OUT_OF_SCOPE = 10_000;

/** What undecided URLs count as: the end of the job has made something of them. */
const UNDECIDED = `CASE status WHEN 'scraping' THEN 'pending' WHEN 'cancelled' THEN 'cancelled' ELSE 'limit' END`;

const JOB = `SELECT ${UNDECIDED} AS undecided, coalesce(finished_at, now()) AS at, excluded,
    (SELECT count(*) FROM frontier WHERE job_no = $1)::int + (SELECT count(*) FROM job_seed WHERE job_no = $1)::int AS open
  FROM job WHERE job_no = $1`;

const COUNTS = `SELECT outcome, count(*)::int AS n, count(*) FILTER (WHERE outcome = 'ok' AND rule = '${REVALIDATED}')::int AS revalidated
  FROM url_outcome WHERE job_no = $1 GROUP BY outcome`;

const DECIDED = `SELECT item, url, parent_item, depth, outcome, rule, status, bytes, ms, engine, attempts, at,
    NULL::timestamptz AS not_before
  FROM url_outcome WHERE job_no = $1`;

/** What a host makes its URLs wait for. What is slowed comes all the same: a URL's own wait is named before that. */
const RULE_OF_HOST = `CASE h.state WHEN 'down' THEN 'host-down' WHEN 'paused' THEN 'host-paused' WHEN 'held' THEN 'host-paused' END`;
const OWN_RULE = `CASE WHEN f.not_before > $3 THEN f.rule END`;
const SLOWED = `CASE h.state WHEN 'slowed' THEN 'host-slowed' END`;
const IS_WAITING = `$2 = 'pending' AND f.st = 0`;

/** $2: what undecided URLs count as, $3: since when. */
const OPEN = `SELECT f.seq AS item, f.url, f.from_item AS parent_item, f.depth, $2::text AS outcome,
    CASE WHEN ${IS_WAITING} THEN coalesce(${RULE_OF_HOST}, ${OWN_RULE}, ${SLOWED}) END AS rule, NULL::smallint AS status,
    NULL::bigint AS bytes, NULL::int AS ms, NULL::text AS engine, greatest(f.attempt, f.tries) AS attempts, $3::timestamptz AS at,
    CASE WHEN ${IS_WAITING} THEN greatest(CASE WHEN f.not_before > $3 THEN f.not_before END,
      CASE WHEN h.state <> 'slowed' AND h.until > $3 THEN h.until END) END AS not_before
  FROM frontier f LEFT JOIN host h ON h.host = f.host AND h.state <> 'open' WHERE f.job_no = $1
  UNION ALL
  SELECT ord, url, NULL, 0, $2, NULL, NULL, NULL, NULL, NULL, 0, $3, NULL FROM job_seed WHERE job_no = $1`;

/** Links left out have no item of their own; a link lies one level below its page. */
const OUT_OF_SCOPE = `SELECT 0 AS item, e.url, p.url AS parent, coalesce(p.depth + 1, 0) AS depth, 'out_of_scope' AS outcome, e.rule,
    NULL::smallint AS status, NULL::bigint AS bytes, NULL::int AS ms, NULL::text AS engine, 0 AS attempts, e.at,
    NULL::timestamptz AS not_before
  FROM (SELECT * FROM url_excluded WHERE job_no = $1 ORDER BY at, h OFFSET $2 LIMIT $3) e
  LEFT JOIN url_outcome p ON p.job_no = e.job_no AND p.item = e.parent_item ORDER BY e.at, e.h`;

/** A parent is decided before what it names is known. */
function page(source: string, order: string, offset: string): string {
  return `SELECT e.*, p.url AS parent FROM (SELECT * FROM (${source}) s ORDER BY ${order} ${offset}) e
    LEFT JOIN url_outcome p ON p.job_no = $1 AND p.item = e.parent_item ORDER BY ${order.replaceAll(/\w+/g, 'e.$&')}`;
}

interface EntryRecord extends Omit<LedgerEntry, 'item' | 'bytes' | 'fromHistory' | 'notBefore'> {
  item: string;
  /** Not told of links that were left out. */
  parent_item?: string | null;
  bytes: string | null;
  not_before: Date | null;
}

interface JobRecord {
  undecided: 'pending' | 'cancelled' | 'limit';
  at: Date;
  excluded: Partial<Record<string, number>>;
  open: number;
}

export class LedgerRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** null when there is no such job. Pages stay where they are while a job runs, those of undecided URLs excepted. */
  read(jobNo: JobNo, query: LedgerQuery): Promise<Ledger | null> {
    return withTransaction(
      this.pool,
      async (client) => {
        const job = (await client.query<JobRecord>(JOB, [jobNo])).rows[0];
        if (job === undefined) return null;
        const decided = await client.query<{ outcome: LedgerOutcome; n: number; revalidated: number }>(COUNTS, [jobNo]);
        const counts = addUp([...decided.rows, { outcome: job.undecided, n: job.open }]);
        const discovered = Object.values(counts).reduce((sum, n) => sum + n, 0);
        const { limit } = query;
        const rows = limit === 0 ? [] : await this.list(client, jobNo, job, { ...query, limit: limit + 1 });
        return {
          counts,
          discovered,
          revalidated: decided.rows.reduce((sum, { revalidated }) => sum + revalidated, 0),
          excluded: job.excluded,
          entries: rows.slice(0, limit).map(toEntry),
          hasMore: rows.length > limit,
        };
      },
      SNAPSHOT,
    );
  }

  private async list(
    client: pg.PoolClient,
    jobNo: JobNo,
    { undecided, at }: JobRecord,
    { skip, limit, outcome }: LedgerQuery,
  ): Promise<EntryRecord[]> {
    const run = async (text: string, values: unknown[]) => (await client.query<EntryRecord>(text, values)).rows;
    if (outcome === 'out_of_scope')
      return run(OUT_OF_SCOPE, [jobNo, skip, Math.max(0, Math.min(limit, MAX_OUT_OF_SCOPE - skip))]);
    const offset = 'OFFSET $4 LIMIT $5';
    if (outcome === null)
      return run(page(`${DECIDED} UNION ALL ${OPEN}`, 'item', offset), [jobNo, undecided, at, skip, limit]);
    if (outcome === undecided) return run(page(OPEN, 'item', offset), [jobNo, undecided, at, skip, limit]);
    // In order of decision: what was read stays where it was when more is decided.
    const source = `${DECIDED} AND outcome = $2`;
    return run(page(source, 'at, item', 'OFFSET $3 LIMIT $4'), [jobNo, outcome, skip, limit]);
  }
}

function addUp(rows: readonly { outcome: LedgerOutcome; n: number }[]): Ledger['counts'] {
  const counts: Ledger['counts'] = {};
  for (const { outcome, n } of rows) if (n > 0) counts[outcome] = (counts[outcome] ?? 0) + n;
  return counts;
}

function toEntry(row: EntryRecord): LedgerEntry {
  const { url, outcome, rule, depth, parent, status, ms, engine, attempts, at } = row;
  const bytes = row.bytes === null ? null : Number(row.bytes);
  const fromHistory = row.parent_item === String(FROM_HISTORY);
  return {
    item: Number(row.item),
    url,
    outcome,
    rule,
    depth,
    parent,
    fromHistory,
    status,
    bytes,
    ms,
    engine,
    attempts,
    notBefore: row.not_before,
    at,
  };
}
