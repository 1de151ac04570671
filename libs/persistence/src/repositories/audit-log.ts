/** Changes through the admin API and their authors. An entry is written in the transaction of its change. */
import type pg from 'pg';
import { AFTER_ALL, keyTime, readPage, timeKey, type ListPage, type ListRange } from './list-page.js';

export interface AuditAuthor {
  /** How the caller proved itself, without the secret. */
  actor: string;
  ip: string | null;
}

export interface AuditChange {
  /** `<thing>.<verb>`, e.g. `key.revoke`. */
  action: string;
  /** Id or name of what was changed. */
  target: string;
  /** Never secrets. */
  details?: Record<string, unknown>;
}

export interface AuditEntry extends AuditAuthor {
  id: string;
  at: Date;
  action: string;
  target: string;
  details: Record<string, unknown>;
}

export interface AuditQuery {
  from: Date | null;
  to: Date | null;
  range: ListRange;
}

const ENTRIES = `SELECT id, at, actor, ip, action, target, details, ARRAY[${timeKey('at')}, id::text] AS key FROM admin_audit
  WHERE ($1::timestamptz IS NULL OR at >= $1) AND ($2::timestamptz IS NULL OR at < $2) AND (at, id) < (${keyTime('$3')}, $4::bigint)
  ORDER BY at DESC, id DESC OFFSET $5 LIMIT $6`;

/** @param db the transaction of the change, node-postgres' or TypeORM's */
export async function recordAudit(
  db: { query(text: string, values: unknown[]): Promise<unknown> },
  { actor, ip }: AuditAuthor,
  { action, target, details = {} }: AuditChange,
): Promise<void> {
  await db.query(`INSERT INTO admin_audit (actor, ip, action, target, details) VALUES ($1, $2, $3, $4, $5)`, [
    actor,
    ip,
    action,
    target,
    details,
  ]);
}

export class AuditLog {
  constructor(private readonly pool: pg.Pool) {}

  /** Records an action that changes no table. */
  record(by: AuditAuthor, change: AuditChange): Promise<void> {
    return recordAudit(this.pool, by, change);
  }

  /** Newest first. */
  list({ from, to, range }: AuditQuery): Promise<ListPage<AuditEntry>> {
    return readPage(this.pool, { text: ENTRIES, values: [from, to], start: [AFTER_ALL, '0'] }, range);
  }
}
