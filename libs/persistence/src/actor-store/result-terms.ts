/** How long results can be read after the end of their job. */
export interface ResultTerms {
  resultTtlHours: number;
  /** Of jobs with zero data retention. */
  zeroRetentionGraceMinutes: number;
}
