/** The operator's side of the settings of hosts; what processes hold of them is `HostSettings`. */
import { HOST_SETTINGS, type HostSetting, type HostSettingValues } from '@troupe/contracts';
import type pg from 'pg';
import { withTransaction } from '../pool.js';
import { readPage, type ListPage, type ListRange } from './list-page.js';
import { recordAudit, type AuditAuthor } from './audit-log.js';

type Row = { pattern: string } & Record<string, string | number | boolean | null>;

/** `maxConn` -> `max_conn` */
const VALUES = Object.keys(HOST_SETTINGS).map((name) => ({
  name: name as keyof HostSettingValues,
  column: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
}));
const COLUMNS = ['pattern', ...VALUES.map(({ column }) => column)].join(', ');
const PUT = `INSERT INTO host_setting (${COLUMNS}, updated_at) VALUES ($1, ${VALUES.map((_, i) => `$${i + 2}`).join(', ')}, now())
  ON CONFLICT (pattern) DO UPDATE SET ${VALUES.map(({ column }) => `${column} = EXCLUDED.${column}`).join(', ')}, updated_at = now()`;

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
    const { pattern } = setting;
    return withTransaction(this.pool, async (client) => {
      await client.query(PUT, [pattern, ...VALUES.map(({ name }) => setting[name])]);
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
  const set = VALUES.filter(({ column }) => row[column] !== null);
  return {
    pattern: row.pattern,
    ...Object.fromEntries(set.map(({ name, column }) => [name, valueOf(name, row[column])])),
  };
}

/** A delay stands in its column as text. */
function valueOf(name: keyof HostSettingValues, value: unknown): unknown {
  return HOST_SETTINGS[name].type === 'delay' && value !== 'obey' ? Number(value) : value;
}
