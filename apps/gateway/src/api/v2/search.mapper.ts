import { type ScrapeSpec } from '@troupe/contracts';
import { type SearchAge, type SearchSource } from '@troupe/search';
import { type SearchAnswer, type SearchResult } from '../../search/search.service.js';
import { type SearchCategory, type SearchSpec, type SourceSpec } from '../../search/search-spec.js';
import { ApiError } from '../../errors/api-error.js';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { warningOf, withoutEffect } from '../validation/read-body.js';
import { formatName } from './formats.dto.js';
import { type ScrapeOptionsDto } from './scrape-options.dto.js';
import { scrapeSpecFromV2, type ScrapeRules } from './scrape.mapper.js';
import { HOSTED_SOURCES, nameOf, type SearchDto, type TypedInput } from './search.dto.js';

const DEFAULT_LIMIT = 10;
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_LANGUAGE = 'en';
const DEFAULT_COUNTRY = 'us';
/** `qdr:w2` and the like: results of the last two weeks. */
const AGE = /^qdr:([hdwmy])\d*$/;
const AGES: Record<string, SearchAge> = { h: 'day', d: 'day', w: 'week', m: 'month', y: 'year' };

/** `tbs`, `lang` … of the body, or of one of its sources. */
type Words = Record<string, unknown>;

export function searchSpecFromV2(body: SearchDto, limits: ScrapeRules): SearchSpec {
  const hosts = (list: string[] | undefined) => (list ?? []).map((host) => host.toLowerCase());
  return {
    query: body.query.trim(),
    limit: body.limit ?? DEFAULT_LIMIT,
    sources: sourcesOf(body),
    categories: [...new Set((body.categories ?? []).map(nameOf))] as SearchCategory[],
    includeDomains: hosts(body.includeDomains),
    excludeDomains: hosts(body.excludeDomains),
    dropsForbidden: body.ignoreInvalidURLs ?? false,
    safe: body.safe ?? false,
    scrape: scrapeOf(body.scrapeOptions, limits),
    timeoutMs: Math.min(body.timeout ?? DEFAULT_TIMEOUT_MS, limits.maxScrapeTimeoutMs),
  };
}

/** Nothing is scraped unless a format is asked for. @throws InvalidBodyError */
function scrapeOf(options: ScrapeOptionsDto | undefined, limits: ScrapeRules): ScrapeSpec | null {
  if (!options?.formats?.length) return null;
  if (options.formats.some((format) => formatName(format) === 'changeTracking')) {
    const issue = customIssue('The changeTracking format is not available in searches', ['scrapeOptions', 'formats']);
    throw new InvalidBodyError([issue]);
  }
  return scrapeSpecFromV2(options, limits);
}

/** Warnings about options that no provider supports. */
export function searchWarnings(body: SearchDto): string[] {
  const words: Words[] = [{ ...body }, ...(body.sources ?? []).filter((source) => typeof source === 'object')];
  const unheard = (['filter', 'location'] as const).filter((name) => words.some((said) => said[name] !== undefined));
  const unknownAges = words.flatMap(({ tbs }) => (typeof tbs === 'string' && ageOf(tbs) === null ? [tbs] : []));
  // The clients that send the hosted source also send this without being asked to.
  const isMissed = body.domainTools === true && !(body.sources ?? []).some(isHosted);
  return [
    ...(isMissed ? [withoutEffect('domainTools')] : []),
    ...unheard.map((name) => `The option ${name} has no effect with this search provider.`),
    ...unknownAges.map((tbs) => `The search provider does not know tbs ${tbs}.`),
  ];
}

function isHosted(input: TypedInput): boolean {
  return HOSTED_SOURCES.includes(nameOf(input) as string);
}

/** @throws ApiError 403 for a hosted source alone: clients recognise this text, and search the web instead */
function sourcesOf(body: SearchDto): SourceSpec[] {
  const sent: TypedInput[] = body.sources?.length ? body.sources : ['web'];
  const asked = sent.filter((input) => !isHosted(input));
  if (asked.length === 0) throw new ApiError(403, 'This endpoint is not enabled for this team.');
  const specs = new Map<SearchSource, SourceSpec>();
  for (const input of asked) {
    const own: Words = typeof input === 'string' ? {} : input;
    const source = nameOf(input) as SearchSource;
    if (!specs.has(source)) specs.set(source, sourceSpec(source, { ...body, ...own }));
  }
  return [...specs.values()];
}

function sourceSpec(source: SearchSource, { tbs, lang, country, location }: Words): SourceSpec {
  const defaultCountry = location === undefined ? DEFAULT_COUNTRY : undefined;
  return { source, language: languageOf(lang ?? DEFAULT_LANGUAGE, country ?? defaultCountry), maxAge: ageOf(tbs) };
}

/** `en`, `us` -> `en-US`; null when the language is none. */
function languageOf(lang: unknown, country: unknown): string | null {
  const language = typeof lang === 'string' && /^[a-z]{2,3}$/i.test(lang) ? lang.toLowerCase() : null;
  const isCountry = typeof country === 'string' && /^[a-z]{2}$/i.test(country);
  return language !== null && isCountry ? `${language}-${country.toUpperCase()}` : language;
}

function ageOf(tbs: unknown): SearchAge | null {
  const unit = typeof tbs === 'string' ? AGE.exec(tbs)?.[1] : undefined;
  return unit === undefined ? null : AGES[unit]!;
}

/** The answer in pieces: documents are copied as they are, never parsed. */
export function* searchAnswerToV2({
  id,
  creditsUsed,
  results,
  failures,
  warnings,
}: SearchAnswer): Generator<Uint8Array | string> {
  yield `{"success":true,"id":"${id}","creditsUsed":${creditsUsed},"data":{`;
  let isFirst = true;
  for (const [source, list] of results) {
    yield `${isFirst ? '' : ','}"${source}":[`;
    yield* itemsOf(list, ITEMS[source]);
    yield ']';
    isFirst = false;
  }
  yield `}${notesOf({ failures, warnings })}}`;
}

/** Keys at the end of an answer, after a comma. */
export function notesOf({ failures, warnings }: Pick<SearchAnswer, 'failures' | 'warnings'>): string {
  const notes = {
    ...(failures.length === 0 ? {} : { errors: failures }),
    ...warningOf(warnings),
  };
  const keys = JSON.stringify(notes).slice(1, -1);
  return keys === '' ? '' : `,${keys}`;
}

/** Results as items of a JSON list, without its brackets. */
export function* itemsOf(
  results: SearchResult[],
  toItem: (result: SearchResult) => object,
): Generator<Uint8Array | string> {
  for (const [index, result] of results.entries()) {
    if (index > 0) yield ',';
    yield* withPage(toItem(result), result.page);
  }
}

/** Clients tell scraped results by the presence of keys: without a document there must be none of a document. */
function* withPage(item: object, page: SearchResult['page']): Generator<Uint8Array | string> {
  if (page === null) return yield JSON.stringify(item);
  yield `${JSON.stringify(item).slice(0, -1)},`;
  yield page.subarray(1);
}

const ITEMS: Record<SearchSource, (result: SearchResult) => object> = {
  web: ({ url, title, text, position, category }) => ({
    url,
    title,
    description: text,
    position,
    ...(category === null ? {} : { category }),
  }),
  news: ({ url, title, text, date, imageUrl, position, category }) => ({
    title,
    url,
    snippet: text,
    ...(date === null ? {} : { date }),
    ...(imageUrl === null ? {} : { imageUrl }),
    position,
    ...(category === null ? {} : { category }),
  }),
  images: ({ url, title, imageUrl, imageSize, position }) => ({
    title,
    ...(imageUrl === null ? {} : { imageUrl }),
    ...(imageSize === null ? {} : { imageWidth: imageSize.width, imageHeight: imageSize.height }),
    url,
    position,
  }),
};
