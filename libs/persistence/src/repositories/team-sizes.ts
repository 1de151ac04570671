import type { Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { TableCopy } from '../table-copy.js';

type Sizes = ReadonlyMap<Uuid, number>;

/** Concurrency of the teams that have one of their own, as the schedulers have it in memory. */
export class TeamSizes {
  private constructor(private readonly table: TableCopy<Sizes>) {}

  static async watch(pool: pg.Pool, onProblem: (error: unknown) => void): Promise<TeamSizes> {
    const empty: Sizes = new Map<Uuid, number>();
    return new TeamSizes(await TableCopy.of(empty, () => read(pool), onProblem));
  }

  /** null: the installation's default. */
  concurrencyOf(team: Uuid): number | null {
    return this.table.rows.get(team) ?? null;
  }

  stop(): void {
    this.table.stop();
  }
}

async function read(pool: pg.Pool): Promise<Sizes> {
  const { rows } = await pool.query<{ id: Uuid; concurrency: number }>(
    'SELECT id, concurrency FROM team WHERE concurrency IS NOT NULL',
  );
  return new Map(rows.map(({ id, concurrency }) => [id, concurrency]));
}
