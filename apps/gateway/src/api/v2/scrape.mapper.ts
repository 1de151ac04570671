import { type Format, type ScrapeSpec } from '@troupe/contracts';
import {
  cacheSpecOf,
  changeTrackingOf,
  trackedWaitMs,
  type ChangeTrackingOptions,
  type DiffShape,
} from '../keeping.js';
import { keyIssues } from '../validation/fields.js';
import { formatName, isOffered, TRACKING, type FormatInput } from './formats.dto.js';
import { type ParserInput, type ScrapeOptionsDto } from './scrape-options.dto.js';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_AGE_MS = 172_800_000;

export interface ScrapeRules {
  maxScrapeTimeoutMs: number;
  changeTrackingDiffShape: DiffShape;
}

/** v2 words -> the model, with v2's defaults. Options that are not offered must have been refused before. */
export function scrapeSpecFromV2(options: ScrapeOptionsDto, rules: ScrapeRules): ScrapeSpec {
  const changeTracking = changeTrackingFromV2(options, rules);
  const isTracked = changeTracking !== null;
  const zeroRetention = options.zeroDataRetention ?? false;
  const waitForMs = options.waitFor ?? 0;
  return {
    formats: formatsFromV2(options.formats ?? ['markdown']),
    onlyMainContent: options.onlyMainContent ?? true,
    includeTags: options.includeTags ?? [],
    excludeTags: options.excludeTags ?? [],
    headers: options.headers ?? {},
    waitForMs: isTracked ? trackedWaitMs(waitForMs) : waitForMs,
    skipTlsVerification: options.skipTlsVerification ?? true,
    timeoutMs: Math.min(options.timeout ?? DEFAULT_TIMEOUT_MS, rules.maxScrapeTimeoutMs),
    removeBase64Images: options.removeBase64Images ?? true,
    engine: waitForMs > 0 ? 'browser' : isTracked ? 'browserIfAny' : 'auto',
    cache: cacheSpecOf(options, { isTracked, zeroRetention, defaultMaxAgeMs: DEFAULT_MAX_AGE_MS }),
    changeTracking,
    zeroRetention,
  };
}

function changeTrackingFromV2({ formats, origin }: ScrapeOptionsDto, rules: ScrapeRules): ScrapeSpec['changeTracking'] {
  const format = (formats ?? []).find((input) => formatName(input) === TRACKING);
  if (format === undefined) return null;
  const { modes, tag } = (typeof format === 'string' ? {} : format) as Record<string, never>;
  const options: ChangeTrackingOptions = { modes, tag };
  return changeTrackingOf(options, rules.changeTrackingDiffShape, origin);
}

function formatsFromV2(formats: FormatInput[]): Format[] {
  const names = new Set(formats.map(formatName));
  return [...names].filter(isOffered).map((type) => ({ type }));
}

/** What a client would have to send to get this model: the `scrapeOptions` of active crawls. */
export function scrapeSpecToV2(spec: ScrapeSpec) {
  return {
    formats: [...spec.formats.map(({ type }) => type), ...changeTrackingToV2(spec)],
    onlyMainContent: spec.onlyMainContent,
    includeTags: spec.includeTags,
    excludeTags: spec.excludeTags,
    headers: spec.headers,
    waitFor: spec.waitForMs,
    skipTlsVerification: spec.skipTlsVerification,
    timeout: spec.timeoutMs,
    removeBase64Images: spec.removeBase64Images,
    maxAge: spec.cache.maxAgeMs,
    ...(spec.cache.minAgeMs === null ? {} : { minAge: spec.cache.minAgeMs }),
    storeInCache: spec.cache.store,
  };
}

function changeTrackingToV2({ changeTracking }: ScrapeSpec): object[] {
  if (changeTracking === null) return [];
  const { tag, diff } = changeTracking;
  return [{ type: TRACKING, modes: diff ? ['git-diff'] : [], tag }];
}

/** Names of the options that ask for something this version does not offer. Default values ask for nothing. */
export function unofferedScrapeOptions(options: ScrapeOptionsDto): string[] {
  const names = new Set<string>();
  for (const format of options.formats ?? []) {
    if (formatName(format) !== TRACKING && !isOffered(formatName(format))) names.add(`format ${formatName(format)}`);
  }
  if (options.actions?.length) names.add('actions');
  if (options.mobile) names.add('mobile');
  if (options.proxy === 'stealth' || options.proxy === 'enhanced') names.add(`proxy ${options.proxy}`);
  if (isSpecialLocation(options.location)) names.add('location');
  if (options.parsers && !isDefaultParsers(options.parsers)) names.add('parsers');
  return [...names];
}

/** Anything but the United States without a language preference, which is where pages are fetched from anyway. */
export function isSpecialLocation(location: ScrapeOptionsDto['location']): boolean {
  if (!location) return false;
  const country = location.country?.toLowerCase() ?? 'us';
  return !country.startsWith('us') || (location.languages?.length ?? 0) > 0;
}

function isDefaultParsers(parsers: ParserInput[]): boolean {
  return parsers.length > 0 && parsers.every((parser) => parser === 'pdf' || isBarePdf(parser));
}

function isBarePdf(parser: ParserInput): boolean {
  return typeof parser === 'object' && parser.type === 'pdf' && keyIssues(parser, ['type']).length === 0;
}
