/** How long results can be read after the end of their job. */
export interface ResultTerms {
  resultTtlHours: number;
  /** How long results of jobs with zero data retention can be read. */
  zeroRetentionGraceMinutes: number;
}
