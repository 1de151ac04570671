/** Credits that teams have used, and work they have open. A job counts for the day on which it was started. */
import { jobNoOf, type Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { BEFORE_ALL, keyTime, NO_ID, readPage, timeKey, type ListPage, type ListRange } from './list-page.js';

/** Days since 2024-01-01; `to` is not part of it. */
export interface DaySpan {
  fromDay: number;
  toDay: number;
}

export interface MonthUse {
  /** First day of the month, midnight UTC. */
  month: Date;
  /** Name of the key; null when not asked for, or without a key. */
  keyName: string | null;
  credits: number;
}

export interface DayUse {
  day: Date;
  team: Uuid;
  keyId: Uuid | null;
  keyName: string | null;
  credits: number;
  /** Documents of jobs, and calls without a job. */
  pages: number;
}

export interface TeamWork {
  /** Pages of running jobs that are not done, those being fetched included. */
  openPages: number;
  /** Pages of jobs being fetched now. */
  activePages: number;
}

const USED_IN = `SELECT (
    (SELECT coalesce(sum(credits), 0) FROM credit_ledger WHERE team_id = $1 AND job_no >= $2 AND job_no < $3) +
    (SELECT coalesce(sum(credits), 0) FROM scrape_usage WHERE team_id = $1 AND day >= $4 AND day < $5))::float8 AS used`;

/** All use as rows of (team_id, day, key_id, credits, pages). */
const useWhere = (jobs: string, calls: string): string => `(
  SELECT team_id, (job_no >> 40)::int AS day, key_id, credits, pages FROM credit_ledger WHERE ${jobs}
  UNION ALL SELECT team_id, day, key_id, credits, calls FROM scrape_usage WHERE ${calls})`;

const DATE_OF_DAY = `(timestamp '2024-01-01' + day * interval '1 day') AT TIME ZONE 'UTC'`;
const MONTH_OF_DAY = `date_trunc('month', timestamp '2024-01-01' + day * interval '1 day') AT TIME ZONE 'UTC'`;

/** Usage without a key comes last. */
const NAME_ORDER = `("keyName" IS NULL)::int, coalesce("keyName", '')`;
const NAME_KEY = `("keyName" IS NULL)::int::text, coalesce("keyName", '')`;

const BY_MONTH = `SELECT *, ARRAY[${timeKey('month')}, ${NAME_KEY}] AS key FROM (
    SELECT ${MONTH_OF_DAY} AS month, CASE WHEN $2 THEN k.name END AS "keyName", sum(credits)::float8 AS credits
    FROM ${useWhere('team_id = $1', 'team_id = $1')} u LEFT JOIN api_key k ON k.id = u.key_id GROUP BY 1, 2) m
  WHERE (month, ${NAME_ORDER}) > (${keyTime('$3')}, $4::int, $5) ORDER BY month, ${NAME_ORDER} OFFSET $6 LIMIT $7`;

const OF_TEAM = '($1::uuid IS NULL OR team_id = $1)';
const DAYS = `SELECT ${DATE_OF_DAY} AS day, u.team_id AS team, u.key_id AS "keyId", k.name AS "keyName",
    sum(credits)::float8 AS credits, sum(pages)::float8 AS pages
  FROM ${useWhere(`${OF_TEAM} AND job_no >= $2 AND job_no < $3`, `${OF_TEAM} AND day >= $4 AND day < $5`)} u
  LEFT JOIN api_key k ON k.id = u.key_id
  GROUP BY u.day, u.team_id, u.key_id, k.name`;
const DAY_ORDER = `day, team, ${NAME_ORDER}, coalesce("keyId", '${NO_ID}')`;
const BY_DAY = `SELECT *, ARRAY[${timeKey('day')}, team::text, ${NAME_KEY}, coalesce("keyId", '${NO_ID}')::text] AS key
  FROM (${DAYS}) d WHERE (${DAY_ORDER}) > (${keyTime('$6')}, $7::uuid, $8::int, $9, $10::uuid)
  ORDER BY ${DAY_ORDER} OFFSET $11 LIMIT $12`;

/** Pages of jobs that work with a model are fetched by other jobs, which count. */
const FETCHES = `kind IN ('crawl', 'batch')`;

const OPEN_PAGES = `SELECT coalesce(sum(greatest(total - completed, 0)), 0)::float8 AS n FROM job
  WHERE team_id = $1 AND status = 'scraping' AND ${FETCHES}`;

const IN_WORK = `WITH running AS MATERIALIZED (
    SELECT job_no, greatest(total - completed, 0) AS open FROM job WHERE team_id = $1 AND status = 'scraping' AND ${FETCHES})
  SELECT (SELECT coalesce(sum(open), 0) FROM running)::float8 AS "openPages",
    (SELECT count(*) FROM running JOIN lane USING (job_no) WHERE run IS NOT NULL)::float8 AS "activePages"`;

const LATEST_SUCCESS = `SELECT greatest(
    (SELECT max(finished_at) FROM job WHERE team_id = $1 AND status = 'completed'),
    (SELECT max(last_at) FROM scrape_usage WHERE team_id = $1)) AS at`;

export class UsageRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Credits of a team. */
  async usedIn(team: Uuid, span: DaySpan): Promise<number> {
    const { rows } = await this.pool.query<{ used: number }>({
      name: 'usage-sum',
      text: USED_IN,
      values: [team, ...boundsOf(span)],
    });
    return rows[0]!.used;
  }

  /** Months with any use, oldest first; by key when asked. */
  byMonth(team: Uuid, byKey: boolean, range: ListRange): Promise<ListPage<MonthUse>> {
    return readPage(this.pool, { text: BY_MONTH, values: [team, byKey], start: [BEFORE_ALL, '0', ''] }, range);
  }

  /** Days and keys with any use, oldest first; of every team when `team` is null. */
  byDay(team: Uuid | null, span: DaySpan, range: ListRange): Promise<ListPage<DayUse>> {
    const list = { text: BY_DAY, values: [team, ...boundsOf(span)], start: [BEFORE_ALL, NO_ID, '0', '', NO_ID] };
    return readPage(this.pool, list, range);
  }

  /** Pages of running jobs that are not done. */
  async openPages(team: Uuid): Promise<number> {
    const { rows } = await this.pool.query<{ n: number }>({ name: 'pages-open', text: OPEN_PAGES, values: [team] });
    return rows[0]!.n;
  }

  async inWork(team: Uuid): Promise<TeamWork> {
    return (await this.pool.query<TeamWork>(IN_WORK, [team])).rows[0]!;
  }

  /** When a job was completed or a call answered last; null = never. */
  async latestSuccess(team: Uuid): Promise<Date | null> {
    return (await this.pool.query<{ at: Date | null }>(LATEST_SUCCESS, [team])).rows[0]!.at;
  }
}

function boundsOf({ fromDay, toDay }: DaySpan): (string | number)[] {
  return [jobNoOf(fromDay, 0n), jobNoOf(toDay, 0n), fromDay, toDay];
}
