/** A finding of the doctor. */
import { reasonOf as wholeReasonOf } from '@troupe/observability';

/** From harmless to grave; `skipped`: there was nothing to check. */
export const SEVERITIES = ['ok', 'skipped', 'warning', 'failure'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Finding {
  /** Subject of the check, in a word or two. */
  about: string;
  severity: Severity;
  /** The observation; no secrets. */
  found: string;
  /** The remedy; absent when all is well. */
  mend?: string;
}

export const fine = (about: string, found: string): Finding => ({ about, severity: 'ok', found });
export const skipped = (about: string, found: string): Finding => ({ about, severity: 'skipped', found });
export const warning = (about: string, found: string, mend: string): Finding => ({
  about,
  severity: 'warning',
  found,
  mend,
});
export const failure = (about: string, found: string, mend: string): Finding => ({
  about,
  severity: 'failure',
  found,
  mend,
});

/** Exit codes; none of them is one of `npm start`'s own. */
export const EXIT_CODES: Record<Severity, number> = { ok: 0, skipped: 0, warning: 5, failure: 6 };

export function worstOf(findings: readonly Finding[]): Severity {
  const grade = Math.max(0, ...findings.map(({ severity }) => SEVERITIES.indexOf(severity)));
  return SEVERITIES[grade]!;
}

/** The reason of a failure in one line. */
export function reasonOf(error: unknown): string {
  return (wholeReasonOf(error).split('\n')[0] ?? '').slice(0, 300);
}
