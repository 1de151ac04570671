/** Jobs that clients see running although no actor works on them, and commands without an actor to take them. */
import type { Envelope, JobKind, JobNo, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { failJobsText } from '../actor-store/fail-jobs.js';
import { withTransaction } from '../pool.js';
import { commandInsert } from './job-writes.js';

export interface LostJob {
  job: Uuid;
  jobNo: JobNo;
  kind: JobKind;
  /**
   * - `unstarted`: no actor has begun it, and no command is on its way to one.
   * - `abandoned`: its actor has ended without it.
   * - `endless`: it is older than any job may become.
   */
  why: 'unstarted' | 'abandoned' | 'endless';
}

const MAX_RESTARTS = 2;
const MAX_JOBS = 500;
/** Jobs end within 48 h, and have some time to say so. */
const MAX_AGE_HOURS = 50;

/**
 * One statement, since a command goes in the same moment in which its actor begins. A row of revision 0 was made for an actor
 * that has never done anything. The last part of a mailbox's subject is the job's id.
 */
const LOST_JOBS = `SELECT j.id AS job, j.job_no AS "jobNo", j.kind,
    CASE WHEN j.created_at < now() - interval '${MAX_AGE_HOURS} hours' THEN 'endless' WHEN a.terminal THEN 'abandoned' ELSE 'unstarted' END AS why
  FROM job j LEFT JOIN actor a ON a.key = j.kind || '/' || j.id LEFT JOIN job_start s ON s.job_no = j.job_no
  WHERE j.status = 'scraping' AND (j.created_at < now() - interval '${MAX_AGE_HOURS} hours'
    OR (coalesce(s.restarted_at, j.created_at) < now() - $1::float8 * interval '1 millisecond' AND (a.key IS NULL OR a.rev = 0 OR a.terminal)
      AND NOT EXISTS (SELECT FROM cmd_outbox c WHERE split_part(c.subject, '.', 4) = j.id::text)))
  ORDER BY j.job_no LIMIT ${MAX_JOBS}`;

const COUNT_RESTART = `UPDATE job_start s SET restarts = s.restarts + 1, restarted_at = now() FROM job j
  WHERE s.job_no = $1 AND j.job_no = $1 AND j.finished_at IS NULL AND s.restarts < ${MAX_RESTARTS}
  RETURNING s.envelope, j.seeds`;

export class LostJobRepository {
  private readonly failJobs: string;

  constructor(
    private readonly pool: pg.Pool,
    { resultTtlHours, zeroRetentionGraceMinutes = 30 }: { resultTtlHours: number; zeroRetentionGraceMinutes?: number },
  ) {
    this.failJobs = failJobsText({ resultTtlHours, zeroRetentionGraceMinutes });
  }

  /** Oldest first, 500 at most. @param olderThanMs jobs that were started, or started again, since then may be on their way */
  async find(olderThanMs: number): Promise<LostJob[]> {
    const { rows } = await this.pool.query<LostJob>(LOST_JOBS, [olderThanMs]);
    return rows;
  }

  /** Records the job's start once more. False: it was recorded too often already, or its start is gone. */
  restart({ job, jobNo }: LostJob): Promise<boolean> {
    return withTransaction(this.pool, async (client) => {
      const { rows } = await client.query<{ envelope: Buffer; seeds: number }>(COUNT_RESTART, [jobNo]);
      const found = rows[0];
      if (found === undefined) return false;
      const envelope = JSON.parse(found.envelope.toString('utf8')) as Envelope;
      if ('total' in envelope.body) envelope.body.total = found.seeds;
      await client.query(commandInsert({ id: job, envelope }));
      return true;
    });
  }

  /** Fails the job. Nothing happens to a job that has ended. */
  async fail(job: Uuid, error: string): Promise<void> {
    await this.pool.query(this.failJobs, [[job], [error]]);
  }

  /** Drops the command and fails its job. @param job null: the command names none */
  async failCommand(command: Uuid, job: Uuid | null, error: string): Promise<void> {
    await withTransaction(this.pool, async (client) => {
      await client.query('DELETE FROM cmd_outbox WHERE id = $1', [command]);
      if (job !== null) await client.query(this.failJobs, [[job], [error]]);
    });
  }
}
