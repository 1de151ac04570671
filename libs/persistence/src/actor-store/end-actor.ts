/** The end of an actor whose messages cannot even become dead letters. Only our own texts are written, so nothing can be refused. */
import { actorSubject, isUuid, parseActorKey, type ActorKey } from '@troupe/contracts';
import type pg from 'pg';
import { failJobsText } from './fail-jobs.js';
import type { ResultTerms } from './result-terms.js';

export interface EndedActor {
  key: ActorKey;
  /** Type of the message. */
  type: string;
  /** `INTERNAL_<SQLSTATE>` */
  error: string;
}

/** Divides by zero, as every fence, when the epoch is not the newest. */
const END_ACTOR = `WITH ended AS (UPDATE actor SET state = NULL, terminal = true, rev = rev + 1, updated_at = now()
    WHERE key = $1 AND epoch = $2 RETURNING 1)
  SELECT 1 / (count(*) = 1)::int FROM ended`;

const LEAVE_LETTER = `INSERT INTO dead_letter (at, part, key, type, envelope, error, actor_rev) VALUES (now(), $1, $2, $3, NULL, $4, NULL)`;

export function endActorQueries(
  { part, epoch, key, type, error }: EndedActor & { part: number; epoch: number },
  terms: ResultTerms,
): pg.QueryConfig[] {
  const { id } = parseActorKey(key);
  return [
    { text: END_ACTOR, values: [key, epoch] },
    { text: 'DELETE FROM actor_timer WHERE key = $1', values: [key] },
    {
      text: `DELETE FROM cmd_outbox WHERE split_part(subject, '.', 4) = split_part($1, '.', 4) AND subject = $1`,
      values: [actorSubject(key)],
    },
    // Hosts have actors, too.
    ...(isUuid(id)
      ? [{ text: failJobsText(terms), values: [[id], [`${error}: a message of this job could not be handled`]] }]
      : []),
    { text: LEAVE_LETTER, values: [part, key, type, error] },
  ];
}
