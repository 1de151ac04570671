/** What several repositories write inside their own transaction when a request is recorded. */
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
import { storable } from '../actor-store/statement.js';

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

const CLAIM_IDEMPOTENCY_KEY = `INSERT INTO idempotency (team_id, key, id, at) VALUES ($1, $2, $3, now())
  ON CONFLICT (team_id, key) DO UPDATE SET id = EXCLUDED.id, at = EXCLUDED.at WHERE idempotency.at < now() - interval '24 hours'`;

const INSERT_SEEDS = `INSERT INTO job_seed (job_no, ord, url, host)
  SELECT $1, $2 + ord - 1, url, host FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS x(url, host, ord)`;

const INSERT_COMMAND = `INSERT INTO cmd_outbox (id, subject, body, created_at) VALUES ($1, $2, convert_to($3, 'UTF8'), now())
  ON CONFLICT (id) DO NOTHING`;

/** @throws TroupeError 409 when the team used the key in the last 24 h; null is no key */
export async function claimIdempotencyKey(
  client: pg.PoolClient,
  team: Uuid,
  key: string | null,
  job: Uuid,
): Promise<void> {
  if (key === null) return;
  const { rowCount } = await client.query(CLAIM_IDEMPOTENCY_KEY, [team, storable(key), job]);
  if (rowCount === 0) throw new TroupeError('BAD_REQUEST', 'Idempotency key already used', { httpStatus: 409 });
}

export async function insertSeeds(
  client: pg.PoolClient,
  jobNo: JobNo,
  fromOrd: number,
  seeds: readonly Seed[],
): Promise<void> {
  const urls = seeds.map(({ url }) => storable(url));
  await client.query(INSERT_SEEDS, [jobNo, fromOrd, urls, seeds.map(({ host }) => host)]);
}

export async function recordCommand(client: pg.PoolClient, { id, envelope }: RecordedCommand): Promise<void> {
  await client.query(INSERT_COMMAND, [id, actorSubject(envelope.to), JSON.stringify(envelope)]);
}

const LOCK_PARENT = `SELECT status FROM job WHERE job_no = (SELECT job_no FROM job_id WHERE id = $1)`;
const HAS_CANCEL = `SELECT FROM cmd_outbox WHERE subject = $1 AND convert_from(body, 'UTF8')::json ->> 'type' = 'Cancel'`;
const OPEN_CHILDREN = `SELECT id AS job, kind FROM job WHERE parent = $1 AND status = 'scraping'`;

/**
 * False: the parent has ended or is about to, so it gets no child any more. True: it stays so until this transaction ends, and
 * whoever cancels the parent afterwards sees the child.
 */
export async function mayHaveChild(client: pg.PoolClient, parent: ActorKey): Promise<boolean> {
  const { rows } = await client.query<{ status: JobStatus }>(`${LOCK_PARENT} FOR SHARE`, [parseActorKey(parent).id]);
  if (rows[0]?.status !== 'scraping') return false;
  return (await client.query(HAS_CANCEL, [actorSubject(parent)])).rowCount === 0;
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
