/** Deletes rows whose time or room is over, row by row: caches, histories, jobs with zero data retention. */
import { actorKey, type JobKind, type JobNo, type Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { PARTITIONED_TABLES } from './partitions.js';
import { withTransaction } from './pool.js';

const JOBS_PER_CALL = 100;

/** The pages of a job that fetches for another one stay until that one has ended. */
const IS_NEEDED = `EXISTS (SELECT FROM job_id r JOIN job p ON p.job_no = r.job_no WHERE r.id = job.parent AND p.status = 'scraping')`;

/** Tables with rows of one job. Of the job itself only a note remains that it was there. */
const OF_JOB = PARTITIONED_TABLES.filter(({ name, by }) => by === 'job_no' && name !== 'job').map(({ name }) => name);

/** `zdr` says that there is something to erase. */
const FORGET_JOB = `UPDATE job SET zdr = false, origin_url = NULL, options = '{}', error = NULL, warning = NULL WHERE job_no = $1`;

interface ErasableJob {
  id: Uuid;
  jobNo: JobNo;
  kind: JobKind;
}

export class Retention {
  constructor(private readonly pool: pg.Pool) {}

  /**
   * Deletes every trace of jobs with zero data retention whose time is over, except that they were there; their blobs are
   * the caller's. Jobs whose actor still runs stay for the next call.
   */
  async eraseJobs(): Promise<Uuid[]> {
    const { rows } = await this.pool.query<ErasableJob>(
      `SELECT id, job_no AS "jobNo", kind FROM job WHERE zdr AND status <> 'scraping' AND expires_at < now()
       AND NOT ${IS_NEEDED} LIMIT ${JOBS_PER_CALL}`,
    );
    const erased: Uuid[] = [];
    for (const job of rows) if (await this.erase(job)) erased.push(job.id);
    return erased;
  }

  /** The ids of jobs among these whose blobs may still be read or written. */
  async unfinishedJobs(ids: readonly Uuid[]): Promise<Set<Uuid>> {
    const { rows } = await this.pool.query<{ id: Uuid }>(
      `SELECT r.id FROM job_id r JOIN job j ON j.job_no = r.job_no WHERE r.id = ANY($1::uuid[]) AND j.zdr`,
      [ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Hours (yyyymmddhh) of the cache with what their bodies weigh, oldest first. */
  async cacheBuckets(): Promise<{ hour: string; bytes: number }[]> {
    const { rows } = await this.pool.query<{ hour: string; bytes: number }>(
      `SELECT bucket::text AS hour, bytes::float8 AS bytes FROM page_cache_bucket ORDER BY bucket`,
    );
    return rows;
  }

  /** Before the blobs of the hour: a row without its body costs a request, a body without its row costs room. */
  async dropCachedPages(hour: string): Promise<void> {
    await this.pool.query(`DELETE FROM page_cache WHERE bucket = $1`, [Number(hour)]);
  }

  /** After the blobs of the hour: until then another process would find it here and try again. */
  async dropCacheBucket(hour: string): Promise<void> {
    await this.pool.query(`DELETE FROM page_cache_bucket WHERE bucket = $1`, [Number(hour)]);
  }

  /** Histories whose newest scrape is that old. */
  async dropHistories(olderThanHours: number): Promise<void> {
    await this.pool.query(`DELETE FROM change_snapshot WHERE at < now() - $1 * interval '1 hour'`, [olderThanHours]);
  }

  private async erase({ id, jobNo, kind }: ErasableJob): Promise<boolean> {
    const keys = [actorKey(kind, id), actorKey('delivery', id)];
    return withTransaction(this.pool, async (client) => {
      const { rows } = await client.query<{ terminal: boolean }>(
        `SELECT terminal FROM actor WHERE key = ANY($1) FOR UPDATE`,
        [keys],
      );
      if (rows.some(({ terminal }) => !terminal)) return false;
      for (const table of OF_JOB) await client.query(`DELETE FROM ${table} WHERE job_no = $1`, [jobNo]);
      await client.query(`DELETE FROM outbox WHERE from_key = ANY($1) OR to_key = ANY($1)`, [keys]);
      await client.query(`DELETE FROM dead_letter WHERE key = ANY($1)`, [keys]);
      await client.query(`DELETE FROM cmd_outbox WHERE split_part(subject, '.', 4) = $1`, [id]);
      // The row stays: without it a late message would begin the job anew.
      await client.query(`UPDATE actor SET state = NULL WHERE key = ANY($1)`, [keys]);
      await client.query(FORGET_JOB, [jobNo]);
      return true;
    });
  }
}
