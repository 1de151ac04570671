/** Events that the dispatcher posts, and what became of them. */
import type { JobNo, JobStatus, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { groupBy } from '../actor-store/statement.js';

/** How long a webhook secret that has been replaced still signs. */
export const FORMER_SECRET_HOURS = 24;

export interface WebhookSecrets {
  /** null: the team signs nothing. */
  current: string | null;
  /** The one before, while it signs too. */
  previous: string | null;
}

/** A stored page that is to be posted. */
export interface PostedPage {
  ord: number;
  /** Size of the uncompressed JSON. */
  bytes: number;
  /** Exactly one of the two, as in `PageRow`. */
  blob: string | null;
  inline: Buffer | null;
}

export interface StoredModelResult {
  creditsUsed: number;
  /** JSON text. */
  data: string | null;
  /** JSON text; null: none were asked for. */
  sources: string | null;
}

export interface DeliveryAttempt {
  eventNo: number;
  attempt: number;
  at: Date;
  status: number | null;
  error: string | null;
  ms: number;
  /** No further attempt follows by itself. */
  final: boolean;
}

interface AttemptRecord extends Omit<DeliveryAttempt, 'eventNo'> {
  event_no: string;
}

const ATTEMPT_COLUMNS = 'event_no, attempt, at, status, error, ms, final';

const LAST_ATTEMPTS = `SELECT DISTINCT ON (event_no) ${ATTEMPT_COLUMNS} FROM delivery_attempt
  WHERE job_no = $1 AND ($2::bigint[] IS NULL OR event_no = ANY($2)) ORDER BY event_no, attempt DESC`;

export class DeliveryRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** The pages with these ordinals that are still stored, by ordinal. */
  async pages(jobNo: JobNo, ords: readonly number[]): Promise<Map<number, PostedPage>> {
    const { rows } = await this.pool.query<{ ord: string; bytes: number; blob: string | null; inline: Buffer | null }>({
      name: 'delivery-pages',
      text: `SELECT ord, bytes, blob, inline FROM page WHERE job_no = $1 AND shard = 0 AND ord = ANY($2::bigint[])`,
      values: [jobNo, ords],
    });
    return new Map(rows.map((row) => [Number(row.ord), { ...row, ord: Number(row.ord) }]));
  }

  /** Attempts of this number at these events that are on record. */
  async attempted(jobNo: JobNo, attempt: number, events: readonly number[]): Promise<DeliveryAttempt[]> {
    const { rows } = await this.pool.query<AttemptRecord>({
      name: 'delivery-attempted',
      text: `SELECT ${ATTEMPT_COLUMNS} FROM delivery_attempt
        WHERE job_no = $1 AND attempt = $2 AND event_no = ANY($3::bigint[])`,
      values: [jobNo, attempt, events],
    });
    return rows.map(toAttempt);
  }

  async webhookSecrets(team: Uuid): Promise<WebhookSecrets> {
    const { rows } = await this.pool.query<WebhookSecrets>({
      name: 'webhook-secrets',
      text: `SELECT webhook_secret AS current,
          CASE WHEN webhook_secret_rotated_at > now() - make_interval(hours => $2) THEN webhook_secret_previous END AS previous
        FROM team WHERE id = $1`,
      values: [team, FORMER_SECRET_HOURS],
    });
    return rows[0] ?? { current: null, previous: null };
  }

  async pageCount(jobNo: JobNo): Promise<number> {
    const { rows } = await this.pool.query<{ n: number }>(
      'SELECT coalesce(max(ord), 0)::int AS n FROM page WHERE job_no = $1 AND shard = 0',
      [jobNo],
    );
    return rows[0]!.n;
  }

  /** Steps of an agent that receivers of webhooks are told of. */
  async actionCount(jobNo: JobNo): Promise<number> {
    const { rows } = await this.pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM model_step WHERE job_no = $1 AND starts_with(step, 'act/')
        AND result -> 'value' -> 'action' IS NOT NULL`,
      [jobNo],
    );
    return rows[0]!.n;
  }

  /** JSON of what these steps of an agent tell receivers of webhooks, by step. */
  async actions(jobNo: JobNo, steps: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await this.pool.query<{ step: string; action: string }>({
      name: 'delivery-actions',
      text: `SELECT step, (result -> 'value' -> 'action')::text AS action FROM model_step
        WHERE job_no = $1 AND step = ANY($2) AND result -> 'value' -> 'action' IS NOT NULL`,
      values: [jobNo, steps],
    });
    return new Map(rows.map(({ step, action }) => [step, action]));
  }

  /** Result of a job that worked with a model, as it is stored; `data` null: it has none. */
  async modelResult(jobNo: JobNo): Promise<StoredModelResult | null> {
    const { rows } = await this.pool.query<StoredModelResult>({
      name: 'delivery-model-result',
      text: `SELECT j.credits AS "creditsUsed", r.data::text AS data, nullif(r.sources, '{}')::text AS sources
        FROM job j LEFT JOIN extract_result r ON r.job_no = j.job_no WHERE j.job_no = $1`,
      values: [jobNo],
    });
    return rows[0] ?? null;
  }

  /** The events that are ends of the job, in order. */
  async ends(jobNo: JobNo): Promise<{ eventNo: number; status: Exclude<JobStatus, 'scraping'> }[]> {
    const { rows } = await this.pool.query<{ event_no: string; status: Exclude<JobStatus, 'scraping'> }>(
      'SELECT event_no, status FROM delivery_end WHERE job_no = $1 ORDER BY event_no',
      [jobNo],
    );
    return rows.map(({ event_no, status }) => ({ eventNo: Number(event_no), status }));
  }

  /** All attempts at these events in their order, by event. */
  async attempts(jobNo: JobNo, events: readonly number[]): Promise<Map<number, DeliveryAttempt[]>> {
    const { rows } = await this.pool.query<AttemptRecord>(
      `SELECT ${ATTEMPT_COLUMNS} FROM delivery_attempt WHERE job_no = $1 AND event_no = ANY($2::bigint[])
        ORDER BY event_no, attempt`,
      [jobNo, events],
    );
    return groupBy(rows.map(toAttempt), ({ eventNo }) => eventNo);
  }

  /** The last attempt at each of the events, or at every event that had one; grouped by the number of that attempt. */
  async lastAttempts(jobNo: JobNo, events: readonly number[] | null): Promise<Map<number, DeliveryAttempt[]>> {
    const { rows } = await this.pool.query<AttemptRecord>(LAST_ATTEMPTS, [jobNo, events]);
    return groupBy(rows.map(toAttempt), ({ attempt }) => attempt);
  }
}

function toAttempt({ event_no, ...rest }: AttemptRecord): DeliveryAttempt {
  return { eventNo: Number(event_no), ...rest };
}
