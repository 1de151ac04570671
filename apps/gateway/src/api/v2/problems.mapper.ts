import { type JobProblems } from '../../jobs/job-status.service.js';

/** `{errors, robotsBlocked}`; every item has string `id`, `url` and `error`. */
export function problemsToV2({ errors, robotsBlocked }: JobProblems) {
  return {
    success: true,
    errors: errors.map(({ id, at, url, code, message }) => ({
      id,
      timestamp: at.toISOString(),
      url,
      code,
      error: message,
    })),
    robotsBlocked,
  };
}
