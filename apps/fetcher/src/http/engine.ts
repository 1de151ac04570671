/** Port of a fetch engine: one way of turning a URL into bytes. Three adapters: http, got, browser. */
import type { OpenTunnel } from '@troupe/egress';
import type {
  Captured,
  EngineName,
  ProxyClass,
  ScreenshotSpec,
  ScrapeSpec,
  TraceParent,
  Uuid,
} from '@troupe/contracts';

/** How a browser shows the page, and what it captures beside the DOM. */
export interface PageView extends Pick<ScrapeSpec, 'mobile' | 'blockAds' | 'location' | 'actions'> {
  /** null: none. */
  screenshot: ScreenshotSpec | null;
  branding: boolean;
}

/** A proxy between fetcher and sites, as engines use it. Proxies are told apart by object identity. */
export interface UpstreamProxy {
  readonly open: OpenTunnel;
}

export interface EngineRequest {
  url: string;
  /** The caller's own headers: sent to the origin of `url` only, dropped for good once a redirect leaves it. */
  headers: Record<string, string>;
  /** Everything from DNS to the last byte, redirects included. */
  timeoutMs: number;
  /** Limit of the body, both before and after content decoding. */
  maxBytes: number;
  skipTlsVerification: boolean;
  /** Extra wait after the page has settled; engines without a browser ignore it. */
  waitForMs: number;
  /** Engines without a browser ignore it. */
  view: PageView;
  /** The class of proxies to use, if there are any. */
  proxy: ProxyClass;
  /** The team whose proxies are used; null: the deployment's own requests. */
  team: Uuid | null;
  /** The proxy that was chosen for this request; absent: it goes out directly. */
  upstream?: UpstreamProxy;
  /** Pages with the same key share browser contexts, one page at a time in each; null: a fresh one for this page. */
  contextKey: string | null;
  /** Pictures and files of the page may be stored, and given by their address. @default false */
  mayStoreFiles?: boolean;
  /**
   * Called before each redirect is followed, with the absolute target; a rejection stops the fetch with that error.
   * Here the lane checks robots, scope and politeness. The address is checked by the engine itself.
   */
  onRedirect(url: string): Promise<void>;
  /** Trace of the scrape or lane it is fetched for, when that is recorded. Never sent to a site. */
  trace?: TraceParent;
}

export interface EngineResponse {
  statusCode: number;
  statusText: string;
  /** Names in lower case; repeated headers joined by `, `. */
  headers: Record<string, string>;
  /** Content-decoded, in the page's own charset; UTF-8 when `rendered`. */
  body: Uint8Array;
  /** Address of the answer, after redirects. */
  finalUrl: string;
  /** Addresses that followed `url`, in order; the last one equals `finalUrl` unless a script changed it. */
  redirects: string[];
  contentType: string | null;
  /** `Retry-After` as a duration, at most 15 min; null without the header. */
  retryAfterMs: number | null;
  ms: number;
  /** The body is a serialised DOM. */
  rendered: boolean;
  engine: EngineName;
  proxyUsed: ProxyClass;
  /** Results that the view asked for; null without a browser. */
  captured: Captured | null;
  /** Time zone of the emulated location; null without one. */
  timezone: string | null;
  /** The answer is a stored one, and its site says that it has not changed. @default false */
  revalidated?: boolean;
}

export const PLAIN_VIEW: PageView = {
  mobile: false,
  blockAds: false,
  location: null,
  actions: [],
  screenshot: null,
  branding: false,
};

/** The browser's fields in an answer of an engine without a browser. */
export const WITHOUT_BROWSER = { rendered: false, captured: null, timezone: null } satisfies Partial<EngineResponse>;

export interface FetchEngine {
  /**
   * Rejects with a `TroupeError`: SCRAPE_TIMEOUT, SCRAPE_SITE_ERROR, SCRAPE_SSL_ERROR, SCRAPE_DNS_RESOLUTION_ERROR,
   * SCRAPE_TARGET_FORBIDDEN, UNSUPPORTED_SITE, SCRAPE_BODY_TOO_LARGE, SCRAPE_TOO_MANY_REDIRECTS,
   * SCRAPE_UNSUPPORTED_FILE_ERROR, SCRAPE_ALL_ENGINES_FAILED (no browser here), SCRAPE_ACTION_ERROR,
   * SCRAPE_ACTIONS_NOT_SUPPORTED (no browser, or a file), BAD_REQUEST (a header that cannot be sent),
   * SCRAPE_JOB_CANCELLED when `signal` fires (a `TroupeError` as its reason is passed on), or what `onRedirect`
   * rejected with. When it settles, nothing of the request is left running; a tab of the browser takes a moment more to
   * leave its page.
   */
  fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse>;
  close(): Promise<void>;
}

/** Engines by these tokens go through proxies and are counted. */
export const ENGINE_TOKENS = {
  http: Symbol('http engine'),
  got: Symbol('got engine'),
  browser: Symbol('browser engine'),
} as const satisfies Record<EngineName, symbol>;

/** How Troupe names itself to sites. */
export interface Identity {
  userAgent: string;
  contactUrl: string | null;
}

export function identityOf({ userAgent, contactUrl }: { userAgent: string; contactUrl?: string }): Identity {
  return { userAgent, contactUrl: contactUrl ?? null };
}

export const MAX_BODY_BYTES = 100 * 1024 * 1024;
export const MAX_RENDERED_BYTES = 20 * 1024 * 1024;
export const MAX_REDIRECTS = 20;
export const CONNECT_TIMEOUT_MS = 10_000;

/** The product's name and version, and where its operator can be reached. */
export function userAgentText(identity: Identity): string {
  return identity.contactUrl === null ? identity.userAgent : `${identity.userAgent} (+${identity.contactUrl})`;
}
