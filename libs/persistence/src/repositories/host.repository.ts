/** How hosts are treated, as their actors last wrote it. */
import type { HostRecord, HostReason, HostState, JobNo } from '@troupe/contracts';
import type pg from 'pg';
import { readPage, type ListPage, type ListRange } from './list-page.js';

export interface StoredHost extends HostRecord {
  updatedAt: Date;
}

/** A host with open or ended URLs of a job. */
export interface HostOfJob {
  host: string;
  /** Not decided yet. */
  pending: number;
  ok: number;
  failed: number;
  /** All other ends of URLs. */
  other: number;
  /** null: nothing has been noted of it within seven days. */
  record: StoredHost | null;
}

interface Row {
  host: string;
  state: HostState;
  rate: number | null;
  max_conn: number;
  gap_ms: number;
  since_ms: number;
  until_ms: number | null;
  plateau_rate: number | null;
  plateau_ms: number | null;
  last: HostReason[];
  updated_at: Date;
}

const COLUMNS = `host, state, rate, max_conn, gap_ms, (extract(epoch FROM since) * 1000)::float8 AS since_ms,
  (extract(epoch FROM until) * 1000)::float8 AS until_ms, plateau_rate, plateau_ms, last, updated_at`;

/** Rank of the state; hosts of which nothing is known come last. */
const RANK = `coalesce(array_position('{down,held,paused,slowed,open}'::text[], state), 6)`;

/** Worst first. */
const ORDER = `${RANK}, rate NULLS LAST, host`;

/** Hosts are named as everywhere: a port only where it is neither 80 nor 443. */
const HOST_OF_URL = `regexp_replace(lower(substring(url from '^[a-zA-Z]+://(?:[^/?#@]*@)?([^/?#]*)')), ':(80|443)$', '')`;

const OF_JOB = `WITH counts AS (
    SELECT host, count(*)::int AS pending, 0 AS ok, 0 AS failed, 0 AS other FROM frontier WHERE job_no = $1 GROUP BY host
    UNION ALL
    SELECT ${HOST_OF_URL}, 0, count(*) FILTER (WHERE outcome = 'ok')::int, count(*) FILTER (WHERE outcome = 'failed')::int,
      count(*) FILTER (WHERE outcome NOT IN ('ok', 'failed'))::int FROM url_outcome WHERE job_no = $1 GROUP BY 1)
  SELECT host, sum(pending)::int AS pending, sum(ok)::int AS ok, sum(failed)::int AS failed, sum(other)::int AS other
  FROM counts WHERE host <> '' GROUP BY host`;

/** A host's state, and the number of its open URLs, change while a list is read: then it may be missed or come twice. */
const PAGE_OF_JOB = `SELECT * FROM (SELECT c.*, ARRAY[(${RANK})::text, (-c.pending)::text, c.host] AS key
    FROM (${OF_JOB}) c LEFT JOIN host USING (host)) h
  WHERE (key[1]::int, key[2]::bigint, host COLLATE "C") > ($2::int, $3::bigint, $4)
  ORDER BY key[1]::int, key[2]::bigint, host COLLATE "C" OFFSET $5 LIMIT $6`;

const IN_STATES = `SELECT * FROM (SELECT ${COLUMNS}, ARRAY[(${RANK})::text, coalesce(rate, 'Infinity')::text, host] AS key
    FROM host WHERE state = ANY($1::text[])) h
  WHERE (key[1]::int, key[2]::float8, host COLLATE "C") > ($2::int, $3::float8, $4)
  ORDER BY key[1]::int, key[2]::float8, host COLLATE "C" OFFSET $5 LIMIT $6`;

export class HostRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Hosts in these states, worst first. */
  async inStates(states: readonly HostState[], range: ListRange): Promise<ListPage<StoredHost>> {
    const list = { text: IN_STATES, values: [states], start: ['0', '0', ''] };
    const { rows, hasMore } = await readPage<Row>(this.pool, list, range);
    return { rows: rows.map((row) => ({ ...storedHost(row), key: row.key })), hasMore };
  }

  /** Worst first; hosts of which nothing is known are left out. */
  async ofNames(hosts: readonly string[]): Promise<StoredHost[]> {
    if (hosts.length === 0) return [];
    return this.select(`host = ANY($1::text[]) ORDER BY ${ORDER}`, [hosts]);
  }

  /** Hosts of a job that have open URLs and are not `open`, worst first. */
  async troubledOfJob(jobNo: JobNo, limit: number): Promise<StoredHost[]> {
    return this.select(
      `state <> 'open' AND EXISTS (SELECT FROM frontier f WHERE f.job_no = $1 AND f.host = host.host) ORDER BY ${ORDER} LIMIT $2`,
      [jobNo, limit],
    );
  }

  /** Every host of a job with its counts, worst first. */
  async ofJob(jobNo: JobNo, range: ListRange): Promise<ListPage<HostOfJob>> {
    const list = { text: PAGE_OF_JOB, values: [jobNo], start: ['0', '-9223372036854775808', ''] };
    const page = await readPage<Omit<HostOfJob, 'record'>>(this.pool, list, range);
    const records = await this.ofNames(page.rows.map((row) => row.host));
    const byHost = new Map(records.map((record) => [record.host, record]));
    return { ...page, rows: page.rows.map((row) => ({ ...row, record: byHost.get(row.host) ?? null })) };
  }

  private async select(where: string, values: unknown[]): Promise<StoredHost[]> {
    const { rows } = await this.pool.query<Row>(`SELECT ${COLUMNS} FROM host WHERE ${where}`, values);
    return rows.map(storedHost);
  }
}

function storedHost(row: Row): StoredHost {
  const { plateau_rate: rate, plateau_ms: ms } = row;
  return {
    host: row.host,
    state: row.state,
    pagesPerSecond: row.rate,
    maxConn: row.max_conn,
    gapMs: row.gap_ms,
    sinceMs: row.since_ms,
    untilMs: row.until_ms,
    plateau: rate === null || ms === null ? null : { pagesPerSecond: rate, ms },
    reasons: row.last,
    updatedAt: row.updated_at,
  };
}
