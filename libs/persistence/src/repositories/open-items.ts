import type { JobNo } from '@troupe/contracts';
import type pg from 'pg';

const OPEN = `SELECT f.seq::float8 AS item FROM unnest($2::smallint[], $3::bigint[]) AS x(depth, seq)
  JOIN frontier f ON f.job_no = $1 AND f.shard = 0 AND f.depth = x.depth AND f.seq = x.seq`;

/** Items of a lane that are not settled: a row of the frontier goes with the turn that settles its item. */
export class OpenItems {
  constructor(private readonly pool: pg.Pool) {}

  async of(jobNo: JobNo, items: readonly { item: number; depth: number }[]): Promise<Set<number>> {
    const values = [jobNo, items.map(({ depth }) => depth), items.map(({ item }) => item)];
    const { rows } = await this.pool.query<{ item: number }>({ name: 'open-items', text: OPEN, values });
    return new Set(rows.map(({ item }) => item));
  }
}
