/** Writes of every turn, whatever its actors are: messages, cursors, timers, dead letters. */
import { actorSubject, parseActorKey, workSubject, type ActorKey } from '@troupe/contracts';
import type { OutboxPayload, TurnHead, TurnWrites } from '@troupe/actors';
import type pg from 'pg';
import {
  bulkQuery,
  jsonColumn,
  jsonTexts,
  lastByKey,
  storable,
  storableJson,
  storableText,
  type BulkStatement,
} from './statement.js';

/** The decisions of a turn, with the partition and the epoch in which it was computed. */
export interface OwnedTurn {
  head: Pick<TurnHead, 'part' | 'epoch' | 'fences'>;
  writes: TurnWrites;
}

type ActorWrite = TurnWrites['actors'][number] & { epoch: number };
type TimerWrite = TurnWrites['timers'][number] & { part: number };

/** SQLSTATE of a fence that did not match: its statement divides by zero, so that nothing issued behind it runs. */
export const FENCED = '22012';
const ALL_OR_ERROR = (rows: string, expected: string): string =>
  `SELECT 1 / (count(*) = ${expected})::int FROM ${rows}`;

/** The fence: matches only while each row has the revision and epoch under which the turn was computed. */
const UPDATE_ACTORS: BulkStatement<ActorWrite> = {
  name: 'actor-update',
  text: `WITH updated AS (UPDATE actor a SET rev = a.rev + 1, state = x.state::jsonb, terminal = x.terminal, updated_at = now()
    FROM unnest($1::text[], $2::bigint[], ${jsonTexts('$3')}, $4::boolean[], $5::bigint[]) AS x(key, rev, state, terminal, epoch)
    WHERE a.key = x.key AND a.rev = x.rev AND a.epoch = x.epoch RETURNING 1)
    ${ALL_OR_ERROR('updated', '$6')}`,
  columns: [(r) => r.key, (r) => r.rev, jsonColumn((r) => storableText(r.state)), (r) => r.terminal, (r) => r.epoch],
};

const LOCK_ACTORS: BulkStatement<TurnHead['fences'][number]> = {
  name: 'actor-lock',
  text: `WITH locked AS (SELECT FROM unnest($1::text[], $2::bigint[]) AS x(key, rev) JOIN actor a ON a.key = x.key
      WHERE a.rev = x.rev AND a.epoch = $3 ORDER BY a.key FOR UPDATE OF a)
    ${ALL_OR_ERROR('locked', '$4')}`,
  columns: [(r) => r.key, (r) => r.rev],
};

const INSERT_OUTBOX: BulkStatement<TurnWrites['outbox'][number] & { part: number }> = {
  name: 'outbox-insert',
  text: `INSERT INTO outbox (part, id, from_key, to_key, n, subject, body, created_at)
    SELECT part, id, from_key, to_key, n, subject, convert_to(body, 'UTF8'), now()
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], ${jsonTexts('$6')}, $7::int[])
      AS x(id, from_key, to_key, n, subject, body, part)`,
  columns: [
    (r) => r.id,
    (r) => r.from,
    (r) => r.to,
    (r) => r.n,
    (r) => subjectOf(r.payload),
    jsonColumn((r) => JSON.stringify(r.payload)),
    (r) => r.part,
  ],
};

const UPSERT_CURSORS: BulkStatement<TurnWrites['cursors'][number]> = {
  name: 'cursor-upsert',
  text: `INSERT INTO inbox_cursor (to_key, from_key, n) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
    ON CONFLICT (to_key, from_key) DO UPDATE SET n = greatest(inbox_cursor.n, EXCLUDED.n)`,
  columns: [(r) => r.to, (r) => r.from, (r) => r.n],
};

const UPSERT_TIMERS: BulkStatement<TimerWrite> = {
  name: 'timer-upsert',
  text: `INSERT INTO actor_timer (key, name, part, due_at)
    SELECT key, name, part, now() + in_ms * interval '1 millisecond'
    FROM unnest($1::text[], $2::text[], $3::float8[], $4::int[]) AS x(key, name, in_ms, part)
    ON CONFLICT (key, name) DO UPDATE SET part = EXCLUDED.part, due_at = EXCLUDED.due_at`,
  columns: [(r) => r.key, (r) => r.name, (r) => r.inMs, (r) => r.part],
};

const DELETE_TIMERS: BulkStatement<TimerWrite> = {
  name: 'timer-delete',
  text: `DELETE FROM actor_timer t USING unnest($1::text[], $2::text[]) AS x(key, name) WHERE t.key = x.key AND t.name = x.name`,
  columns: [(r) => r.key, (r) => r.name],
};

const INSERT_DEAD_LETTERS: BulkStatement<TurnWrites['deadLetters'][number] & { rev: number | null; part: number }> = {
  name: 'dead-letter-insert',
  text: `INSERT INTO dead_letter (at, part, key, type, envelope, error, actor_rev)
    SELECT now(), part, key, type, envelope::jsonb, error, rev
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::int[])
      AS x(key, type, envelope, error, rev, part)`,
  columns: [
    (r) => r.key,
    (r) => r.type,
    (r) => storableJson(r.envelope ?? null),
    (r) => storable(r.error),
    (r) => r.rev,
    (r) => r.part,
  ],
};

export function lockActors({ fences, epoch }: TurnHead): pg.QueryConfig {
  return bulkQuery(LOCK_ACTORS, sortedByKey(fences), epoch, fences.length);
}

export function updateActors(turns: readonly OwnedTurn[]): pg.QueryConfig {
  const actors = turns.flatMap(({ head: { epoch }, writes }) => writes.actors.map((actor) => ({ ...actor, epoch })));
  return bulkQuery(UPDATE_ACTORS, sortedByKey(actors), actors.length);
}

export function mailQueries(turns: readonly OwnedTurn[]): pg.QueryConfig[] {
  const queries: pg.QueryConfig[] = [];
  const add = <Row>(statement: BulkStatement<Row>, rows: readonly Row[]): void => {
    if (rows.length > 0) queries.push(bulkQuery(statement, rows));
  };
  const changes = inTheirPartition(turns, ({ timers }) => timers);
  const timers = lastByKey(changes, (timer) => `${timer.key} ${timer.name}`);
  const revs = new Map<ActorKey, number>(turns.flatMap(({ head }) => head.fences.map(({ key, rev }) => [key, rev])));
  add(
    INSERT_OUTBOX,
    inTheirPartition(turns, ({ outbox }) => outbox),
  );
  add(UPSERT_CURSORS, furthest(turns.flatMap(({ writes }) => writes.cursors)));
  add(
    UPSERT_TIMERS,
    timers.filter((timer) => timer.inMs !== null),
  );
  add(
    DELETE_TIMERS,
    timers.filter((timer) => timer.inMs === null),
  );
  add(
    INSERT_DEAD_LETTERS,
    inTheirPartition(turns, ({ deadLetters }) => deadLetters).map((letter) => ({
      ...letter,
      rev: revs.get(letter.key) ?? null,
    })),
  );
  return queries;
}

function inTheirPartition<Row>(
  turns: readonly OwnedTurn[],
  rowsOf: (writes: TurnWrites) => readonly Row[],
): (Row & { part: number })[] {
  return turns.flatMap(({ head: { part }, writes }) => rowsOf(writes).map((row) => ({ ...row, part })));
}

/** Locks are taken in one order everywhere, so that an owner and a zombie cannot deadlock. */
function sortedByKey<Row extends { key: ActorKey }>(rows: readonly Row[]): Row[] {
  return rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

function furthest(cursors: TurnWrites['cursors']): TurnWrites['cursors'] {
  const rising = cursors.toSorted((a, b) => a.n - b.n);
  return lastByKey(rising, (cursor) => `${cursor.to} ${cursor.from}`);
}

function subjectOf(payload: OutboxPayload): string {
  return payload.kind === 'actor' ? actorSubject(payload.envelope.to) : workSubject(payload.cls, payload.prio);
}

export const kindOf = (key: ActorKey): string => parseActorKey(key).kind;
