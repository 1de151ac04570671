import type { Request } from 'express';
import { OUTCOMES, REVALIDATED, scrapeIdOf, type JobNo } from '@troupe/contracts';
import { ApiError } from '../../errors/api-error.js';
import { type JobLedger } from '../../jobs/job-ledger.service.js';
import { type LedgerEntry, type LedgerOutcome, type LedgerQuery } from '../../jobs/ports.js';
import { readStatusQuery } from './job-status.js';

const DEFAULT_LIMIT = 100;
/** More are served in several pages. */
const MAX_LIMIT = 1_000;
const KNOWN_OUTCOMES: readonly string[] = [...OUTCOMES, 'pending'];

/** @throws ApiError 400 */
export function ledgerQueryFromV2(query: Request['query']): LedgerQuery {
  const { skip, limit } = readStatusQuery(query);
  return { skip, limit: Math.min(limit ?? DEFAULT_LIMIT, MAX_LIMIT), outcome: readOutcome(query.outcome) };
}

function readOutcome(value: unknown): LedgerOutcome | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' || !KNOWN_OUTCOMES.includes(value))
    throw new ApiError(400, `Invalid outcome: expected one of ${KNOWN_OUTCOMES.join(', ')}`, { code: 'BAD_REQUEST' });
  return value as LedgerOutcome;
}

/** `base`: this ledger's own address without a query. */
export function ledgerToV2(ledger: JobLedger, { skip, limit, outcome }: LedgerQuery, base: string) {
  const { counts, discovered, revalidated, excluded, entries, hasMore, jobNo } = ledger;
  const filter = outcome === null ? '' : `&outcome=${outcome}`;
  return {
    success: true,
    counts,
    discovered,
    revalidated,
    excluded,
    urls: entries.map((entry) => entryToV2(jobNo, entry)),
    ...(hasMore ? { next: `${base}?skip=${skip + entries.length}&limit=${limit}${filter}` } : {}),
  };
}

/** What is not known is left out. */
function entryToV2(jobNo: JobNo, entry: LedgerEntry) {
  const { url, outcome, rule, depth, parent, status, bytes, ms, engine, attempts, notBefore, at } = entry;
  const isRevalidated = outcome === 'ok' && rule === REVALIDATED;
  const optional = { rule: isRevalidated ? null : rule, parent, status, bytes, ms, engine };
  return {
    url,
    outcome,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
    depth,
    ...(isRevalidated ? { revalidated: true } : {}),
    ...(entry.fromHistory ? { source: 'history' } : {}),
    attempts,
    ...(notBefore === null ? {} : { notBefore: notBefore.toISOString() }),
    at: at.toISOString(),
    ...(outcome === 'ok' ? { scrapeId: scrapeIdOf(jobNo, entry.item) } : {}),
  };
}
