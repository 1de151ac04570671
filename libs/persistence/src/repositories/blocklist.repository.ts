/** The operator's side of the blocklist; what processes hold of it is `BlockedHosts`. */
import type { DataSource, Repository } from 'typeorm';
import { inTransaction } from '../data-source.js';
import { BlockedHostEntity, type BlockedHost } from '../entities.js';
import { readEntities, type ListPage, type ListRange } from './list-page.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

/** Hosts must be normal forms (`blockEntry`): they are compared as text. */
export class BlocklistRepository {
  private readonly hosts: Repository<BlockedHost>;

  constructor(private readonly dataSource: DataSource) {
    this.hosts = dataSource.getRepository(BlockedHostEntity.name);
  }

  list(range: ListRange): Promise<ListPage<BlockedHost>> {
    return readEntities(
      this.hosts,
      { text: 'host > $1 ORDER BY host OFFSET $2 LIMIT $3', key: 'host', start: [''] },
      range,
    );
  }

  count(): Promise<number> {
    return this.hosts.count();
  }

  /** Adds hosts; the reason of one that is there already is replaced. By hand: one statement for thousands of rows. */
  add(hosts: readonly string[], reason: string | null, by: AuditAuthor): Promise<void> {
    return inTransaction(this.dataSource, async (manager) => {
      await manager.query(
        `INSERT INTO blocked_host (host, reason, at) SELECT host, $2, clock_timestamp() FROM unnest($1::text[]) AS host
         ON CONFLICT (host) DO UPDATE SET reason = EXCLUDED.reason, at = EXCLUDED.at`,
        [[...new Set(hosts)], reason],
      );
      await recordAudit(manager, by, { action: 'blocklist.add', target: nameOf(hosts), details: { hosts, reason } });
    });
  }

  /** Returns how many were on the list. */
  remove(hosts: readonly string[], by: AuditAuthor): Promise<number> {
    return inTransaction(this.dataSource, async (manager) => {
      const removal = manager.createQueryBuilder().delete().from<BlockedHost>(BlockedHostEntity.name);
      const { affected } = await removal.where('host = ANY(:hosts)', { hosts }).execute();
      await recordAudit(manager, by, { action: 'blocklist.remove', target: nameOf(hosts), details: { hosts } });
      return affected ?? 0;
    });
  }
}

function nameOf(hosts: readonly string[]): string {
  return hosts.length === 1 ? hosts[0]! : `${hosts.length} hosts`;
}
