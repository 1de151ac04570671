/** The end of jobs that their actors know by id alone, or not at all. */
import type { ResultTerms } from './result-terms.js';

/** $1: ids, $2: errors. Jobs that have ended stay as they are. */
export function failJobsText({ resultTtlHours, zeroRetentionGraceMinutes }: ResultTerms): string {
  return `UPDATE job j SET status = 'failed', error = x.error, finished_at = now(),
      expires_at = now() + CASE WHEN j.zdr THEN interval '${zeroRetentionGraceMinutes} minutes' ELSE interval '${resultTtlHours} hours' END
    FROM unnest($1::uuid[], $2::text[]) AS x(id, error) JOIN job_id i ON i.id = x.id
    WHERE j.job_no = i.job_no AND j.finished_at IS NULL`;
}
