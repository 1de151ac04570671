/** The wishes for a page, in the core's own words: no optionals, no defaults, no wire version. */
import { TroupeError } from '../errors.js';
import type { JsonSchema, ModelFormat } from './model-spec.js';

export type Format =
  | { type: 'markdown' }
  | { type: 'html' }
  | { type: 'rawHtml' }
  | { type: 'links' }
  | { type: 'images' }
  | { type: 'branding' }
  | { type: 'product' }
  | ({ type: 'screenshot' } & ScreenshotSpec)
  | { type: 'attributes'; selectors: AttributeSelector[] }
  | ModelFormat;
export type FormatName = Format['type'];

/** In CSS pixels. */
export interface Viewport {
  width: number;
  height: number;
}

export interface ScreenshotSpec {
  fullPage: boolean;
  /** Below 100: a JPEG of this quality; null or 100: a PNG. */
  quality: number | null;
  /** null: the page's own. */
  viewport: Viewport | null;
}

/** Values of an attribute of all elements that a CSS selector finds. */
export interface AttributeSelector {
  selector: string;
  attribute: string;
}

export const PAPER_FORMATS = [
  'A0',
  'A1',
  'A2',
  'A3',
  'A4',
  'A5',
  'A6',
  'Letter',
  'Legal',
  'Tabloid',
  'Ledger',
] as const;
export type PaperFormat = (typeof PAPER_FORMATS)[number];

/** A step that is done on a page before it is read, in order (docs/api/scrape.md, "Actions"). */
export type Action =
  | { type: 'wait'; selector: string | null; ms: number }
  | { type: 'click'; selector: string; all: boolean }
  | { type: 'write'; text: string; selector: string | null }
  | { type: 'press'; key: string }
  | { type: 'scroll'; direction: 'up' | 'down'; selector: string | null }
  | ({ type: 'screenshot' } & ScreenshotSpec)
  | { type: 'scrape'; selector: string | null }
  | { type: 'executeJavascript'; script: string }
  | { type: 'pdf'; format: PaperFormat; landscape: boolean; scale: number };

/** Where the reader seems to be. */
export interface LocationSpec {
  /** ISO 3166-1 alpha-2, upper case. */
  country: string;
  /** BCP 47, most wanted first; empty: those of the country. */
  languages: string[];
}

/** How a PDF is read (docs/api/formats.md, "Parsers"). */
export interface PdfSpec {
  /** `fast`: embedded text only; `ocr`: always recognised; `auto`: where there is no text. */
  mode: 'fast' | 'auto' | 'ocr';
  /** null: all of them. */
  maxPages: number | null;
  /** One markdown per page besides the whole. */
  pages: boolean;
  /** A comment with its number before each page but the first. */
  pageMarkers: boolean;
}

export interface ParsersSpec {
  /** null: a document comes back as it is, in base64. */
  pdf: PdfSpec | null;
  /** Text is recognised in images. */
  image: boolean;
}

export type ProxyClass = 'basic' | 'stealth';

/** When a page stored earlier stands for a request, and whether this page is stored (docs/api/limits.md, "Cache"). */
export interface CacheSpec {
  /** An entry younger than this is served; 0: the cache is not consulted. */
  maxAgeMs: number;
  /** An entry at least this old must exist, no request is made; null: a page that is not in the cache is fetched. */
  minAgeMs: number | null;
  store: boolean;
  /** Whether a site's word that the source of a page has not changed also holds for what scripts made of it. @default it does not */
  revalidate?: 'source';
}

/** Comparison with the newest earlier scrape of the same team, URL and tag (docs/api/formats.md). */
export interface ChangeTrackingSpec {
  /** Name of the history; null = the default one. */
  tag: string | null;
  /** Show the differences of a changed page. */
  diff: boolean;
  /** How they are shown: a unified diff, or an object that holds it beside its parts. */
  diffShape: 'string' | 'object';
  /** A model names the differences of a changed page; null: it is not asked. */
  json: { prompt: string | null; schema: JsonSchema | null } | null;
}

export interface ScrapeSpec {
  formats: Format[];
  /** Strip boilerplate; when that leaves nothing the whole page is used. */
  onlyMainContent: boolean;
  /** CSS selectors; include first, then exclude. `*text*` in excludeTags is a case-insensitive pattern. */
  includeTags: string[];
  excludeTags: string[];
  /** Sent with the page request, and only to the page's own origin. */
  headers: Record<string, string>;
  /** Extra wait after load; above 0 the browser engine is used. */
  waitForMs: number;
  skipTlsVerification: boolean;
  /** Budget of the whole scrape, queue time included. */
  timeoutMs: number;
  removeBase64Images: boolean;
  /**
   * `auto` climbs the ladder http -> got -> browser. `browser` starts at its top; `browserIfAny` too, but climbs where no
   * browser is available. Internal: it follows from the request.
   */
  engine: 'auto' | 'browser' | 'browserIfAny';
  /** Viewport, touch and user agent of a phone. */
  mobile: boolean;
  /** Advertising and cookie banners are not loaded, or taken away. */
  blockAds: boolean;
  /** null: nowhere in particular. */
  location: LocationSpec | null;
  actions: Action[];
  /** `auto`: basic, and stealth once the site turns that away. */
  proxy: ProxyClass | 'auto';
  parsers: ParsersSpec;
  cache: CacheSpec;
  /** null: not asked for. */
  changeTracking: ChangeTrackingSpec | null;
  /** Nothing of the page is kept once it is answered or delivered. */
  zeroRetention: boolean;
}

export const DEFAULT_PDF: PdfSpec = { mode: 'auto', maxPages: null, pages: false, pageMarkers: false };

/** A page without anything special: fetched anew, kept nowhere, seen as it comes. */
export const PLAIN_PAGE: Pick<
  ScrapeSpec,
  'cache' | 'changeTracking' | 'zeroRetention' | 'mobile' | 'blockAds' | 'location' | 'actions' | 'proxy' | 'parsers'
> = {
  cache: { maxAgeMs: 0, minAgeMs: null, store: false },
  changeTracking: null,
  zeroRetention: false,
  mobile: false,
  blockAds: false,
  location: null,
  actions: [],
  proxy: 'basic',
  parsers: { pdf: DEFAULT_PDF, image: false },
};

/** The caller wants something that only a browser does. Any other page is asked for without one first. */
export function asksForBrowser({ engine, waitForMs }: Pick<ScrapeSpec, 'engine' | 'waitForMs'>): boolean {
  return engine !== 'auto' || waitForMs > 0;
}

/** Actions that look without touching. */
const HARMLESS: ReadonlySet<Action['type']> = new Set(['wait', 'scroll', 'screenshot', 'scrape', 'pdf']);

/** It may be done twice unseen: none of its actions may change something at the site. */
export function isRepeatable({ actions }: Pick<ScrapeSpec, 'actions'>): boolean {
  return actions.every(({ type }) => HARMLESS.has(type));
}

/** The error of a scrape that may not be done twice when the process that did it is gone. */
export function actionsLost(): TroupeError {
  const text =
    'The process that performed the actions has died: some of them may have been performed. They were not repeated; ask again if they may be';
  return new TroupeError('SCRAPE_ACTION_ERROR', text, { retryable: true });
}

/** A scrape of which nothing special is asked: the whole page, by whatever engine gets it. */
export function plainScrape(wanted: Pick<ScrapeSpec, 'formats' | 'timeoutMs'> & Partial<ScrapeSpec>): ScrapeSpec {
  return {
    onlyMainContent: false,
    includeTags: [],
    excludeTags: [],
    headers: {},
    waitForMs: 0,
    skipTlsVerification: true,
    removeBase64Images: true,
    engine: 'auto',
    ...PLAIN_PAGE,
    ...wanted,
  };
}

/** The spec of a job that may have been started by an older version, which did not know of some fields. */
export function completeSpec(spec: ScrapeSpec): ScrapeSpec {
  return { ...PLAIN_PAGE, ...spec };
}

/** The work on a page that counts for its price. */
export interface PageEffort {
  proxyUsed: ProxyClass;
  /** Pages of a document that were read; null: no document. */
  numPages: number | null;
}

const STEALTH_CREDITS = 4;

/** Price of a page in credits, when it is had (docs/api/limits.md, "Credits"). */
export function pageCredits(
  { zeroRetention }: Pick<ScrapeSpec, 'zeroRetention'>,
  { proxyUsed, numPages }: PageEffort = { proxyUsed: 'basic', numPages: null },
): number {
  const pages = Math.max(1, numPages ?? 1);
  return pages + (proxyUsed === 'stealth' ? STEALTH_CREDITS : 0) + (zeroRetention ? 1 : 0);
}
