import type { ModelAccess, Uuid } from '@troupe/contracts';
import type pg from 'pg';
import { TableCopy } from '../table-copy.js';

type Models = ReadonlyMap<Uuid, ModelAccess>;

/** Language models of the teams that have one of their own, as the extractors have them in memory; at most some seconds old. */
export class TeamModelTable {
  private constructor(private readonly table: TableCopy<Models>) {}

  /** @throws when Postgres does not answer: a team's pages must not be shown to another model */
  static async watch(pool: pg.Pool, onProblem: (error: unknown) => void): Promise<TeamModelTable> {
    const empty: Models = new Map<Uuid, ModelAccess>();
    return new TeamModelTable(await TableCopy.of(empty, () => read(pool), onProblem));
  }

  /** null: the team uses the one of the installation. */
  accessOf(team: Uuid): ModelAccess | null {
    return this.table.rows.get(team) ?? null;
  }

  stop(): void {
    this.table.stop();
  }
}

async function read(pool: pg.Pool): Promise<Models> {
  const { rows } = await pool.query<{ id: Uuid; model: ModelAccess }>(
    'SELECT id, model FROM team WHERE model IS NOT NULL',
  );
  return new Map(rows.map(({ id, model }) => [id, model]));
}
