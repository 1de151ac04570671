/** Counts of what is in the tables, for operators. Each is one statement over small or indexed sets. */
import type pg from 'pg';
import { readWithin } from './list-page.js';

export interface JobCount {
  kind: string;
  running: number;
  /** Age of the oldest running one. */
  oldestS: number;
  /** The longest time for which a job that is not paused has been without a new page. */
  silentS: number;
  /** URLs known and not yet begun, and those under way. */
  ready: number;
  inflight: number;
}

export interface SlowHost {
  host: string;
  meanS: number;
}

export interface HostCount {
  /** Hosts that some job wants pages of. */
  active: number;
  /** Hosts among them that are not treated as their settings allow, because of their answers or of an operator. */
  penalised: number;
  slowest: SlowHost[];
}

export interface TableCounts {
  deadLetters: number;
  /** Jobs with webhook events that are not delivered. */
  openDeliveries: number;
  /** Those events: not handed over, being posted, or waiting for a further attempt. */
  openEvents: number;
  /** Age of the oldest message that no receiver has confirmed; 0 without any. */
  outboxAgeS: number;
}

const SLOWEST_HOSTS = 10;

const JOBS = `SELECT j.kind, count(*)::int AS running, coalesce(max(extract(epoch FROM now() - j.created_at)), 0)::float8 AS "oldestS",
    coalesce(max(extract(epoch FROM now() - greatest(j.created_at, p.finished_at))) FILTER (WHERE NOT j.paused), 0)::float8 AS "silentS",
    coalesce(sum((a.state -> 's' ->> 'ready')::bigint), 0)::float8 AS ready,
    coalesce(sum((a.state -> 's' ->> 'inflight')::bigint), 0)::float8 AS inflight
  FROM job j
  LEFT JOIN LATERAL (SELECT finished_at FROM page WHERE job_no = j.job_no AND shard = 0 ORDER BY ord DESC LIMIT 1) p ON true
  LEFT JOIN actor a ON a.key = j.kind || '/' || j.id
  WHERE j.status = 'scraping' GROUP BY j.kind`;

const MEAN_MS = `(state -> 's' -> 'policy' -> 'conns' ->> 'meanMs')::float8`;
const HOSTS = `SELECT count(*)::int AS active,
    count(*) FILTER (WHERE state -> 's' -> 'told' ->> 'state' <> 'open')::int AS penalised
  FROM actor WHERE kind = 'domain' AND NOT terminal`;
const SLOWEST = `SELECT substr(key, 8) AS host, ${MEAN_MS} / 1000 AS "meanS"
  FROM actor WHERE kind = 'domain' AND NOT terminal AND ${MEAN_MS} IS NOT NULL
  ORDER BY 2 DESC LIMIT ${SLOWEST_HOSTS}`;
/** A cursor over numbered events, and the numbers of those that are out or failed. */
const OPEN_EVENTS = `SELECT (state -> 's' ->> 'known')::bigint + jsonb_array_length(state -> 's' -> 'ends') - (state -> 's' ->> 'next')::bigint + 1
    + (SELECT coalesce(sum((span ->> 1)::bigint - (span ->> 0)::bigint + 1), 0)
       FROM unnest('{$.runs.*.events[*],$.retries.*.events[*],$.due[*].events[*]}'::jsonpath[]) place, jsonb_path_query(state -> 's', place) span) AS n
  FROM actor WHERE kind = 'delivery' AND NOT terminal AND state -> 's' ->> 'phase' = 'open'`;
const TABLES = `SELECT (SELECT count(*) FROM dead_letter)::int AS "deadLetters",
    (SELECT count(*) FROM actor WHERE kind = 'delivery' AND NOT terminal)::int AS "openDeliveries",
    (SELECT coalesce(sum(n), 0) FROM (${OPEN_EVENTS}) open)::float8 AS "openEvents",
    coalesce((SELECT extract(epoch FROM now() - min(created_at)) FROM outbox), 0)::float8 AS "outboxAgeS"`;

/** A count that takes longer is not worth it. */
const DEADLINE_MS = 2_000;

export class Census {
  /** @param pool with one connection, for nothing else: counting takes none from the work */
  constructor(private readonly pool: pg.Pool) {}

  jobs(): Promise<JobCount[]> {
    return this.read<JobCount>(JOBS);
  }

  async hosts(): Promise<HostCount> {
    const [counts] = await this.read<Omit<HostCount, 'slowest'>>(HOSTS);
    return { ...counts!, slowest: await this.read<SlowHost>(SLOWEST) };
  }

  async tables(): Promise<TableCounts> {
    return (await this.read<TableCounts>(TABLES))[0]!;
  }

  private async read<Row extends object>(text: string): Promise<Row[]> {
    return (await readWithin(this.pool, { text }, DEADLINE_MS)) as Row[];
  }
}
