import { completeSpec, type ScrapeSpec } from '@troupe/contracts';
import { formatsFromV2, formatToV2, modelPromptFromV2, modelPromptToV2 } from '@troupe/formats';
import { cacheSpecOf, changeTrackingOf, trackedWaitMs, type DiffShape } from '../cache-options.js';
import { formatName, needsModel, SELECTORS, TRACKING } from './formats.dto.js';
import {
  actionsFromV2,
  actionToV2,
  isShown,
  locationFromV2,
  needsBrowser,
  parsersFromV2,
  parsersToV2,
  proxyFromV2,
} from './page-view.mapper.js';
import { type ScrapeOptionsDto } from './scrape-options.dto.js';

const DEFAULT_TIMEOUT_MS = 30_000;
/** A language model has to write something. */
const MODEL_TIMEOUT_MS = 60_000;
/** Proxies that pass for readers are slow. */
const STEALTH_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_AGE_MS = 172_800_000;

export interface ScrapeRules {
  maxScrapeTimeoutMs: number;
  changeTrackingDiffShape: DiffShape;
}

/** v2 words -> the model, with v2's defaults. Options that are not offered must have been refused before. */
// eslint-disable-next-line complexity -- one default a field
export function scrapeSpecFromV2(options: ScrapeOptionsDto, rules: ScrapeRules): ScrapeSpec {
  const changeTracking = changeTrackingFromV2(options, rules);
  const isTracked = changeTracking !== null;
  const zeroRetention = options.zeroDataRetention ?? false;
  const waitForMs = options.waitFor ?? 0;
  const proxy = proxyFromV2(options.proxy);
  return {
    formats: formatsFromV2(options.formats ?? ['markdown'], SELECTORS),
    onlyMainContent: options.onlyMainContent ?? true,
    includeTags: options.includeTags ?? [],
    excludeTags: options.excludeTags ?? [],
    headers: options.headers ?? {},
    waitForMs: isTracked ? trackedWaitMs(waitForMs) : waitForMs,
    skipTlsVerification: options.skipTlsVerification ?? true,
    timeoutMs: Math.min(options.timeout ?? omittedTimeoutMs(options, proxy), rules.maxScrapeTimeoutMs),
    removeBase64Images: options.removeBase64Images ?? true,
    engine: needsBrowser(options) ? 'browser' : isTracked ? 'browserIfAny' : 'auto',
    mobile: options.mobile ?? false,
    blockAds: options.blockAds ?? true,
    location: locationFromV2(options.location),
    actions: actionsFromV2(options.actions ?? []),
    proxy,
    parsers: parsersFromV2(options.parsers ?? ['pdf']),
    cache: cacheSpecOf(options, {
      isTracked,
      isShown: isShown(options),
      zeroRetention,
      defaultMaxAgeMs: DEFAULT_MAX_AGE_MS,
    }),
    changeTracking,
    zeroRetention,
  };
}

function omittedTimeoutMs({ formats = [] }: ScrapeOptionsDto, proxy: ScrapeSpec['proxy']): number {
  if (proxy === 'stealth') return STEALTH_TIMEOUT_MS;
  return formats.some(needsModel) ? MODEL_TIMEOUT_MS : DEFAULT_TIMEOUT_MS;
}

function changeTrackingFromV2({ formats, origin }: ScrapeOptionsDto, rules: ScrapeRules): ScrapeSpec['changeTracking'] {
  const format = (formats ?? []).find((input) => formatName(input) === TRACKING);
  if (format === undefined) return null;
  const { modes, tag, ...words } = (typeof format === 'string' ? {} : format) as Record<string, unknown>;
  const options = {
    modes: modes as string[] | undefined,
    tag: tag as string | null | undefined,
    wish: modelPromptFromV2(words),
  };
  return changeTrackingOf(options, rules.changeTrackingDiffShape, origin);
}

/** The body that a client would have to send to get this model: the `scrapeOptions` of active crawls. */
export function scrapeSpecToV2(stored: ScrapeSpec) {
  const spec = completeSpec(stored);
  return {
    formats: [...spec.formats.map((format) => formatToV2(format, SELECTORS)), ...changeTrackingToV2(spec)],
    onlyMainContent: spec.onlyMainContent,
    includeTags: spec.includeTags,
    excludeTags: spec.excludeTags,
    headers: spec.headers,
    waitFor: spec.waitForMs,
    skipTlsVerification: spec.skipTlsVerification,
    timeout: spec.timeoutMs,
    removeBase64Images: spec.removeBase64Images,
    mobile: spec.mobile,
    blockAds: spec.blockAds,
    ...(spec.location === null ? {} : { location: spec.location }),
    ...(spec.actions.length === 0 ? {} : { actions: spec.actions.map(actionToV2) }),
    proxy: spec.proxy,
    parsers: parsersToV2(spec.parsers),
    maxAge: spec.cache.maxAgeMs,
    ...(spec.cache.minAgeMs === null ? {} : { minAge: spec.cache.minAgeMs }),
    storeInCache: spec.cache.store,
    ...(spec.cache.revalidate === undefined ? {} : { revalidate: spec.cache.revalidate }),
  };
}

function changeTrackingToV2({ changeTracking }: ScrapeSpec): object[] {
  if (changeTracking === null) return [];
  const { tag, diff, json } = changeTracking;
  const modes = [...(diff ? ['git-diff'] : []), ...(json == null ? [] : ['json'])];
  return [{ type: TRACKING, modes, tag, ...(json == null ? {} : modelPromptToV2(json)) }];
}
