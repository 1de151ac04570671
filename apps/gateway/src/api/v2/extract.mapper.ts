/** An extract job in the words of the interface <-> the model; both versions use the same words (docs/api/extract.md). */
import { TroupeError, type ExtractSpec, type ScrapeSpec } from '@troupe/contracts';
import { canonicalize } from '@troupe/frontier';
import { ApiError } from '../../errors/api-error.js';
import { type ModelJob } from '../../jobs/model-jobs.service.js';
import { isBlank } from '../validation/fields.js';
import { InvalidBodyError, invalidUrl, type Issue } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { webhookSpecFrom } from '../webhook/webhook.mapper.js';
import { type ExtractDto } from './extract.dto.js';
import { formatName } from './formats.dto.js';
import { scrapeSpecFromV2, type ScrapeRules } from './scrape.mapper.js';

const DEFAULT_TIMEOUT_MS = 600_000;
const MAX_TIMEOUT_MS = 86_400_000;
/** At the end of an address: the pages below it. */
const WILDCARD = /\/\*$/;

export interface ExtractRules extends ScrapeRules {
  /** Throws for an address that must not be fetched. */
  checkTarget(url: string): void;
}

export interface ExtractOrder {
  spec: ExtractSpec;
  /** Original texts of entries that were left out; null when none was. */
  invalidUrls: string[] | null;
  /** Warnings about options of the body that have no effect. */
  warnings: string[];
}

/** @throws InvalidBodyError, TroupeError for an address that must not be fetched, ApiError when no entry is valid */
// eslint-disable-next-line complexity -- one default a field
export function extractFromV2(body: ExtractDto, rules: ExtractRules): ExtractOrder {
  const texts = body.urls ?? [];
  const { urls, invalid } = (body.ignoreInvalidURLs ?? true) ? sortOut(texts, rules) : allValid(texts, rules);
  if (texts.length > 0 && urls.length === 0) {
    throw new ApiError(400, 'No valid URLs were given', { code: 'BAD_REQUEST' });
  }
  const warnings = warningsOf(body);
  return {
    spec: {
      urls,
      prompt: isBlank(body.prompt) ? null : body.prompt!,
      schema: body.schema ?? null,
      systemPrompt: body.systemPrompt ?? null,
      allowExternalLinks: (body.allowExternalLinks ?? false) || (body.enableWebSearch ?? false),
      ignoreSitemap: body.ignoreSitemap ?? false,
      includeSubdomains: body.includeSubdomains ?? true,
      limit: body.limit ?? null,
      showSources: body.showSources ?? false,
      scrape: scrapeOf(body, rules),
      timeoutMs: Math.min(body.timeout ?? DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS),
      webhook: webhookSpecFrom(body.webhook, 'extract'),
      warning: warnings.length === 0 ? null : warnings.join(' '),
    },
    invalidUrls: invalid.length === 0 ? null : invalid,
    warnings,
  };
}

/** Pages are read as text, whatever formats were asked for: only the model sees them. */
function scrapeOf({ scrapeOptions, origin }: ExtractDto, rules: ExtractRules): ScrapeSpec {
  const onlyMainContent = scrapeOptions?.onlyMainContent ?? false;
  return scrapeSpecFromV2({ ...scrapeOptions, origin, onlyMainContent, formats: ['markdown'] }, rules);
}

function warningsOf({ agent, scrapeOptions }: ExtractDto): string[] {
  const formats = (scrapeOptions?.formats ?? []).some((format) => formatName(format) !== 'markdown');
  return [
    ...(agent === undefined ? [] : ['The option agent has no effect: POST /v2/agent starts an agent.']),
    ...(formats ? ['scrapeOptions.formats has no effect: pages are read as markdown.'] : []),
  ];
}

type Entry = { ok: true; url: string; target: string } | { ok: false; message: string };

/** The absolute address, with its `/*` if it had one. */
function readEntry(text: string): Entry {
  const trimmed = text.trim();
  const isWildcard = WILDCARD.test(trimmed);
  const page = readPageUrl(isWildcard ? trimmed.replace(WILDCARD, '/') : trimmed);
  if (!page.ok) return page;
  const target = canonicalize(page.url);
  if (target === null) return { ok: false, message: 'Invalid URL' };
  return { ok: true, url: isWildcard ? `${page.url.replace(/\/$/, '')}/*` : page.url, target };
}

function sortOut(texts: readonly string[], rules: ExtractRules) {
  const urls = new Set<string>();
  const invalid: string[] = [];
  for (const text of texts) {
    const entry = readEntry(text);
    if (entry.ok && isAllowed(entry.target, rules)) urls.add(entry.url);
    else invalid.push(text);
  }
  return { urls: [...urls], invalid };
}

function isAllowed(url: string, rules: ExtractRules): boolean {
  try {
    rules.checkTarget(url);
    return true;
  } catch (error) {
    if (error instanceof TroupeError) return false;
    throw error;
  }
}

function allValid(texts: readonly string[], rules: ExtractRules) {
  const issues: Issue[] = [];
  const urls = new Set<string>();
  texts.map(readEntry).forEach((entry, index) => {
    if (!entry.ok) issues.push(invalidUrl(entry.message, ['urls', index]));
    else if (issues.length === 0) {
      rules.checkTarget(entry.target);
      urls.add(entry.url);
    }
  });
  if (issues.length > 0) throw new InvalidBodyError(issues);
  return { urls: [...urls], invalid: [] };
}

/** The answer to the status of an extract job. */
export function extractToV2({ job, result }: ModelJob) {
  const { status, warning, error } = job;
  const asked = job.wireOptions as { showSources?: boolean } | null;
  return {
    success: status !== 'failed',
    data: result?.data ?? [],
    status: status === 'scraping' ? 'processing' : status,
    ...(error === null ? {} : { error }),
    ...(warning === null ? {} : { warning }),
    expiresAt: job.expiresAt.toISOString(),
    ...(result !== null && asked?.showSources ? { sources: result.sources } : {}),
    tokensUsed: job.tokens,
    creditsUsed: job.creditsUsed,
  };
}
