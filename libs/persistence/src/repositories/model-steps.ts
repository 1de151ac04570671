/** Finished steps of extract and agent jobs, and their results (docs/design/data-model.md, "Tables of jobs"). */
import type { JobNo } from '@troupe/contracts';
import type pg from 'pg';
import { storableJson } from '../actor-store/statement.js';

export interface ModelStep {
  step: string;
  tokens: number;
  credits: number;
  result: unknown;
}

export interface ExtractResult {
  data: unknown;
  /** Field path -> URLs of the pages that told it. */
  sources: Record<string, string[]>;
}

const FIND = 'SELECT step, tokens, credits, result FROM model_step WHERE job_no = $1 AND step = $2';
const BY_PREFIX = `SELECT step, tokens, credits, result FROM model_step
  WHERE job_no = $1 AND starts_with(step, $2) ORDER BY step COLLATE "C"`;
const RECORD = `INSERT INTO model_step (job_no, step, tokens, credits, result) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (job_no, step) DO NOTHING RETURNING step`;
const KEEP_RESULT = `INSERT INTO extract_result (job_no, data, sources) VALUES ($1, $2, $3) ON CONFLICT (job_no) DO NOTHING`;

export class ModelSteps {
  constructor(private readonly pool: pg.Pool) {}

  /** null: the step is not done. */
  async find(jobNo: JobNo, step: string): Promise<ModelStep | null> {
    const { rows } = await this.pool.query<ModelStep>({ name: 'model-step', text: FIND, values: [jobNo, step] });
    return rows[0] ?? null;
  }

  /** Finished steps whose names begin so, by name. */
  async list(jobNo: JobNo, prefix: string): Promise<ModelStep[]> {
    const { rows } = await this.pool.query<ModelStep>({
      name: 'model-steps',
      text: BY_PREFIX,
      values: [jobNo, prefix],
    });
    return rows;
  }

  /** The step as it is recorded now: this one, or the one that was there before. */
  async record(jobNo: JobNo, { step, tokens, credits, result }: ModelStep): Promise<ModelStep> {
    const values = [jobNo, step, tokens, credits, storableJson(result)];
    const { rowCount } = await this.pool.query({ name: 'model-step-record', text: RECORD, values });
    return rowCount === 1 ? { step, tokens, credits, result } : (await this.find(jobNo, step))!;
  }

  /** Keeps the result that the client will read once the job has ended; the first one stays. */
  async keepResult(jobNo: JobNo, { data, sources }: ExtractResult): Promise<void> {
    const values = [jobNo, storableJson(data), storableJson(sources)];
    await this.pool.query({ name: 'extract-result-keep', text: KEEP_RESULT, values });
  }

  async resultOf(jobNo: JobNo): Promise<ExtractResult | null> {
    const { rows } = await this.pool.query<ExtractResult>(
      'SELECT data, sources FROM extract_result WHERE job_no = $1',
      [jobNo],
    );
    return rows[0] ?? null;
  }
}
