import type pg from 'pg';
import { TableCopy } from '../table-copy.js';

interface Copy {
  /** A value that changes with the table. */
  mark: string;
  hosts: ReadonlySet<string>;
}

const MARK = `SELECT count(*) || ' ' || coalesce(max(at)::text, '') AS mark FROM blocked_host`;

/** The blocklist as every gateway and fetcher has it in memory; at most some seconds old. */
export class BlockedHosts {
  private constructor(private readonly table: TableCopy<Copy>) {}

  /** @throws when Postgres does not answer: without the list nothing may be fetched */
  static async watch(pool: pg.Pool, onProblem: (error: unknown) => void): Promise<BlockedHosts> {
    const empty: Copy = { mark: '', hosts: new Set() };
    return new BlockedHosts(await TableCopy.of(empty, (known) => read(pool, known), onProblem));
  }

  /** Host names in lower case and IP literals; each stands for everything below it, too. */
  get hosts(): ReadonlySet<string> {
    return this.table.rows.hosts;
  }

  stop(): void {
    this.table.stop();
  }
}

async function read(pool: pg.Pool, known: Copy): Promise<Copy> {
  const { rows } = await pool.query<{ mark: string }>(MARK);
  const { mark } = rows[0]!;
  if (mark === known.mark) return known;
  const found = await pool.query<{ host: string }>('SELECT host FROM blocked_host');
  return { mark, hosts: new Set(found.rows.map(({ host }) => host)) };
}
