/** The view of a page, in v2 words <-> the model: actions, location, proxies and parsers (docs/api/scrape.md). */
import {
  DEFAULT_PDF,
  type Action,
  type LocationSpec,
  type PaperFormat,
  type ParsersSpec,
  type PdfSpec,
  type ScrapeSpec,
} from '@troupe/contracts';
import { needsBrowser as isMadeByBrowser, screenshotFromV2 } from '@troupe/formats';
import { type LocationInput, type ParserInput, type ScrapeOptionsDto } from './scrape-options.dto.js';

/** True: an option needs a browser. */
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
  return (formats ?? []).some(isMadeByBrowser);
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
