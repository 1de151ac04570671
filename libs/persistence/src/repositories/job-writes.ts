/** Writes of several repositories inside their own transaction when a request is recorded. */
import {
  actorSubject,
  parseActorKey,
  TroupeError,
  type ActorKey,
  type Envelope,
  type JobNo,
  type JobStatus,
  type PageJobKind,
  type Uuid,
} from '@troupe/contracts';
import type pg from 'pg';
import { runAll, storable } from '../actor-store/statement.js';
import { FENCED } from '../actor-store/turn-writes.js';
import { sqlState } from '../pool.js';

/** A command that is recorded and must reach the actor; publish it; `takeCommands` tells what has to be published again. */
export interface RecordedCommand {
  id: Uuid;
  envelope: Envelope;
}

export interface Seed {
  url: string;
  /** Politeness key of the URL's host. */
  host: string;
}

/** Fails with `FENCED` when the team used the key in the last 24 h. */
const CLAIM_IDEMPOTENCY_KEY = `WITH claimed AS (INSERT INTO idempotency (team_id, key, id, at) VALUES ($1, $2, $3, now())
    ON CONFLICT (team_id, key) DO UPDATE SET id = EXCLUDED.id, at = EXCLUDED.at WHERE idempotency.at < now() - interval '24 hours'
    RETURNING 1)
  SELECT 1 / count(*) FROM claimed`;

const INSERT_SEEDS = `INSERT INTO job_seed (job_no, ord, url, host)
  SELECT $1, $2 + ord - 1, url, host FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS x(url, host, ord)`;

const INSERT_COMMAND = `INSERT INTO cmd_outbox (id, subject, body, created_at) VALUES ($1, $2, convert_to($3, 'UTF8'), now())
  ON CONFLICT (id) DO NOTHING`;

export function claimKey(team: Uuid, key: string, job: Uuid): pg.QueryConfig {
  return { text: CLAIM_IDEMPOTENCY_KEY, values: [team, storable(key), job] };
}

/** A statement whose condition did not hold, by which nothing of its transaction is committed. */
export function isFenced(error: unknown): boolean {
  return sqlState(error) === FENCED;
}

export function keyUsed(): TroupeError {
  return new TroupeError('BAD_REQUEST', 'Idempotency key already used', { httpStatus: 409 });
}

export function seedsInsert(jobNo: JobNo, fromOrd: number, seeds: readonly Seed[]): pg.QueryConfig {
  const urls = seeds.map(({ url }) => storable(url));
  return { text: INSERT_SEEDS, values: [jobNo, fromOrd, urls, seeds.map(({ host }) => host)] };
}

export function commandInsert({ id, envelope }: RecordedCommand): pg.QueryConfig {
  return { text: INSERT_COMMAND, values: [id, actorSubject(envelope.to), JSON.stringify(envelope)] };
}

const LOCK_PARENT = `SELECT status FROM job WHERE job_no = (SELECT job_no FROM job_id WHERE id = $1)`;
const HAS_CANCEL = `SELECT FROM cmd_outbox WHERE subject = $1 AND convert_from(body, 'UTF8')::json ->> 'type' = 'Cancel'`;
const OPEN_CHILDREN = `SELECT id AS job, kind FROM job WHERE parent = $1 AND status = 'scraping'`;

/**
 * Begins a transaction. False: the parent has ended or is about to, so it gets no child any more. True: it stays so until the
 * transaction ends, and a later cancel of the parent sees the child.
 */
export async function beginWithParent(client: pg.PoolClient, parent: ActorKey): Promise<boolean> {
  const [, locked, cancel] = await runAll(client, [
    { text: 'BEGIN' },
    { text: `${LOCK_PARENT} FOR SHARE`, values: [parseActorKey(parent).id] },
    { text: HAS_CANCEL, values: [actorSubject(parent)] },
  ]);
  const { status } = (locked!.rows[0] ?? {}) as { status?: JobStatus };
  return status === 'scraping' && cancel!.rowCount === 0;
}

/** Jobs that fetch pages for this one; no other comes in between before this transaction ends. */
export async function lockChildren(client: pg.PoolClient, parent: Uuid): Promise<{ job: Uuid; kind: PageJobKind }[]> {
  await client.query(`${LOCK_PARENT} FOR UPDATE`, [parent]);
  return (await client.query<{ job: Uuid; kind: PageJobKind }>(OPEN_CHILDREN, [parent])).rows;
}

/** `body` as it travels from a gateway; a repeat carries the same id. */
export function commandEnvelope(
  id: string,
  to: Envelope['to'],
  body: Extract<Envelope['body'], { job: Uuid }>,
): Envelope {
  return { id, type: body.type, v: 1, from: 'gw/jobs', to, n: null, body };
}
