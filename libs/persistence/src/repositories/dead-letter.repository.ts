/** Messages that no actor could handle (design/actors.md §7). Kept 14 days. */
import type { ActorKey, Envelope } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

export interface DeadLetter {
  id: string;
  at: Date;
  key: ActorKey;
  type: string;
  error: string;
  /** Revision of the actor that failed on it. */
  actorRev: string | null;
  /** False for a timer, which has no message. */
  canReplay: boolean;
}

const COLUMNS = `id, at, key, type, error, actor_rev AS "actorRev", coalesce(jsonb_typeof(envelope) = 'object', false) AS "canReplay"`;

export class DeadLetterRepository {
  constructor(private readonly pool: pg.Pool) {}

  /** Newest first; `before`: id of the last one seen. */
  async list(limit: number, before: string | null): Promise<DeadLetter[]> {
    const { rows } = await this.pool.query<DeadLetter>(
      `SELECT ${COLUMNS} FROM dead_letter WHERE ($1::bigint IS NULL OR id < $1) ORDER BY id DESC LIMIT $2`,
      [before, limit],
    );
    return rows;
  }

  /** undefined: no such letter; null: a timer's, which holds no message. */
  async envelope(id: string): Promise<Envelope | null | undefined> {
    const { rows } = await this.pool.query<{ envelope: Envelope | null }>(
      'SELECT envelope FROM dead_letter WHERE id = $1',
      [id],
    );
    return rows[0]?.envelope;
  }

  /** After its message was sent again. */
  remove(id: string, by: AuditAuthor): Promise<void> {
    return withTransaction(this.pool, async (client) => {
      await client.query('DELETE FROM dead_letter WHERE id = $1', [id]);
      await recordAudit(client, by, { action: 'dead-letter.replay', target: id });
    });
  }
}
