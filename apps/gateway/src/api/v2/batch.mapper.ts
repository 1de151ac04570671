import { type BatchSpec, TroupeError } from '@troupe/contracts';
import { canonicalize, hostKey } from '@troupe/frontier';
import { ApiError } from '../../errors/api-error.js';
import { type BatchUrl } from '../../jobs/job-submit.service.js';
import { InvalidBodyError, invalidUrl, tooBig, type Issue } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { webhookSpecFrom } from '../webhook/webhook.mapper.js';
import { type BatchDto } from './batch.dto.js';
import { clampConcurrency } from './crawl.mapper.js';
import { scrapeSpecFromV2, type ScrapeRules } from './scrape.mapper.js';

export interface BatchRules extends ScrapeRules {
  maxBatchUrls: number;
  /** Concurrency of the team. */
  concurrency: number;
  /** Throws for an address that must not be fetched. */
  checkTarget(url: string): void;
}

export interface BatchOrder {
  spec: BatchSpec;
  /** Valid addresses in the caller's order, repeated ones included. */
  urls: BatchUrl[];
  /** Original texts of refused entries; null in strict mode, where there are none. */
  invalidUrls: string[] | null;
}

/** @throws InvalidBodyError for too many URLs, none valid, or (strict mode) a bad one */
export function batchFromV2(body: BatchDto, rules: BatchRules): BatchOrder {
  if (body.urls.length > rules.maxBatchUrls)
    throw new InvalidBodyError([tooBig('array', rules.maxBatchUrls, ['urls'])]);
  const isLenient = body.ignoreInvalidURLs ?? true;
  const { urls, invalidUrls } = isLenient
    ? sortOut(body.urls, rules)
    : { urls: allValid(body.urls, rules), invalidUrls: null };
  if (urls.length === 0) throw new ApiError(400, 'No valid URLs were given', { code: 'BAD_REQUEST' });
  return {
    spec: {
      maxConcurrency: clampConcurrency(body.maxConcurrency, rules.concurrency),
      scrape: scrapeSpecFromV2(body, rules),
      webhook: webhookSpecFrom(body.webhook, 'batch'),
    },
    urls,
    invalidUrls,
  };
}

function sortOut(texts: string[], rules: BatchRules): { urls: BatchUrl[]; invalidUrls: string[] } {
  const urls: BatchUrl[] = [];
  const invalidUrls: string[] = [];
  for (const text of texts) {
    const seed = readSeed(text);
    if (seed.ok && isAllowed(seed.target, rules)) urls.push(seed.entry);
    else invalidUrls.push(text);
  }
  return { urls, invalidUrls };
}

function isAllowed(url: string, rules: BatchRules): boolean {
  try {
    rules.checkTarget(url);
    return true;
  } catch (error) {
    if (error instanceof TroupeError) return false;
    throw error;
  }
}

function allValid(texts: string[], rules: BatchRules): BatchUrl[] {
  const issues: Issue[] = [];
  const seeds: GoodSeed[] = [];
  texts.forEach((text, index) => {
    const seed = readSeed(text);
    if (seed.ok) seeds.push(seed);
    else issues.push(invalidUrl(seed.message, ['urls', index]));
  });
  if (issues.length > 0) throw new InvalidBodyError(issues);
  for (const { target } of seeds) rules.checkTarget(target);
  return seeds.map(({ entry }) => entry);
}

interface GoodSeed {
  ok: true;
  entry: BatchUrl;
  /** The URL that will be fetched: canonical, with the scheme that the caller may have left out. */
  target: string;
}

type Seed = GoodSeed | { ok: false; message: string };

/** The caller's own spelling, which is shown as `metadata.sourceURL`; the scheduler fetches its canonical form. */
function readSeed(text: string): Seed {
  const page = readPageUrl(text);
  if (!page.ok) return page;
  const canonical = canonicalize(page.url);
  if (canonical === null) return { ok: false, message: 'Invalid URL' };
  return { ok: true, entry: { url: text.trim(), host: hostKey(canonical) }, target: canonical };
}
