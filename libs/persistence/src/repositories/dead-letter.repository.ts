/** Messages that no actor could handle (docs/design/actors.md, "Poison"). Kept 14 days. */
import type { ActorKey, Envelope } from '@troupe/contracts';
import type pg from 'pg';
import { storable, storableJson } from '../actor-store/statement.js';
import { withTransaction } from '../pool.js';
import { readPage, type ListPage, type ListRange } from './list-page.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

export interface DeadLetter {
  id: string;
  at: Date;
  /** The actor that it was for. */
  to: ActorKey;
  type: string;
  error: string;
  /** Revision of the actor that failed on it. */
  actorRev: string | null;
  /** False for a timer, which has no message, and for mail that cannot be read. */
  canReplay: boolean;
}

const NEWEST = '9223372036854775807';
const COLUMNS = `id, at, key AS "to", type, error, actor_rev AS "actorRev", coalesce(jsonb_typeof(envelope) = 'object', false) AS "canReplay"`;

/** Mail that cannot be read. Its body is not kept, since it is not known whether it may be. */
export interface UnreadableMail {
  subject: string;
  headers: Record<string, string[]>;
  bytes: number;
  /** SHA-256 of the body, hex. */
  hash: string;
  error: string;
}

const MAX_HEADERS_CHARS = 4_096;
const MAX_ERROR_CHARS = 300;

export class DeadLetterRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** @param part partition of the mailbox; returns the letter's id */
  async addUnreadable(part: number, { subject, headers, bytes, hash, error }: UnreadableMail): Promise<string> {
    const about = storableJson({ subject, headers }).slice(0, MAX_HEADERS_CHARS);
    const text = `unreadable mail of ${bytes} bytes, sha256 ${hash}: ${error.slice(0, MAX_ERROR_CHARS)}; ${about}`;
    const { rows } = await this.pool.query<{ id: string }>(
      `INSERT INTO dead_letter (at, part, key, type, envelope, error, actor_rev)
        VALUES (now(), $1, $2, 'unreadable', NULL, $3, NULL) RETURNING id`,
      [part, storable(subject), storable(text)],
    );
    return rows[0]!.id;
  }

  /** Newest first. */
  list(range: ListRange): Promise<ListPage<DeadLetter>> {
    const text = `SELECT ${COLUMNS}, ARRAY[id::text] AS key FROM dead_letter WHERE id < $1::bigint ORDER BY id DESC OFFSET $2 LIMIT $3`;
    return readPage(this.pool, { text, start: [NEWEST] }, range);
  }

  /** undefined: no such letter; null: a timer's, which holds no message. */
  async envelope(id: string): Promise<Envelope | null | undefined> {
    const { rows } = await this.pool.query<{ envelope: Envelope | null }>(
      'SELECT envelope FROM dead_letter WHERE id = $1',
      [id],
    );
    return rows[0]?.envelope;
  }

  /** Removes a letter whose message was sent again. */
  remove(id: string, by: AuditAuthor): Promise<void> {
    return withTransaction(this.pool, async (client) => {
      await client.query('DELETE FROM dead_letter WHERE id = $1', [id]);
      await recordAudit(client, by, { action: 'dead-letter.replay', target: id });
    });
  }
}
