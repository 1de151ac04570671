/** How a page is seen, in v2 words <-> the model: actions, screenshots, location, proxies and parsers (docs/api/scrape.md). */
import { readSelectors, writeSelectors } from '@troupe/content';
import {
  DEFAULT_PDF,
  type Action,
  type Format,
  type JsonSchema,
  type LocationSpec,
  type PaperFormat,
  type ParsersSpec,
  type PdfSpec,
  type ScrapeSpec,
  type ScreenshotSpec,
  type SelectorSchema,
  type Viewport,
} from '@troupe/contracts';
import { formatName, isOffered, type FormatInput } from './formats.dto.js';
import { type LocationInput, type ParserInput, type ScrapeOptionsDto } from './scrape-options.dto.js';

/** Formats that exist only where a page is shown. */
const SHOWN_FORMATS: readonly string[] = ['screenshot', 'branding'];

/** Something is asked for that only a browser can do. */
export function needsBrowser(options: ScrapeOptionsDto): boolean {
  return (
    (options.waitFor ?? 0) > 0 ||
    (options.mobile ?? false) ||
    (options.actions ?? []).length > 0 ||
    isSpecialLocation(options.location) ||
    isShown(options)
  );
}

export function isShown({ formats }: ScrapeOptionsDto): boolean {
  return (formats ?? []).some((format) => SHOWN_FORMATS.includes(formatName(format)));
}

/** Each format once; formats that the model knows by a field of their own are left out. */
export function formatsFromV2(formats: FormatInput[]): Format[] {
  const known = new Map<string, Format>();
  for (const format of formats) {
    const words = typeof format === 'string' ? { type: format } : format;
    const meant = formatFromV2(words);
    if (meant !== null && !known.has(JSON.stringify(meant))) known.set(JSON.stringify(meant), meant);
  }
  return mergedAttributes([...known.values()]);
}

function formatFromV2(words: { type: string; [option: string]: unknown }): Format | null {
  const { type } = words;
  if (type === 'query') return queryFromV2(words);
  if (!isOffered(type)) return null;
  if (type === 'screenshot') return { type, ...screenshotFromV2(words) };
  if (type === 'attributes') return { type, selectors: words.selectors as { selector: string; attribute: string }[] };
  if (type === 'json') return jsonFormatFromV2(words);
  if (type === 'question') return { type, question: words.question as string };
  if (type === 'highlights') return { type, query: words.query as string };
  return { type };
}

/** The old word for two formats. */
function queryFromV2({ prompt, mode }: Record<string, unknown>): Format {
  if (mode === 'directQuote') return { type: 'highlights', query: prompt as string };
  return { type: 'question', question: prompt as string };
}

function jsonFormatFromV2({ key, ...words }: Record<string, unknown>): Format {
  return {
    type: 'json',
    ...wishFromV2(words),
    selectors: selectorsFromV2(words.selectors),
    learn: (words.learn as boolean | undefined) ?? false,
    ...(key === 'extract' ? { key } : {}),
  };
}

/** Selectors that have been checked. */
function selectorsFromV2(words: unknown): SelectorSchema | null {
  const read = words === undefined ? null : readSelectors(words);
  return read !== null && 'schema' in read ? read.schema : null;
}

function jsonFormatToV2({ selectors, learn, ...wish }: Extract<Format, { type: 'json' }>): FormatInput {
  return {
    type: 'json',
    ...wishToV2(wish),
    ...(selectors === null ? {} : { selectors: writeSelectors(selectors) }),
    ...(learn ? { learn } : {}),
  };
}

export function wishFromV2({ prompt, schema }: Record<string, unknown>) {
  return { prompt: (prompt as string | undefined) ?? null, schema: (schema as JsonSchema | undefined) ?? null };
}

export function wishToV2({ prompt, schema }: { prompt: string | null; schema: JsonSchema | null }) {
  return { ...(prompt === null ? {} : { prompt }), ...(schema === null ? {} : { schema }) };
}

/** Several `attributes` formats are one with all their selectors: a document has one such key. */
function mergedAttributes(formats: Format[]): Format[] {
  const asked = formats.filter((format) => format.type === 'attributes');
  if (asked.length < 2) return formats;
  const selectors = asked.flatMap((format) => format.selectors);
  return [...formats.filter(({ type }) => type !== 'attributes'), { type: 'attributes', selectors }];
}

export function formatToV2(format: Format): FormatInput {
  switch (format.type) {
    case 'screenshot':
      return { type: format.type, ...screenshotToV2(format) };
    case 'json':
      return jsonFormatToV2(format);
    case 'attributes':
    case 'question':
    case 'highlights':
      return { ...format };
    default:
      return format.type;
  }
}

function screenshotFromV2(words: Record<string, unknown>): ScreenshotSpec {
  return {
    fullPage: (words.fullPage as boolean | undefined) ?? false,
    quality: (words.quality as number | undefined) ?? null,
    viewport: (words.viewport as Viewport | undefined) ?? null,
  };
}

function screenshotToV2({ fullPage, quality, viewport }: ScreenshotSpec): object {
  return { fullPage, ...(quality === null ? {} : { quality }), ...(viewport === null ? {} : { viewport }) };
}

/** Actions that have been checked. */
export function actionsFromV2(actions: Record<string, unknown>[]): Action[] {
  return actions.map(actionFromV2);
}

function actionFromV2(words: Record<string, unknown>): Action {
  const selector = (words.selector as string | undefined) ?? null;
  switch (words.type as Action['type']) {
    case 'wait':
      return { type: 'wait', selector, ms: (words.milliseconds as number | undefined) ?? 0 };
    case 'click':
      return { type: 'click', selector: selector ?? '', all: (words.all as boolean | undefined) ?? false };
    case 'write':
      return { type: 'write', text: words.text as string, selector };
    case 'press':
      return { type: 'press', key: words.key as string };
    case 'scroll':
      return { type: 'scroll', direction: (words.direction as 'up' | 'down' | undefined) ?? 'down', selector };
    case 'screenshot':
      return { type: 'screenshot', ...screenshotFromV2(words) };
    case 'scrape':
      return { type: 'scrape', selector };
    case 'executeJavascript':
      return { type: 'executeJavascript', script: words.script as string };
    case 'pdf':
      return {
        type: 'pdf',
        format: (words.format as PaperFormat | undefined) ?? 'Letter',
        landscape: (words.landscape as boolean | undefined) ?? false,
        scale: (words.scale as number | undefined) ?? 1,
      };
  }
}

export function actionToV2(action: Action): object {
  const { type, ...fields } = action;
  const named = type === 'wait' && action.ms > 0 ? { milliseconds: action.ms } : {};
  const kept = Object.entries(fields).filter(([key, value]) => value !== null && !(type === 'wait' && key === 'ms'));
  return { type, ...Object.fromEntries(kept), ...named };
}

/** Anything but the United States without a language preference, which is where pages are fetched from anyway. */
function isSpecialLocation(location: LocationInput | undefined): boolean {
  if (!location) return false;
  const country = location.country?.toLowerCase() ?? 'us';
  return !country.startsWith('us') || (location.languages?.length ?? 0) > 0;
}

export function locationFromV2(location: LocationInput | undefined): LocationSpec | null {
  if (!location || !isSpecialLocation(location)) return null;
  return { country: (location.country ?? 'US').slice(0, 2).toUpperCase(), languages: location.languages ?? [] };
}

export function proxyFromV2(proxy: string | undefined): ScrapeSpec['proxy'] {
  if (proxy === 'stealth' || proxy === 'enhanced') return 'stealth';
  return proxy === 'basic' ? 'basic' : 'auto';
}

export function parsersFromV2(parsers: ParserInput[]): ParsersSpec {
  const named = parsers.map((parser) => (typeof parser === 'string' ? { type: parser } : parser));
  const pdf = named.findLast(({ type }) => type === 'pdf');
  return { pdf: pdf === undefined ? null : pdfFromV2(pdf), image: named.some(({ type }) => type === 'image') };
}

function pdfFromV2(words: Record<string, unknown>): PdfSpec {
  return {
    mode: (words.mode as PdfSpec['mode'] | undefined) ?? DEFAULT_PDF.mode,
    maxPages: (words.maxPages as number | undefined) ?? null,
    pages: ((words.pages ?? words.pageMarkdown) as boolean | undefined) ?? false,
    pageMarkers: (words.pageMarkers as boolean | undefined) ?? false,
  };
}

export function parsersToV2({ pdf, image }: ParsersSpec): ParserInput[] {
  const words: ParserInput[] = image ? ['image'] : [];
  if (pdf === null) return words;
  const { maxPages, ...rest } = pdf;
  return [{ type: 'pdf', ...rest, ...(maxPages === null ? {} : { maxPages }) }, ...words];
}
