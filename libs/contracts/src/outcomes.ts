/** The one way each URL of a job ends (docs/api/own.md). */
export const OUTCOMES = [
  'ok',
  'failed',
  'robots',
  'duplicate',
  'redirected',
  'limit',
  'cancelled',
  'out_of_scope',
] as const;

/**
 * - `ok`: a document was stored; rule = `REVALIDATED`, or none. `failed`: no document; rule = error code.
 * - `robots`: forbidden by robots.txt, budget refunded. `duplicate`: same page as another URL (rule = canonical URL).
 * - `redirected`: led to a known or out-of-scope URL (rule = target), budget refunded.
 * - `limit` / `cancelled`: still unfetched when the job ended.
 * - `out_of_scope`: an admitted URL that turned out not to belong (rule = which scope rule), budget refunded.
 */
export type Outcome = (typeof OUTCOMES)[number];

/** Rule of a page that its site was asked for and that had not changed: its document is made from what was stored. */
export const REVALIDATED = 'revalidated';

/** Outcomes that use up one unit of the job's limit. */
export const COUNTED_OUTCOMES: ReadonlySet<Outcome> = new Set<Outcome>(['ok', 'failed']);

export const SCOPE_RULES = [
  'path-prefix',
  'include',
  'exclude',
  'external',
  'subdomain',
  'depth',
  'file-type',
  'nofollow',
  'scheme',
  'too-long',
  'trap',
  'pattern-budget',
] as const;
export type ScopeRule = (typeof SCOPE_RULES)[number];
