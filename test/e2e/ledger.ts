/** What a job left in Postgres, read beside the product. */
import pg from 'pg';
import type { RunningCluster } from '../support/cluster.js';

export interface LedgerRow {
  url: string;
  outcome: string;
  rule: string | null;
  status: number | null;
}

export interface JobLedger {
  /** One row per URL that was ever admitted. */
  outcomes: LedgerRow[];
  pages: number;
  /** URLs that were found and not fetched: what the limit left over when the job has ended. */
  frontier: string[];
  lanes: number;
  /** Sum of the credits billed for the job. */
  credits: number;
  job: { total: number; completed: number; credits: number; status: string };
}

export class Ledger {
  private constructor(private readonly client: pg.Client) {}

  static async open(cluster: RunningCluster): Promise<Ledger> {
    const client = new pg.Client({ connectionString: (await cluster.record()).postgres });
    await client.connect();
    return new Ledger(client);
  }

  async of(id: string): Promise<JobLedger> {
    const [job] = await this.rows<JobLedger['job'] & { job_no: string }>(
      'SELECT j.job_no, j.total, j.completed, j.credits, j.status FROM job_id i JOIN job j USING (job_no) WHERE i.id = $1',
      id,
    );
    if (job === undefined) throw new Error(`no job ${id}`);
    const { job_no: jobNo, ...shown } = job;
    const count = async (table: string): Promise<number> =>
      Number((await this.rows<{ n: string }>(`SELECT count(*) AS n FROM ${table} WHERE job_no = $1`, jobNo))[0]!.n);
    return {
      outcomes: await this.rows('SELECT url, outcome, rule, status FROM url_outcome WHERE job_no = $1', jobNo),
      pages: await count('page'),
      frontier: (await this.rows<{ url: string }>('SELECT url FROM frontier WHERE job_no = $1', jobNo)).map(
        ({ url }) => url,
      ),
      lanes: await count('lane'),
      credits: Number(
        (
          await this.rows<{ n: string }>(
            'SELECT coalesce(sum(credits), 0) AS n FROM credit_ledger WHERE job_no = $1',
            jobNo,
          )
        )[0]!.n,
      ),
      job: shown,
    };
  }

  close(): Promise<void> {
    return this.client.end();
  }

  private async rows<T>(sql: string, parameter: string): Promise<T[]> {
    return (await this.client.query(sql, [parameter])).rows as T[];
  }
}

export function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}
