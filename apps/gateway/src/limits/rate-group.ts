import { type RateGroup } from '@troupe/contracts';

const SUBMITS: Record<string, RateGroup> = {
  scrape: 'scrape',
  'batch/scrape': 'scrape',
  crawl: 'crawl',
  'crawl/params-preview': 'crawl',
  'crawl/explain': 'crawl',
  map: 'map',
  search: 'search',
  extract: 'extract',
  agent: 'extract',
};

const READS: Record<string, RateGroup> = {
  scrape: 'crawlStatus',
  batch: 'crawlStatus',
  crawl: 'crawlStatus',
  'concurrency-check': 'crawlStatus',
  extract: 'extractStatus',
  agent: 'extractStatus',
  team: 'account',
};

/**
 * The count that a request belongs to (docs/api/limits.md, "Requests per minute and team"), in either version; null:
 * none.
 */
export function rateGroupOf(method: string, path: string): RateGroup | null {
  const call = /^\/v\d+\/(.*?)\/?$/i.exec(path)?.[1]?.toLowerCase();
  if (call === undefined) return null;
  const submit = method === 'POST' ? SUBMITS[call] : undefined;
  return submit ?? READS[call.split('/', 1)[0]!] ?? null;
}
