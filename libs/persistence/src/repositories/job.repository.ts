/** Jobs as the gateway sees them: recorded with their command in one transaction, then read. */
import { randomUUID } from 'node:crypto';
import {
  actorKey,
  childJobOf,
  parseActorKey,
  TroupeError,
  type ActorKey,
  type AgentSpec,
  type BatchSpec,
  type ChildJob,
  type CrawlSpec,
  type Envelope,
  type ExtractSpec,
  type HostReason,
  type HostState,
  type JobKind,
  type JobNo,
  type JobStatus,
  type PageJobKind,
  type Start,
  type TraceParent,
  type Uuid,
} from '@troupe/contracts';
import type pg from 'pg';
import { commitAll, storable, storableJson } from '../actor-store/statement.js';
import { withConnection } from '../pool.js';
import {
  AFTER_ALL,
  BEFORE_ALL,
  keyTime,
  NO_ID,
  readPage,
  timeKey,
  type ListPage,
  type ListRange,
} from './list-page.js';
import {
  beginWithParent,
  claimKey,
  commandEnvelope,
  commandInsert,
  isFenced,
  keyUsed,
  seedsInsert,
  type RecordedCommand,
  type Seed,
} from './job-writes.js';

interface NewJobBase {
  team: Uuid;
  keyId: Uuid | null;
  /** Caller's text of the start URL; for batches what the active list shows. */
  originUrl: string | null;
  /** The request's options as sent, echoed by the list of active jobs. */
  wireOptions: unknown;
  origin: string | null;
  integration: string | null;
  idempotencyKey: string | null;
  /** Nothing of the job is kept beyond a short time after its end. */
  zdr: boolean;
  /** Trace of the call, when it is recorded. It goes with the command, however late that is taken up. */
  trace?: TraceParent;
}

export type NewJob =
  | (NewJobBase & { kind: 'crawl'; spec: CrawlSpec })
  | (NewJobBase & { kind: 'extract'; spec: ExtractSpec })
  | (NewJobBase & { kind: 'agent'; spec: AgentSpec })
  | (NewJobBase & {
      kind: 'batch';
      spec: BatchSpec;
      /** Canonical URL and politeness key of each entry, in the caller's order. */
      urls: readonly Seed[];
    });

/** A job that fetches pages for another one. */
export type NewChild = {
  /** Key of the job that works on its pages; its spec names it, too. */
  parent: ActorKey;
  /** Its place among its parent's children, from 0. */
  nth: number;
  team: Uuid;
  keyId: Uuid | null;
  /** Trace of the step that asked for it, when that is recorded. */
  trace?: TraceParent;
} & ({ kind: 'crawl'; spec: CrawlSpec } | { kind: 'batch'; spec: BatchSpec; urls: readonly Seed[] });

export interface JobView {
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  kind: JobKind;
  status: JobStatus;
  /** Set until it is resumed, also when it has ended meanwhile. */
  paused: boolean;
  total: number;
  completed: number;
  creditsUsed: number;
  createdAt: Date;
  finishedAt: Date | null;
  expiresAt: Date;
  error: string | null;
  warning: string | null;
  originUrl: string | null;
  wireOptions: unknown;
  /** Zero data retention: nothing of it may be kept beyond an answer. */
  zdr: boolean;
  /** Tokens that models used for it. */
  tokens: number;
  /** The job for which it fetches pages; null: it is a client's own. */
  parent: Uuid | null;
  /** While it runs: its hosts that are not treated as their settings allow, worst first; null: none. */
  throttled: ThrottledHost[] | null;
}

export interface ThrottledHost {
  host: string;
  state: HostState;
  /** Page starts a second; null = unlimited. */
  pagesPerSecond: number | null;
  /** ISO 8601, as are all times here. */
  since: string;
  /** null: not known. */
  until: string | null;
  /** The newest; its URL is for the eyes of its team only. */
  reason: HostReason | null;
}

/** An agent's run in the list of them. */
export interface AgentRun extends Pick<JobView, 'job' | 'status' | 'createdAt' | 'originUrl' | 'wireOptions'> {
  origin: string | null;
  integration: string | null;
}

export interface PageRow {
  /** 1-based place in the job's result list. */
  ord: number;
  item: number;
  url: string;
  /** Size of the uncompressed JSON. */
  bytes: number;
  /** Exactly one of the two: key of the packed document in the blob store, or the packed document itself. */
  blob: string | null;
  inline: Buffer | null;
}

/** Rows looked at in one go; more are read only while bytes are left. */
const PAGES_PER_READ = 1_000;
const TOMBSTONE_DAYS = 7;
const MAX_LIFE_HOURS = 48;

const NEW_JOB_NO = `SELECT (((extract(epoch FROM now())::bigint / 86400 - 19723) << 40) | nextval('job_sequence'))::text AS job_no,
  (extract(epoch FROM now()) * 1000)::float8 AS now_ms`;

const INSERT_JOB = `INSERT INTO job (job_no, id, team_id, kind, status, created_at, expires_at, origin_url, options, total,
    completed, credits, zdr, shards, seeds, parent)
  VALUES ($1, $2, $3, $4, 'scraping', to_timestamp($5::float8 / 1000), to_timestamp($5::float8 / 1000) + $6 * interval '1 hour',
    $7, $8, $9, 0, 0, $10, 1, $9, $11)`;

/** Fails with `FENCED` when the id is taken. */
const INSERT_JOB_ID = `WITH inserted AS (INSERT INTO job_id (id, job_no, team_id, kind, expires_at)
    VALUES ($1, $2, $3, $4, now() + $5 * interval '1 hour' + interval '${TOMBSTONE_DAYS} days') ON CONFLICT (id) DO NOTHING RETURNING 1)
  SELECT 1 / count(*) FROM inserted`;

const STARTED_CHILD = `SELECT r.id AS job, r.job_no AS "jobNo", r.kind, c.body FROM job_id r LEFT JOIN cmd_outbox c ON c.id = r.id
  WHERE r.id = $1`;
const ZDR_OF = 'SELECT zdr FROM job WHERE job_no = (SELECT job_no FROM job_id WHERE id = $1)';
const RUNNING_CHILDREN = `SELECT id FROM job WHERE team_id = $1 AND status = 'scraping' AND parent = $2`;

const PAGES = `SELECT ord, item, url, bytes, blob, inline FROM (
    SELECT ord, item, url, bytes, blob, inline, sum(bytes) OVER (ORDER BY ord) AS upto FROM page
    WHERE job_no = $1 AND shard = 0 AND ord > $2 ORDER BY ord LIMIT $3) p
  WHERE upto <= $4 OR upto = bytes ORDER BY ord`;

/** The actor of a host has the last word: a host that the job calls slow may be open again. */
const THROTTLED = `SELECT jsonb_agg(jsonb_build_object('host', h.host, 'state', h.state, 'pagesPerSecond', h.rate, 'since', h.since,
      'until', h.until, 'reason', h.last->0) ORDER BY array_position('{down,held,paused,slowed}'::text[], h.state), h.host)
    FROM host h WHERE h.host = ANY(ARRAY(SELECT jsonb_array_elements_text(slow_hosts))) AND h.state <> 'open'`;

const VIEW = `SELECT id AS job, job_no AS "jobNo", team_id AS team, kind, status, paused, total, completed,
    credits AS "creditsUsed", created_at AS "createdAt", finished_at AS "finishedAt", expires_at AS "expiresAt", error, warning,
    origin_url AS "originUrl", options->'wire' AS "wireOptions", zdr, tokens::float8 AS tokens, parent,
    CASE WHEN status = 'scraping' AND slow_hosts <> '[]' THEN (${THROTTLED}) END AS throttled
  FROM job`;

const FIND_JOB = `${VIEW} WHERE job_no = (SELECT r.job_no FROM job_id r WHERE r.id = $1)
  AND parent IS NULL AND (status = 'scraping' OR expires_at > now())`;

const TOMBSTONE = `SELECT r.team_id AS team, r.kind FROM job_id r LEFT JOIN job j ON j.job_no = r.job_no
  WHERE r.id = $1 AND j.parent IS NULL`;

const ACTIVE_JOBS = `SELECT v.*, ARRAY[${timeKey('v."createdAt"')}, v."jobNo"::text] AS key FROM (${VIEW}
    WHERE team_id = $1 AND kind = $2 AND status = 'scraping' AND parent IS NULL AND (created_at, job_no) < (${keyTime('$3')}, $4::bigint)
    ORDER BY created_at DESC, job_no DESC OFFSET $5 LIMIT $6) v
  ORDER BY v."createdAt" DESC, v."jobNo" DESC`;

/** Runs of one millisecond are never parted: it is the cursor of the list. */
const AGENT_RUNS = `WITH newest AS (
    SELECT id AS job, status, created_at AS "createdAt", origin_url AS "originUrl", options->'wire' AS "wireOptions",
      options->>'origin' AS origin, options->>'integration' AS integration
    FROM job WHERE team_id = $1 AND kind = 'agent' AND created_at < $2 AND (status = 'scraping' OR expires_at > now())
    ORDER BY created_at DESC FETCH FIRST $3 ROWS WITH TIES)
  SELECT n.*, EXISTS (SELECT FROM job WHERE team_id = $1 AND kind = 'agent' AND (status = 'scraping' OR expires_at > now())
    AND created_at < (SELECT min("createdAt") FROM newest)) AS "hasMore"
  FROM newest n ORDER BY "createdAt" DESC, job`;

const ERRORS = `SELECT job_no AS "jobNo", id, at, url, code, message, ARRAY[${timeKey('at')}, id::text] AS key FROM job_error
  WHERE job_no = $1 AND (at, id) > (${keyTime('$2')}, $3::uuid) ORDER BY at, id OFFSET $4 LIMIT $5`;

const BLOCKED = `SELECT url, ARRAY[${timeKey('at')}, item::text] AS key FROM url_outcome
  WHERE job_no = $1 AND outcome = 'robots' AND (at, item) > (${keyTime('$2')}, $3::bigint) ORDER BY at, item OFFSET $4 LIMIT $5`;

const TAKE_COMMANDS = `UPDATE cmd_outbox c SET tries = c.tries + 1,
    next_at = now() + CASE WHEN c.tries < 6 THEN interval '10 seconds' ELSE interval '1 minute' END
  FROM (SELECT id FROM cmd_outbox WHERE next_at <= now() AND created_at <= now() - $1::float8 * interval '1 millisecond'
    ORDER BY next_at LIMIT $2 FOR UPDATE SKIP LOCKED) due
  WHERE c.id = due.id RETURNING c.id, c.subject, c.body`;

const INSERT_START = `INSERT INTO job_start (job_no, envelope) VALUES ($1, convert_to($2, 'UTF8'))`;

const BEGIN: pg.QueryConfig = { text: 'BEGIN' };

const LAST_PAGE = `SELECT ord FROM page WHERE job_no = $1 AND shard = 0 ORDER BY ord DESC LIMIT 1`;

export interface JobError {
  jobNo: JobNo;
  id: Uuid;
  at: Date;
  url: string;
  code: string;
  message: string;
}

export class JobRepository {
  constructor(
    private readonly pool: pg.Pool,
    private readonly options: { resultTtlHours: number },
  ) {}

  /**
   * Records the job and its Start command; both exist or neither. Until the actor has committed its receipt the
   * command is found by `takeCommands` and published again.
   * @throws TroupeError 409 when the idempotency key was used in the last 24 h.
   */
  async create(input: NewJob): Promise<{ job: Uuid; jobNo: JobNo; command: RecordedCommand }> {
    const { ids, command, statements } = await this.prepare(input, randomUUID(), null);
    const key = input.idempotencyKey === null ? [] : [claimKey(input.team, input.idempotencyKey, ids.job)];
    const isNew = await this.commit((client) => commitAll(client, [BEGIN, ...key, ...statements]));
    if (!isNew) throw keyUsed();
    return { job: ids.job, jobNo: ids.jobNo, command };
  }

  /**
   * Records a child and its Start command, once: a second call for the same place gets the job that is there, however
   * it was asked for. The command is null when the child has begun.
   * @throws TroupeError when the parent has ended, or its end is recorded
   */
  async createChild(child: NewChild): Promise<{ child: ChildJob; command: RecordedCommand | null }> {
    const { id: parent } = parseActorKey(child.parent);
    const job = childJobOf(parent, child.nth);
    const { rows } = await this.pool.query<{ zdr: boolean }>(ZDR_OF, [parent]);
    const wanted = { originUrl: null, wireOptions: null, origin: null, integration: null, idempotencyKey: null };
    const input: NewJob = { ...child, ...wanted, zdr: rows[0]?.zdr ?? false };
    const { ids, command, statements } = await this.prepare(input, job, parent);
    const isNew = await this.commit(async (client) => {
      if (!(await beginWithParent(client, child.parent))) throw parentEnded();
      await commitAll(client, statements);
    });
    return isNew ? { child: { job, jobNo: ids.jobNo, kind: child.kind }, command } : this.startedChild(job);
  }

  /** Children that still fetch pages for a job. */
  async runningChildren(team: Uuid, parent: Uuid): Promise<Uuid[]> {
    const { rows } = await this.pool.query<{ id: Uuid }>(RUNNING_CHILDREN, [team, parent]);
    return rows.map(({ id }) => id);
  }

  /** A client's job while it runs or its results are kept, else null (see `tombstone`). */
  async find(id: Uuid): Promise<JobView | null> {
    const { rows } = await this.pool.query<JobView>({ name: 'job-read', text: FIND_JOB, values: [id] });
    return rows[0] ?? null;
  }

  /** Owner of the job that an id was: tells an expired job from an id that never existed. Kept 7 days beyond expiry. */
  async tombstone(id: Uuid): Promise<{ team: Uuid; kind: JobKind } | null> {
    const { rows } = await this.pool.query<{ team: Uuid; kind: JobKind }>(TOMBSTONE, [id]);
    return rows[0] ?? null;
  }

  /** Results after the first `skip`, until `limit` or `maxBytes` of JSON is reached; at least one if there is one. */
  async pages(jobNo: JobNo, skip: number, limit: number | null, maxBytes: number): Promise<PageRow[]> {
    const pages: PageRow[] = [];
    let bytesLeft = maxBytes;
    for (;;) {
      const wanted = Math.min(PAGES_PER_READ, (limit ?? Infinity) - pages.length);
      const rows = await this.readPages(jobNo, skip + pages.length, wanted, bytesLeft);
      const fitting = pages.length > 0 && (rows[0]?.bytes ?? 0) > bytesLeft ? [] : rows;
      pages.push(...fitting);
      bytesLeft -= fitting.reduce((sum, page) => sum + page.bytes, 0);
      if (fitting.length < wanted || pages.length === limit) return pages;
    }
  }

  /** How many results the job has now. */
  async resultCount(jobNo: JobNo): Promise<number> {
    const { rows } = await this.pool.query<{ ord: string }>({ name: 'last-page', text: LAST_PAGE, values: [jobNo] });
    return Number(rows[0]?.ord ?? 0);
  }

  /** The page that `scrapeIdOf(jobNo, item)` names, with its owner; null when unknown or expired. */
  async page(jobNo: JobNo, item: number): Promise<(PageRow & { team: Uuid }) | null> {
    const { rows } = await this.pool.query<PageRecord & { team_id: Uuid }>(
      `SELECT p.ord, p.item, p.url, p.bytes, p.blob, p.inline, j.team_id FROM page p JOIN job j ON j.job_no = p.job_no
       WHERE p.job_no = $1 AND p.shard = 0 AND p.item = $2 AND NOT j.zdr AND j.parent IS NULL
         AND (j.status = 'scraping' OR j.expires_at > now())`,
      [jobNo, item],
    );
    return rows[0] === undefined ? null : { ...toPage(rows[0]), team: rows[0].team_id };
  }

  /** Failed pages, oldest first. */
  errors(jobNo: JobNo, range: ListRange): Promise<ListPage<JobError>> {
    return readPage(this.pool, { text: ERRORS, values: [jobNo], start: [BEFORE_ALL, NO_ID] }, range);
  }

  /** URLs that robots.txt forbids, in the order in which that was found. */
  robotsBlocked(jobNo: JobNo, range: ListRange): Promise<ListPage<{ url: string }>> {
    return readPage(this.pool, { text: BLOCKED, values: [jobNo], start: [BEFORE_ALL, '-1'] }, range);
  }

  /** Running jobs of a team, newest first. */
  active(team: Uuid, kind: JobKind, range: ListRange): Promise<ListPage<JobView>> {
    return readPage(this.pool, { text: ACTIVE_JOBS, values: [team, kind], start: [AFTER_ALL, '0'] }, range);
  }

  /** Runs of agents that were started before `before`, newest first: `limit` or a few more of the same millisecond. */
  async agentRuns(team: Uuid, before: Date, limit: number): Promise<{ runs: AgentRun[]; hasMore: boolean }> {
    const { rows } = await this.pool.query<AgentRun & { hasMore: boolean }>(AGENT_RUNS, [team, before, limit]);
    return { runs: rows.map(({ hasMore: _, ...run }) => run), hasMore: rows[0]?.hasMore ?? false };
  }

  /**
   * Commands that their actor has not taken in yet, for one more try; no other sweep gets them for ten seconds, after six tries
   * for a minute. A stream that acknowledged a command may still lose it, so it stays until the turn that takes it in deletes
   * it (`command.delete`).
   */
  async takeCommands(olderThanMs: number, most: number): Promise<DueCommand[]> {
    const { rows } = await this.pool.query<{ id: Uuid; subject: string; body: Buffer }>(TAKE_COMMANDS, [
      olderThanMs,
      most,
    ]);
    return rows.map(({ id, subject, body }) => ({ id, subject, envelope: envelopeIn(body) }));
  }

  /** Statements that record a job: sent behind BEGIN in one write, so that it takes one round trip (ADR 0023). */
  private async prepare(input: NewJob, job: Uuid, parent: Uuid | null) {
    const { rows } = await this.pool.query<{ job_no: JobNo; now_ms: number }>(NEW_JOB_NO);
    const { job_no: jobNo, now_ms: nowMs } = rows[0]!;
    const ids: NewIds = { job, jobNo, createdMs: Math.floor(nowMs) };
    const command: RecordedCommand = { id: job, envelope: startEnvelope(input, ids) };
    const statements = [
      ...this.jobInserts(input, ids, parent),
      ...(input.kind === 'batch' ? [seedsInsert(jobNo, 0, input.urls)] : []),
      { text: INSERT_START, values: [jobNo, JSON.stringify(command.envelope)] },
      commandInsert(command),
    ];
    return { ids, command, statements };
  }

  private jobInserts(input: NewJob, { job, jobNo, createdMs }: NewIds, parent: Uuid | null): pg.QueryConfig[] {
    const { team, kind, originUrl, wireOptions, origin, integration, keyId, zdr } = input;
    const ttlHours = this.options.resultTtlHours;
    const total = input.kind === 'batch' ? input.urls.length : 0;
    const options = storableJson({ wire: wireOptions ?? null, origin, integration, keyId });
    const shownUrl = originUrl === null ? null : storable(originUrl);
    return [
      { text: INSERT_JOB_ID, values: [job, jobNo, team, kind, MAX_LIFE_HOURS + ttlHours] },
      {
        text: INSERT_JOB,
        values: [jobNo, job, team, kind, createdMs, ttlHours, shownUrl, options, total, zdr, parent],
      },
    ];
  }

  /** False: a fence in the statements has kept them from being committed. */
  private async commit(write: (client: pg.PoolClient) => Promise<void>): Promise<boolean> {
    try {
      await withConnection(this.pool, write);
      return true;
    } catch (error) {
      if (isFenced(error)) return false;
      throw error;
    }
  }

  private async startedChild(job: Uuid): Promise<{ child: ChildJob; command: RecordedCommand | null }> {
    const { rows } = await this.pool.query<{ job: Uuid; jobNo: JobNo; kind: PageJobKind; body: Buffer | null }>(
      STARTED_CHILD,
      [job],
    );
    const { body, ...child } = rows[0]!;
    const command = body === null ? null : { id: job, envelope: JSON.parse(body.toString('utf8')) as Envelope };
    return { child, command };
  }

  private async readPages(jobNo: JobNo, skip: number, limit: number, maxBytes: number): Promise<PageRow[]> {
    const { rows } = await this.pool.query<PageRecord>({
      name: 'page-read',
      text: PAGES,
      values: [jobNo, skip, limit, maxBytes],
    });
    return rows.map(toPage);
  }
}

/** A command that is due once more. */
export interface DueCommand {
  id: Uuid;
  /** Subject of its actor's mailbox. */
  subject: string;
  /** null: it cannot be read. */
  envelope: Envelope | null;
}

interface NewIds {
  job: Uuid;
  jobNo: JobNo;
  createdMs: number;
}

type StartBase = Pick<Start, 'type' | 'job' | 'jobNo' | 'createdMs' | 'team' | 'keyId'>;

interface PageRecord {
  ord: string;
  item: string;
  url: string;
  bytes: number;
  blob: string | null;
  inline: Buffer | null;
}

/** null: it is no envelope. */
function envelopeIn(body: Buffer): Envelope | null {
  try {
    return JSON.parse(body.toString('utf8')) as Envelope;
  } catch {
    return null;
  }
}

function parentEnded(): TroupeError {
  return new TroupeError('BAD_REQUEST', 'The job has ended: no pages are fetched for it any more');
}

function startEnvelope(input: NewJob, ids: NewIds): Envelope {
  const base: StartBase = { type: 'Start', ...ids, team: input.team, keyId: input.keyId };
  const envelope = commandEnvelope(`start.${ids.job}`, actorKey(input.kind, ids.job), startOf(input, base));
  return input.trace === undefined ? envelope : { ...envelope, trace: input.trace };
}

function startOf(input: NewJob, base: StartBase): Start {
  switch (input.kind) {
    case 'crawl':
      return { ...base, kind: input.kind, spec: input.spec };
    case 'batch':
      return { ...base, kind: input.kind, spec: input.spec, total: input.urls.length };
    case 'extract':
      return { ...base, kind: input.kind, spec: input.spec };
    case 'agent':
      return { ...base, kind: input.kind, spec: input.spec };
  }
}

function toPage(row: PageRecord): PageRow {
  return {
    ord: Number(row.ord),
    item: Number(row.item),
    url: row.url,
    bytes: row.bytes,
    blob: row.blob,
    inline: row.inline,
  };
}
