/**
 * The actors' store on Postgres. A turn is one transaction of one or two round trips: fence and questions, if there are
 * any, then everything that was decided and COMMIT, which commits nothing once a statement before it has failed. Turns
 * that touch no job share one with those of other partitions. Needs nothing but a pool from `createPool` (or a data source's).
 */
import {
  FencedError,
  type ActorRow,
  type ActorStore,
  type OutboxPayload,
  type OutboxRow,
  type TimerRow,
  type TurnAnswers,
  type TurnHead,
  type TurnWrites,
} from '@troupe/actors';
import {
  fingerprintFromInt64,
  timeoutSignal,
  type ActorKey,
  type Envelope,
  type FrontierRow,
  type HistoryRange,
  type JobMemory,
  type JobNo,
  type LaneRow,
  type Sender,
} from '@troupe/contracts';
import type pg from 'pg';
import { withConnection } from '../pool.js';
import { ChangeHistory } from '../repositories/change-history.js';
import { admissionQueries, distinctProbes, readAdmission } from './admission.js';
import { RequestGroups } from './request-groups.js';
import { endActorQueries, type EndedActor } from './end-actor.js';
import type { ResultTerms } from './result-terms.js';
import { INSERT_FRONTIER, RowWriter, type FrontierInsert } from './row-writes.js';
import { bulkQuery, commitAll, groupBy, runAll } from './statement.js';
import { building, mapErrors } from './store-errors.js';
import { kindOf, lockActors, mailQueries, updateActors, type OwnedTurn } from './turn-writes.js';

export interface PgActorStoreOptions {
  /** How long results stay readable after the end of a job. */
  resultTtlHours: number;
  /** How long those of jobs with zero data retention can be read. @default 30 */
  zeroRetentionGraceMinutes?: number;
}

/**
 * Every statement of a turn reaches its rows by whole primary keys, so nested loops over index scans are the right
 * plan at any size; the planner, which cannot foresee that all but one partition are skipped, would choose full scans.
 * A process that stands still in the middle of a turn must not keep its rows from the next owner: it loses its
 * transaction. One that has thousands of answers to read does not stand still.
 */
const beginTurn = (questions: number): pg.QueryConfig => ({
  text: `BEGIN; SET LOCAL statement_timeout = 10000;
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_MS + IDLE_MS_OF_QUESTIONS * Math.floor(questions / MANY_QUESTIONS)};
  SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_seqscan = off; SET LOCAL jit = off`,
});
const PROBE_MS = 1000;
const IDLE_MS = 2000;
const IDLE_MS_OF_QUESTIONS = 1000;
const MANY_QUESTIONS = 5000;

/** No page waits for the pools of hosts and teams: jobs ask ahead. */
const TURN_PACE_MS = 40;

/** An owner that another one followed within ten minutes, without having released the partition, was lost. */
const MINT_EPOCH = `INSERT INTO part_lease (part, epoch, owner, taken_at, released) VALUES ($1, 1, $2, now(), false)
  ON CONFLICT (part) DO UPDATE SET epoch = part_lease.epoch + 1, owner = EXCLUDED.owner, taken_at = now(), released = false,
    lost = CASE WHEN part_lease.released OR part_lease.taken_at < now() - interval '10 minutes' THEN 0 ELSE part_lease.lost + 1 END
  RETURNING epoch`;

const RELEASE_PARTITION = `WITH released AS (
    UPDATE part_lease SET released = true WHERE part = $1 AND epoch = $2 RETURNING part)
  DELETE FROM turn_mark m USING released r WHERE m.part = r.part`;

const MARK = `INSERT INTO turn_mark (part, key, n) VALUES ($1, $2, $3)
  ON CONFLICT (part, key) DO UPDATE SET n = EXCLUDED.n`;

/** The planner cannot foresee that few rows are asked for, and would read all there are. */
const ACTIVATE = `WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[]) AS x(key, kind, part, epoch)),
  fresh AS (
    INSERT INTO actor (key, part, kind, epoch, rev, state, terminal, updated_at)
    SELECT key, part, kind, epoch, 0, NULL, false, now() FROM asked
    ON CONFLICT DO NOTHING RETURNING key, epoch, rev, state, terminal),
  claimed AS (
    UPDATE actor a SET epoch = asked.epoch FROM asked
    WHERE a.key = ANY($1::text[]) AND a.key = asked.key AND a.epoch <= asked.epoch
    RETURNING a.key, a.epoch, a.rev, a.state, a.terminal, (extract(epoch FROM now() - a.updated_at) * 1000)::float8)
  SELECT *, 0::float8 AS age FROM fresh UNION ALL SELECT * FROM claimed`;

const FRONTIER_COLUMNS = `f.depth, f.seq, f.host, f.url, f.h, f.from_item, f.attempt, f.st, f.browser, f.tries,
  greatest(0, extract(epoch FROM f.not_before - now()) * 1000)::float8 AS wait_ms`;

const LOAD_LANES = `SELECT lane, host, slot, slot_gen, token, token_gen, items, depths, run FROM lane WHERE job_no = $1 ORDER BY lane`;

const LOAD_RUNNING = `SELECT DISTINCT ${FRONTIER_COLUMNS} FROM frontier f
  JOIN unnest($2::int[], $3::bigint[]) AS x(depth, seq) ON f.depth = x.depth AND f.seq = x.seq
  WHERE f.job_no = $1 AND f.shard = 0 AND f.st = 1 ORDER BY f.depth, f.seq`;

/** An item that says it is in a lane but is in none ($3: the items of all lanes) is ready as well. */
const LOAD_READY = `SELECT ${FRONTIER_COLUMNS} FROM frontier f
  WHERE f.job_no = $1 AND f.shard = 0 AND (f.st = 0 OR f.seq <> ALL($3::bigint[])) ORDER BY f.depth, f.seq LIMIT $2`;

const COUNT_OPEN = `SELECT count(*)::int AS open FROM (
  SELECT 1 FROM frontier WHERE job_no = $1 AND shard = 0 LIMIT $2) AS counted`;

const LOAD_TIMERS = `SELECT key, name, (extract(epoch FROM due_at - now()) * 1000)::float8 AS due FROM actor_timer
  WHERE part = $1 AND due_at <= now() + $2::float8 * interval '1 millisecond' ORDER BY due_at`;

const LOAD_OUTBOX = `SELECT id, from_key, to_key, n, body FROM outbox
  WHERE part = $1 AND created_at <= now() - $2::float8 * interval '1 millisecond' ORDER BY id LIMIT $3`;

const LOAD_OPEN_PAIRS = `SELECT id, from_key, to_key, n, body FROM outbox
  WHERE part = $1 AND to_key IS NOT NULL AND created_at <= now() - $2::float8 * interval '1 millisecond' AND id > $3
  ORDER BY id LIMIT $4`;

const LOAD_PAIRS = `SELECT body FROM outbox WHERE to_key = $1 AND from_key = $2 AND n > $3 ORDER BY n`;

const SWEEP_PAIRS = `DELETE FROM outbox o USING inbox_cursor c
  WHERE o.part = $1 AND o.to_key = c.to_key AND o.from_key = c.from_key AND o.n <= c.n`;

interface FrontierRecord {
  depth: number;
  seq: string;
  host: string;
  url: string;
  h: string | null;
  from_item: string | null;
  attempt: number;
  st: 0 | 1;
  browser: boolean;
  tries: number;
  wait_ms: number | null;
}

interface OutboxRecord {
  id: string;
  from_key: ActorKey;
  to_key: ActorKey | null;
  n: string | null;
  body: Buffer;
}

interface LaneRecord {
  lane: string;
  host: string;
  slot: number;
  slot_gen: string;
  token: number;
  token_gen: string;
  items: string[];
  depths: number[];
  run: string | null;
}

interface CursorRow {
  to: ActorKey;
  from: Sender;
  n: number;
}

/** The claim of an owner on an actor. */
interface Claim {
  key: ActorKey;
  part: number;
  epoch: number;
}

const nameOf = ({ key, epoch }: Pick<Claim, 'key' | 'epoch'>): string => `${key} ${epoch}`;

export class PgActorStore implements ActorStore {
  private readonly rows: RowWriter;
  private readonly terms: ResultTerms;
  private readonly histories: ChangeHistory;
  private readonly turns = new RequestGroups(async (turns: readonly OwnedTurn[]) => {
    await this.write(turns);
    return turns.map(() => undefined);
  }, TURN_PACE_MS);
  private readonly activations = new RequestGroups((asks: readonly Claim[][]) => this.activateAll(asks));
  private readonly cursors = new RequestGroups((asks: readonly ActorKey[][]) => this.readCursors(asks));

  constructor(
    private readonly pool: pg.Pool,
    { resultTtlHours, zeroRetentionGraceMinutes = 30 }: PgActorStoreOptions,
  ) {
    this.terms = { resultTtlHours, zeroRetentionGraceMinutes };
    this.rows = new RowWriter(this.terms);
    this.histories = new ChangeHistory(pool);
  }

  async mintEpoch(part: number, owner: string): Promise<number> {
    const { rows } = await this.pool.query<{ epoch: string }>(MINT_EPOCH, [part, owner]);
    return Number(rows[0]!.epoch);
  }

  async releasePartition(part: number, epoch: number): Promise<void> {
    await this.pool.query(RELEASE_PARTITION, [part, epoch]);
  }

  async lostOwners(part: number, epoch: number): Promise<number> {
    const text = 'SELECT lost FROM part_lease WHERE part = $1 AND epoch = $2';
    const { rows } = await this.pool.query<{ lost: number }>(text, [part, epoch]);
    return rows[0]?.lost ?? 0;
  }

  async loadMarks(part: number): Promise<Map<ActorKey, number>> {
    const text = 'SELECT key, n FROM turn_mark WHERE part = $1';
    const { rows } = await this.pool.query<{ key: ActorKey; n: number }>(text, [part]);
    return new Map(rows.map(({ key, n }) => [key, n]));
  }

  async mark(part: number, key: ActorKey, n: number | null): Promise<void> {
    if (n === null) await this.pool.query('DELETE FROM turn_mark WHERE part = $1 AND key = $2', [part, key]);
    else await this.pool.query(MARK, [part, key, n]);
  }

  endActor(part: number, epoch: number, ended: EndedActor): Promise<void> {
    const statements = [beginTurn(0), ...endActorQueries({ part, epoch, ...ended }, this.terms)];
    return mapErrors(withConnection(this.pool, (client) => commitAll(client, statements)));
  }

  async probe(): Promise<void> {
    const timeout = timeoutSignal(PROBE_MS);
    const late = new Promise<never>((_, reject) => {
      timeout.addEventListener('abort', () => reject(new Error(`Postgres did not answer within ${PROBE_MS} ms`)));
    });
    await Promise.race([this.pool.query('SELECT 1'), late]);
  }

  async activate(part: number, epoch: number, keys: ActorKey[]): Promise<ActorRow[]> {
    const distinct = [...new Set(keys)].sort();
    if (distinct.length === 0) return [];
    const rows = await mapErrors(this.activations.join(distinct.map((key) => ({ key, part, epoch }))));
    const lost = distinct.filter((_, i) => rows[i] === null);
    if (lost.length > 0) throw new FencedError(`a later epoch than ${epoch} owns ${lost.join(', ')}`);
    return rows.filter((row) => row !== null);
  }

  loadCursors(keys: ActorKey[]): Promise<CursorRow[]> {
    return mapErrors(this.cursors.join(keys));
  }

  loadJobMemory(jobNo: JobNo, readyLimit: number, history?: HistoryRange, countUpTo?: number): Promise<JobMemory> {
    return mapErrors(this.readJobMemory(jobNo, readyLimit, history, countUpTo));
  }

  private async readJobMemory(
    jobNo: JobNo,
    readyLimit: number,
    history?: HistoryRange,
    countUpTo?: number,
  ): Promise<JobMemory> {
    const lanes = (await this.pool.query<LaneRecord>(LOAD_LANES, [jobNo])).rows.map(toLane);
    const items = lanes.flatMap((lane) => lane.items);
    const running = await this.pool.query<FrontierRecord>(LOAD_RUNNING, [
      jobNo,
      items.map(({ depth }) => depth),
      items.map(({ item }) => item),
    ]);
    const ready = await this.pool.query<FrontierRecord>(LOAD_READY, [jobNo, readyLimit, items.map(({ item }) => item)]);
    const isCut = countUpTo !== undefined && ready.rows.length >= readyLimit;
    return {
      lanes,
      running: running.rows.map(toFrontierRow),
      ready: ready.rows.map(toFrontierRow),
      ...(isCut ? { open: await this.countOpen(jobNo, countUpTo) } : {}),
      ...(history === undefined ? {} : { history: await this.histories.pagesOf(history) }),
    };
  }

  private async countOpen(jobNo: JobNo, most: number): Promise<number> {
    return (await this.pool.query<{ open: number }>(COUNT_OPEN, [jobNo, most])).rows[0]!.open;
  }

  async commitTurn(head: TurnHead, decide: (answers: TurnAnswers) => TurnWrites): Promise<void> {
    const asks = head.candidates.length > 0 || head.seeds.length > 0;
    if (asks) return mapErrors(withConnection(this.pool, (client) => this.askThenWrite(client, head, decide)));
    const turn = { head, writes: decide(noAnswers()) };
    return mapErrors(turn.writes.rows.length > 0 ? this.write([turn]) : this.turns.join(turn));
  }

  async loadTimers(part: number, horizonMs: number): Promise<TimerRow[]> {
    const { rows } = await this.pool.query<{ key: ActorKey; name: string; due: number }>(LOAD_TIMERS, [
      part,
      horizonMs,
    ]);
    return rows.map((row) => ({ key: row.key, name: row.name, dueInMs: row.due }));
  }

  async loadOutbox(part: number, minAgeMs: number, limit: number): Promise<OutboxRow[]> {
    return (await this.pool.query<OutboxRecord>(LOAD_OUTBOX, [part, minAgeMs, limit])).rows.map(toOutboxRow);
  }

  async loadOpenPairs(part: number, minAgeMs: number, after: number, limit: number): Promise<OutboxRow[]> {
    const values = [part, minAgeMs, after, limit];
    return (await this.pool.query<OutboxRecord>(LOAD_OPEN_PAIRS, values)).rows.map(toOutboxRow);
  }

  async loadPairs(to: ActorKey, from: Sender, after: number): Promise<Envelope[]> {
    const { rows } = await mapErrors(this.pool.query<{ body: Buffer }>(LOAD_PAIRS, [to, from, after]));
    return rows.flatMap(({ body }) => {
      const payload = parsePayload(body);
      return payload.kind === 'actor' ? [payload.envelope] : [];
    });
  }

  async deleteOutbox(part: number, ids: number[]): Promise<void> {
    if (ids.length === 0) return;
    await this.pool.query({
      name: 'outbox-delete',
      text: 'DELETE FROM outbox WHERE part = $1 AND id = ANY($2::bigint[])',
      values: [part, ids],
    });
  }

  async sweepPairs(part: number): Promise<void> {
    await this.pool.query(SWEEP_PAIRS, [part]);
  }

  /** Gives each owner the rows of its claims, null for those it may not have. Runs twice, to see rows that another owner is making. */
  private async activateAll(asks: readonly Claim[][]): Promise<(ActorRow | null)[][]> {
    const claims = asks.flat().sort((a, b) => (a.key < b.key ? -1 : 1));
    const found = new Map<string, ActorRow>();
    for (let attempt = 0; attempt < 2 && found.size < claims.length; attempt++) {
      const missing = claims.filter((claim) => !found.has(nameOf(claim)));
      for (const { epoch, ...row } of await this.claim(missing)) found.set(nameOf({ key: row.key, epoch }), row);
    }
    return asks.map((ask) => ask.map((claim) => found.get(nameOf(claim)) ?? null));
  }

  private async claim(claims: readonly Claim[]): Promise<(ActorRow & { epoch: number })[]> {
    const { rows } = await this.pool.query<{
      key: ActorKey;
      epoch: string;
      rev: string;
      state: unknown;
      terminal: boolean;
      age: number;
    }>({
      name: 'actor-activate',
      text: ACTIVATE,
      values: [
        claims.map(({ key }) => key),
        claims.map(({ key }) => kindOf(key)),
        claims.map(({ part }) => part),
        claims.map(({ epoch }) => epoch),
      ],
    });
    return rows.map(({ age, ...row }) => ({ ...row, epoch: Number(row.epoch), rev: Number(row.rev), ageMs: age }));
  }

  private async readCursors(asks: readonly ActorKey[][]): Promise<CursorRow[][]> {
    const { rows } = await this.pool.query<{ to_key: ActorKey; from_key: Sender; n: string }>({
      name: 'cursor-load',
      text: 'SELECT to_key, from_key, n FROM inbox_cursor WHERE to_key = ANY($1::text[])',
      values: [asks.flat()],
    });
    const found = groupBy(
      rows.map((row) => ({ to: row.to_key, from: row.from_key, n: Number(row.n) })),
      ({ to }) => to,
    );
    return asks.map((keys) => keys.flatMap((key) => found.get(key) ?? []));
  }

  /** Questions are answered under the fence: a former owner must not mark URLs as seen. */
  private async askThenWrite(
    client: pg.PoolClient,
    head: TurnHead,
    decide: (answers: TurnAnswers) => TurnWrites,
  ): Promise<void> {
    const probes = distinctProbes(head.candidates);
    const questions = [beginTurn(probes.length), lockActors(head), ...admissionQueries(probes, head.seeds)];
    const [, , ...results] = await runAll(client, questions);
    const { answers, frontier } = readAdmission(probes, head.seeds, results);
    await commitAll(client, this.statements([{ head, writes: decide(answers) }], frontier));
  }

  private async write(turns: readonly OwnedTurn[]): Promise<void> {
    const statements = [beginTurn(0), ...this.statements(turns, [])];
    await withConnection(this.pool, (client) => commitAll(client, statements));
  }

  /** @throws ContentError when no statement can be made of a turn */
  private statements(turns: readonly OwnedTurn[], frontier: FrontierInsert[]): pg.QueryConfig[] {
    return building(() => [
      updateActors(turns),
      ...(frontier.length > 0 ? [bulkQuery(INSERT_FRONTIER, frontier)] : []),
      ...this.rows.queries(turns.flatMap(({ writes }) => writes.rows)),
      ...mailQueries(turns),
    ]);
  }
}

function noAnswers(): TurnAnswers {
  return { admitted: new Map(), seeds: new Map() };
}

function parsePayload(body: Buffer): OutboxPayload {
  return JSON.parse(body.toString('utf8')) as OutboxPayload;
}

function toOutboxRow(row: OutboxRecord): OutboxRow {
  return {
    id: Number(row.id),
    from: row.from_key,
    to: row.to_key,
    n: row.n === null ? null : Number(row.n),
    payload: parsePayload(row.body),
  };
}

function toLane(row: LaneRecord): LaneRow {
  return {
    lane: Number(row.lane),
    host: row.host,
    slot: { i: row.slot, gen: Number(row.slot_gen) },
    token: { i: row.token, gen: Number(row.token_gen) },
    items: row.items.map((item, i) => ({ item: Number(item), depth: row.depths[i]! })),
    run: row.run,
  };
}

function toFrontierRow(row: FrontierRecord): FrontierRow {
  return {
    depth: row.depth,
    item: Number(row.seq),
    host: row.host,
    url: row.url,
    h: row.h === null ? null : fingerprintFromInt64(BigInt(row.h)),
    parent: row.from_item === null ? null : Number(row.from_item),
    attempt: row.attempt,
    st: row.st,
    browser: row.browser,
    tries: row.tries,
    waitMs: row.wait_ms || null,
  };
}
