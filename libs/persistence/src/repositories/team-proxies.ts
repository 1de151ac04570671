import type { ProxyLists, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { TableCopy } from '../table-copy.js';

type Lists = ReadonlyMap<Uuid, ProxyLists>;

/** Proxies of the teams that have some of their own, as the fetchers have them in memory; at most some seconds old. */
export class TeamProxies {
  private constructor(private readonly table: TableCopy<Lists>) {}

  /** @throws when Postgres does not answer: a team's pages must not leave by another way */
  static async watch(pool: pg.Pool, onProblem: (error: unknown) => void): Promise<TeamProxies> {
    const empty: Lists = new Map<Uuid, ProxyLists>();
    return new TeamProxies(await TableCopy.of(empty, () => read(pool), onProblem));
  }

  /** null: the team uses those of the installation. */
  listsOf(team: Uuid): ProxyLists | null {
    return this.table.rows.get(team) ?? null;
  }

  stop(): void {
    this.table.stop();
  }
}

async function read(pool: pg.Pool): Promise<Lists> {
  const { rows } = await pool.query<{ id: Uuid; proxies: ProxyLists }>(
    'SELECT id, proxies FROM team WHERE proxies IS NOT NULL',
  );
  return new Map(rows.map(({ id, proxies }) => [id, proxies]));
}
