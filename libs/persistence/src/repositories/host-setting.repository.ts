/** The operator's side of the settings of hosts; what processes hold of them is `HostSettings`. */
import type { HostSetting } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import { readPage, type ListPage, type ListRange } from './list-page.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

interface Row {
  pattern: string;
  max_conn: number | null;
  gap_ms: number | null;
  max_rate: number | null;
  express_conn: number | null;
  crawl_delay: string | null;
  give_up_min: number | null;
  hold: boolean | null;
  note: string | null;
}

const COLUMNS = 'pattern, max_conn, gap_ms, max_rate, express_conn, crawl_delay, give_up_min, hold, note';

export async function readHostSettings(db: pg.Pool | pg.PoolClient, pattern?: string): Promise<HostSetting[]> {
  const where = pattern === undefined ? '' : 'WHERE pattern = $1';
  const text = `SELECT ${COLUMNS} FROM host_setting ${where} ORDER BY pattern`;
  const { rows } = await db.query<Row>(text, pattern === undefined ? [] : [pattern]);
  return rows.map(settingFrom);
}

/** Patterns must be normal forms: they are compared as text. */
export class HostSettingRepository {
  constructor(private readonly pool: pg.Pool) {}

  async list(range: ListRange): Promise<ListPage<HostSetting>> {
    const text = `SELECT ${COLUMNS}, ARRAY[pattern] AS key FROM host_setting WHERE pattern > $1 ORDER BY pattern OFFSET $2 LIMIT $3`;
    const page = await readPage<Row>(this.pool, { text, start: [''] }, range);
    return { ...page, rows: page.rows.map((row) => ({ ...settingFrom(row), key: row.key })) };
  }

  async get(pattern: string): Promise<HostSetting | null> {
    return (await readHostSettings(this.pool, pattern))[0] ?? null;
  }

  /** Replaces the whole setting. */
  put(setting: HostSetting, by: AuditAuthor): Promise<void> {
    const { pattern, maxConn, gapMs, maxRate, expressConn, crawlDelay, giveUpMin, hold, note } = setting;
    return withTransaction(this.pool, async (client) => {
      await client.query(
        `INSERT INTO host_setting (${COLUMNS}, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
         ON CONFLICT (pattern) DO UPDATE SET max_conn = EXCLUDED.max_conn, gap_ms = EXCLUDED.gap_ms,
           max_rate = EXCLUDED.max_rate, express_conn = EXCLUDED.express_conn, crawl_delay = EXCLUDED.crawl_delay,
           give_up_min = EXCLUDED.give_up_min, hold = EXCLUDED.hold, note = EXCLUDED.note, updated_at = now()`,
        [pattern, maxConn, gapMs, maxRate, expressConn, crawlDelay?.toString(), giveUpMin, hold, note],
      );
      await recordAudit(client, by, { action: 'host.set', target: pattern, details: { ...setting } });
    });
  }

  /** False: there was none. */
  remove(pattern: string, by: AuditAuthor): Promise<boolean> {
    return withTransaction(this.pool, async (client) => {
      const { rowCount } = await client.query('DELETE FROM host_setting WHERE pattern = $1', [pattern]);
      await recordAudit(client, by, { action: 'host.unset', target: pattern, details: {} });
      return rowCount === 1;
    });
  }
}

function settingFrom(row: Row): HostSetting {
  const { crawl_delay: delay } = row;
  const all = {
    maxConn: row.max_conn,
    gapMs: row.gap_ms,
    maxRate: row.max_rate,
    expressConn: row.express_conn,
    crawlDelay: delay === null || delay === 'obey' ? delay : Number(delay),
    giveUpMin: row.give_up_min,
    hold: row.hold,
    note: row.note,
  };
  const given = Object.entries(all).filter(([, value]) => value !== null);
  return { pattern: row.pattern, ...Object.fromEntries(given) };
}
