export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** `Retry-After`, seconds or a date, as a duration between 0 and 15 min; null when absent or unreadable. */
export function parseRetryAfter(value: string | undefined, wallMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const ms = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - wallMs;
  if (Number.isNaN(ms)) return null;
  return Math.min(Math.max(Math.round(ms), 0), MAX_RETRY_AFTER_MS);
}
