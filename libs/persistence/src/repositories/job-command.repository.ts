/** Changes of existing jobs: recorded with their command in one transaction, like the job itself. */
import { randomUUID } from 'node:crypto';
import { actorKey, type JobKind, type JobNo, type PauseNews, type Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { runAll } from '../actor-store/statement.js';
import { withTransaction } from '../pool.js';
import {
  claimKey,
  commandEnvelope,
  commandInsert,
  isFenced,
  keyUsed,
  lockChildren,
  seedsInsert,
  type RecordedCommand,
  type Seed,
} from './job-writes.js';

export interface SeedAppend {
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  seeds: readonly Seed[];
  /** Seeds of the batch in all. */
  maxSeeds: number;
  /** Age up to which a batch takes more: its life as a whole is limited. */
  maxAgeHours: number;
  idempotencyKey: string | null;
}

/** The batch is failed or cancelled (`ended`), too old, or would hold too many seeds. */
export type AppendRefusal = 'ended' | 'old' | 'full';

/** The row lock keeps two gateways from giving out the same ordinals. */
const TAKE_ORDINALS = `UPDATE job SET seeds = seeds + $2, total = total + $2, status = 'scraping', finished_at = NULL,
    warning = NULL, expires_at = greatest(expires_at, now() + $5 * interval '1 hour')
  WHERE job_no = $1 AND kind = 'batch' AND status IN ('scraping', 'completed') AND seeds + $2 <= $3
    AND created_at > now() - $4 * interval '1 hour'
  RETURNING seeds - $2 AS from_ord`;

const WHY_NOT = `SELECT CASE WHEN status NOT IN ('scraping', 'completed') THEN 'ended'
    WHEN created_at <= now() - $2 * interval '1 hour' THEN 'old' ELSE 'full' END AS refusal
  FROM job WHERE job_no = $1`;

const SET_PAUSED = `UPDATE job j SET paused = $2, pause_v = j.pause_v + (j.paused <> $2)::int
  FROM (SELECT job_no, paused FROM job WHERE job_no = $1 FOR UPDATE) before
  WHERE j.job_no = before.job_no AND j.status = 'scraping'
  RETURNING j.pause_v, before.paused <> $2 AS changed`;

export class JobCommandRepository {
  constructor(
    private readonly pool: pg.Pool,
    private readonly options: { resultTtlHours: number },
  ) {}

  /**
   * Adds seeds to a batch and opens it again when it was completed. The job's row shows both at once, whatever its
   * actor is about to write.
   * @throws TroupeError 409 when the idempotency key was used in the last 24 h
   */
  append(input: SeedAppend): Promise<{ command: RecordedCommand } | { refusal: AppendRefusal }> {
    const written = withTransaction(this.pool, async (client) => {
      const { job, jobNo, seeds, maxSeeds, maxAgeHours, team, idempotencyKey } = input;
      const { rows } = await client.query<{ from_ord: number }>(TAKE_ORDINALS, [
        jobNo,
        seeds.length,
        maxSeeds,
        maxAgeHours,
        this.options.resultTtlHours,
      ]);
      const fromOrd = rows[0]?.from_ord;
      if (fromOrd === undefined) return { refusal: await whyNot(client, input) };
      const cmd = randomUUID();
      const body = { type: 'Append', job, cmd, toOrd: fromOrd + seeds.length } as const;
      const command = { id: cmd, envelope: commandEnvelope(`append.${cmd}`, actorKey('batch', job), body) };
      const key = idempotencyKey === null ? [] : [claimKey(team, idempotencyKey, job)];
      await runAll(client, [...key, seedsInsert(jobNo, fromOrd, seeds), commandInsert(command)]);
      return { command };
    });
    return written.catch((error: unknown) => {
      throw isFenced(error) ? keyUsed() : error;
    });
  }

  /** Cancels of the job and of those that fetch pages for it; each is kept until its job's actor has taken it up. */
  async cancel(job: Uuid, kind: JobKind): Promise<RecordedCommand[]> {
    return withTransaction(this.pool, async (client) => {
      const children = kind === 'extract' ? await lockChildren(client, job) : [];
      const commands = [{ job, kind }, ...children].map(cancelOf);
      await runAll(client, commands.map(commandInsert));
      return commands;
    });
  }

  /** Pauses or resumes a crawl; null when it has ended. Without a change there is no command. */
  setPaused(
    job: Uuid,
    jobNo: JobNo,
    paused: boolean,
  ): Promise<{ news: PauseNews; command: RecordedCommand | null } | null> {
    return withTransaction(this.pool, async (client) => {
      const { rows } = await client.query<{ pause_v: number; changed: boolean }>(SET_PAUSED, [jobNo, paused]);
      const row = rows[0];
      if (row === undefined) return null;
      const news = { v: row.pause_v, paused };
      if (!row.changed) return { news, command: null };
      const cmd = randomUUID();
      const body = { type: 'Pause', job, cmd, ...news } as const;
      const command = { id: cmd, envelope: commandEnvelope(`pause.${cmd}`, actorKey('crawl', job), body) };
      await client.query(commandInsert(command));
      return { news, command };
    });
  }
}

function cancelOf({ job, kind }: { job: Uuid; kind: JobKind }): RecordedCommand {
  const cmd = randomUUID();
  const body = { type: 'Cancel', job, cmd } as const;
  return { id: cmd, envelope: commandEnvelope(`cancel.${cmd}`, actorKey(kind, job), body) };
}

async function whyNot(client: pg.PoolClient, { jobNo, maxAgeHours }: SeedAppend): Promise<AppendRefusal> {
  const { rows } = await client.query<{ refusal: AppendRefusal }>(WHY_NOT, [jobNo, maxAgeHours]);
  return rows[0]?.refusal ?? 'ended';
}
