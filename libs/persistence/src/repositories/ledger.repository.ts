/** The end of every URL of a job, read as one consistent snapshot (spec: `GET …/ledger`). */
import { FROM_HISTORY, type JobNo, type Outcome } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import {
  BEFORE_ALL,
  BEGIN_SNAPSHOT,
  keyTime,
  pageOf,
  pageQuery,
  timeKey,
  type Keyed,
  type ListKey,
} from './list-page.js';

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
  /** Named by a history of earlier scrapes, and by nothing that the job had read before. */
  fromHistory: boolean;
  status: number | null;
  bytes: number | null;
  ms: number | null;
  engine: string | null;
  attempts: number;
  /** When a pending URL that waits may be fetched; null: not known, or it does not wait. */
  notBefore: Date | null;
  /** When it was decided; for what is pending the time of the snapshot. */
  at: Date;
  /** Its place in the list that was asked for. */
  key: ListKey;
}

export interface LedgerQuery {
  skip: number;
  limit: number;
  /** null = every URL that belongs to the job, in order of discovery. */
  outcome: LedgerOutcome | null;
  /** The last entry that was read, of a list of the same outcome. @default none */
  after?: ListKey | null;
}

export interface Ledger {
  /** By outcome, without zeros; their sum is `discovered`. */
  counts: Partial<Record<LedgerOutcome, number>>;
  discovered: number;
  /** Good pages that have not changed since the cache had them, as their sites said. */
  revalidated: number;
  /** Links left out, by scope rule. */
  excluded: Partial<Record<string, number>>;
  entries: LedgerEntry[];
  hasMore: boolean;
}

const MAX_OUT_OF_SCOPE = 10_000;
/** Before every fingerprint as SQL holds it. */
const MIN_FINGERPRINT = '-9223372036854775808';

/** Status that undecided URLs count as: the end of the job has made something of them. */
const UNDECIDED = `CASE status WHEN 'scraping' THEN 'pending' WHEN 'cancelled' THEN 'cancelled' ELSE 'limit' END`;

const JOB = `SELECT ${UNDECIDED} AS undecided, coalesce(finished_at, now()) AS at, excluded FROM job WHERE job_no = $1`;

/** Kept by triggers of the tables that they count. Seeds of a batch are few enough to be counted here. */
const COUNTS = `SELECT what, n::float8 AS n FROM ledger_count WHERE job_no = $1
  UNION ALL SELECT 'pending', count(*) FROM job_seed WHERE job_no = $1`;

const DECIDED = `SELECT item, url, parent_item, depth, outcome, rule, status, bytes, ms, engine, attempts, at,
    NULL::timestamptz AS not_before
  FROM url_outcome WHERE job_no = $1`;

/** The rule for which a host makes its URLs wait. Slowed URLs come all the same: a URL's own wait is named before that. */
const RULE_OF_HOST = `CASE h.state WHEN 'down' THEN 'host-down' WHEN 'paused' THEN 'host-paused' WHEN 'held' THEN 'host-paused' END`;
const OWN_RULE = `CASE WHEN f.not_before > $3 THEN f.rule END`;
const SLOWED = `CASE h.state WHEN 'slowed' THEN 'host-slowed' END`;
const IS_WAITING = `$2 = 'pending' AND f.st = 0`;

/** Keys of all lists have two parts; items say all by themselves. */
const ITEM_KEY = `ARRAY['${BEFORE_ALL}', e.item::text] AS key`;

/**
 * Undecided URLs behind item $4, at most $6 of each source. The frontier is in order of depth first: the next ones of every
 * depth that it has are merged. $2: what undecided URLs count as, $3: since when.
 */
const OPEN_ITEMS = `SELECT f.* FROM depths d CROSS JOIN LATERAL (
    SELECT seq AS item, url, from_item AS parent_item, depth, host, rule, st, greatest(attempt, tries) AS attempts, not_before
    FROM frontier WHERE job_no = $1 AND shard = 0 AND depth = d.depth AND seq > $4 ORDER BY seq LIMIT $6) f
  WHERE d.depth IS NOT NULL
  UNION ALL
  (SELECT ord, url, NULL, 0, NULL, NULL, 1, 0, NULL FROM job_seed WHERE job_no = $1 AND ord > $4 ORDER BY ord LIMIT $6)`;
const DEPTHS = `RECURSIVE depths AS (
    (SELECT depth FROM frontier WHERE job_no = $1 AND shard = 0 ORDER BY depth LIMIT 1)
    UNION ALL
    SELECT (SELECT n.depth FROM frontier n WHERE n.job_no = $1 AND n.shard = 0 AND n.depth > d.depth ORDER BY n.depth LIMIT 1)
    FROM depths d WHERE d.depth IS NOT NULL)`;
const OPEN = `SELECT f.item, f.url, f.parent_item, f.depth, $2::text AS outcome,
    CASE WHEN ${IS_WAITING} THEN coalesce(${RULE_OF_HOST}, ${OWN_RULE}, ${SLOWED}) END AS rule, NULL::smallint AS status,
    NULL::bigint AS bytes, NULL::int AS ms, NULL::text AS engine, f.attempts, $3::timestamptz AS at,
    CASE WHEN ${IS_WAITING} THEN greatest(CASE WHEN f.not_before > $3 THEN f.not_before END,
      CASE WHEN h.state <> 'slowed' AND h.until > $3 THEN h.until END) END AS not_before
  FROM (SELECT * FROM (${OPEN_ITEMS}) o ORDER BY item LIMIT $6) f LEFT JOIN host h ON h.host = f.host AND h.state <> 'open'`;

/** $5 to pass over, then $7; $6 = both together. A parent is decided before what it names is known. */
const byItem = (source: string): string => `WITH ${DEPTHS}
  SELECT e.*, p.url AS parent, ${ITEM_KEY} FROM (SELECT * FROM (${source}) s ORDER BY item OFFSET $5 LIMIT $7) e
  LEFT JOIN url_outcome p ON p.job_no = $1 AND p.item = e.parent_item ORDER BY e.item`;
const ALL_BY_ITEM = byItem(`(${DECIDED} AND item > $4 ORDER BY item LIMIT $6) UNION ALL ${OPEN}`);
const OPEN_BY_ITEM = byItem(OPEN);

/** In order of decision: entries that were read stay where they were when more are decided. */
const BY_TIME = `SELECT e.*, p.url AS parent, ARRAY[${timeKey('e.at')}, e.item::text] AS key
  FROM (${DECIDED} AND outcome = $2 AND (at, item) > (${keyTime('$3')}, $4::bigint) ORDER BY at, item OFFSET $5 LIMIT $6) e
  LEFT JOIN url_outcome p ON p.job_no = $1 AND p.item = e.parent_item ORDER BY e.at, e.item`;

/** Links left out have no item of their own; a link lies one level below its page. They are few: all are looked at. */
const OUT_OF_SCOPE = `SELECT 0 AS item, e.url, p.url AS parent, coalesce(p.depth + 1, 0) AS depth, 'out_of_scope' AS outcome, e.rule,
    NULL::smallint AS status, NULL::bigint AS bytes, NULL::int AS ms, NULL::text AS engine, 0 AS attempts, e.at,
    NULL::timestamptz AS not_before, ARRAY[${timeKey('e.at')}, e.h::text] AS key
  FROM (SELECT * FROM (SELECT * FROM url_excluded WHERE job_no = $1 ORDER BY at, h LIMIT ${MAX_OUT_OF_SCOPE}) x
    WHERE (at, h) > (${keyTime('$2')}, $3::bigint) ORDER BY at, h OFFSET $4 LIMIT $5) e
  LEFT JOIN url_outcome p ON p.job_no = $1 AND p.item = e.parent_item ORDER BY e.at, e.h`;

interface EntryRecord extends Omit<LedgerEntry, 'item' | 'bytes' | 'fromHistory' | 'notBefore'> {
  item: string;
  /** Not known for links that were left out. */
  parent_item?: string | null;
  bytes: string | null;
  not_before: Date | null;
}

interface JobRecord {
  undecided: 'pending' | 'cancelled' | 'limit';
  at: Date;
  excluded: Partial<Record<string, number>>;
}

type Counted = LedgerOutcome | 'revalidated';

export class LedgerRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** null when there is no such job. Pages stay where they are while a job runs, those of undecided URLs excepted. */
  read(jobNo: JobNo, query: LedgerQuery): Promise<Ledger | null> {
    return withTransaction(
      this.pool,
      async (client) => {
        const job = (await client.query<JobRecord>(JOB, [jobNo])).rows[0];
        if (job === undefined) return null;
        const counted = (await client.query<{ what: Counted; n: number }>(COUNTS, [jobNo])).rows;
        const counts = addUp(counted, job.undecided);
        const { limit } = query;
        const list = limit === 0 ? [] : (await client.query<object>(listQuery(jobNo, job, query))).rows;
        const { rows, hasMore } = pageOf<EntryRecord>(list, limit);
        return {
          counts,
          discovered: Object.values(counts).reduce((sum, n) => sum + n, 0),
          revalidated: counted.find(({ what }) => what === 'revalidated')?.n ?? 0,
          excluded: job.excluded,
          entries: rows.map(toEntry),
          hasMore,
        };
      },
      BEGIN_SNAPSHOT,
    );
  }
}

/** One more is read than is shown: it tells whether a page follows. */
function listQuery(jobNo: JobNo, { undecided, at }: JobRecord, query: LedgerQuery): pg.QueryConfig {
  const { skip, limit, outcome, after = null } = query;
  const wanted = limit + 1;
  const [time = BEFORE_ALL, id = '-1'] = after ?? [];
  if (outcome === 'out_of_scope')
    return pageQuery(OUT_OF_SCOPE, [jobNo, time, after === null ? MIN_FINGERPRINT : id, skip, wanted]);
  if (outcome !== null && outcome !== undecided) return pageQuery(BY_TIME, [jobNo, outcome, time, id, skip, wanted]);
  const list = outcome === null ? ALL_BY_ITEM : OPEN_BY_ITEM;
  return pageQuery(list, [jobNo, undecided, at, id, skip, skip + wanted, wanted]);
}

function addUp(rows: readonly { what: Counted; n: number }[], undecided: JobRecord['undecided']): Ledger['counts'] {
  const counts: Ledger['counts'] = {};
  for (const { what, n } of rows) {
    if (what === 'revalidated' || n === 0) continue;
    const outcome = what === 'pending' ? undecided : what;
    counts[outcome] = (counts[outcome] ?? 0) + n;
  }
  return counts;
}

function toEntry(row: Keyed<EntryRecord>): LedgerEntry {
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
    key: row.key,
  };
}
