import type { Request } from 'express';
import { OUTCOMES, REVALIDATED, scrapeIdOf, type JobNo } from '@troupe/contracts';
import { ApiError } from '../../errors/api-error.js';
import { type JobLedger } from '../../jobs/job-ledger.service.js';
import { type LedgerEntry, type LedgerOutcome, type LedgerQuery } from '../../jobs/ports.js';
import { BIG_LIST, nextOf, pageOfRows, rangeOf, readListQuery, type ListQuery } from '../list-query.js';

const DEFAULT_LIMIT = 100;
const KNOWN_OUTCOMES: readonly string[] = [...OUTCOMES, 'pending'];

export interface LedgerRequest extends LedgerQuery {
  list: ListQuery;
}

/** @throws ApiError 400 */
export function ledgerQueryFromV2(query: Request['query']): LedgerRequest {
  const outcome = readOutcome(query['outcome']);
  const list = readListQuery(query, { keys: [['int', 'int']], defaultLimit: DEFAULT_LIMIT, ...BIG_LIST });
  return { ...rangeOf(list), outcome, list };
}

function readOutcome(value: unknown): LedgerOutcome | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' || !KNOWN_OUTCOMES.includes(value))
    throw new ApiError(400, `Invalid outcome: expected one of ${KNOWN_OUTCOMES.join(', ')}`, { code: 'BAD_REQUEST' });
  return value as LedgerOutcome;
}

/** `base`: this ledger's own address without a query. */
export function ledgerToV2(ledger: JobLedger, { list, outcome }: LedgerRequest, base: string) {
  const { counts, discovered, revalidated, excluded, entries, hasMore, jobNo } = ledger;
  const { bodies, last } = pageOfRows({ rows: entries, hasMore }, (entry) => entryToV2(jobNo, entry));
  const next = last === null ? {} : { next: nextOf(base, list, [last], { outcome: outcome ?? undefined }) };
  return { success: true, counts, discovered, revalidated, excluded, urls: bodies, ...next };
}

/** Unknown fields are left out. */
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
