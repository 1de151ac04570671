/** The operator's side of the blocklist; what processes hold of it is `BlockedHosts`. */
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import { readPage, type ListPage, type ListRange } from './list-page.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

export interface BlockedHost {
  host: string;
  reason: string | null;
  at: Date;
}

/** Hosts must be normal forms (`blockEntry`): they are compared as text. */
export class BlocklistRepository {
  constructor(private readonly pool: pg.Pool) {}

  list(range: ListRange): Promise<ListPage<BlockedHost>> {
    const text = `SELECT host, reason, at, ARRAY[host] AS key FROM blocked_host WHERE host > $1 ORDER BY host OFFSET $2 LIMIT $3`;
    return readPage(this.pool, { text, start: [''] }, range);
  }

  async count(): Promise<number> {
    return (await this.pool.query<{ n: number }>('SELECT count(*)::int AS n FROM blocked_host')).rows[0]!.n;
  }

  /** Adds hosts; the reason of one that is there already is replaced. */
  add(hosts: readonly string[], reason: string | null, by: AuditAuthor): Promise<void> {
    return withTransaction(this.pool, async (client) => {
      await client.query(
        `INSERT INTO blocked_host (host, reason, at) SELECT host, $2, clock_timestamp() FROM unnest($1::text[]) AS host
         ON CONFLICT (host) DO UPDATE SET reason = EXCLUDED.reason, at = EXCLUDED.at`,
        [[...new Set(hosts)], reason],
      );
      await recordAudit(client, by, { action: 'blocklist.add', target: nameOf(hosts), details: { hosts, reason } });
    });
  }

  /** Returns how many were on the list. */
  remove(hosts: readonly string[], by: AuditAuthor): Promise<number> {
    return withTransaction(this.pool, async (client) => {
      const { rowCount } = await client.query('DELETE FROM blocked_host WHERE host = ANY($1::text[])', [hosts]);
      await recordAudit(client, by, { action: 'blocklist.remove', target: nameOf(hosts), details: { hosts } });
      return rowCount ?? 0;
    });
  }
}

function nameOf(hosts: readonly string[]): string {
  return hosts.length === 1 ? hosts[0]! : `${hosts.length} hosts`;
}
