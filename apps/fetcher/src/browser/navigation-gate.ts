/**
 * Every navigation of a page's main frame passes here before its request is sent: the first one, redirects, and what
 * scripts and meta refreshes lead to. Its address is checked and the caller is asked. Other requests pass here only if
 * they get the caller's headers, which are added for the page's own origin alone, or if a filter may refuse them.
 * Playwright's routes do not see redirects, so this speaks DevTools protocol.
 */
import { checkUrlTarget, portOf, type AllowList, type Resolver } from '@troupe/egress';
import { TroupeError } from '@troupe/contracts';
import type { AdFilter } from '../ads/index.js';
import type { BrowserTab, PausedRequest, RequestPattern } from './browser-tab.js';
import { refuseRedirect } from '../http/engine-errors.js';
import { MAX_REDIRECTS, type EngineRequest, type PageView } from '../http/engine.js';
import { callerHeaders } from '../http/request-headers.js';

/**
 * Resources that a page does without when it is only read. Images are answered with one pixel, so that the page does
 * not try to mend broken ones.
 */
const UNSEEN = ['Image', 'Font', 'Media'] as const;
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

export interface GateOptions {
  resolver: Resolver;
  allow: AllowList;
  /** Filter of the requests of the page; null: it may load everything. */
  ads: AdFilter | null;
}

export class NavigationGate {
  readonly redirects: string[] = [];
  /** Rejects with the reason when a navigation was refused; never resolves. */
  readonly refused: Promise<never>;
  private refuse: (reason: unknown) => void = () => undefined;
  private readonly own: Record<string, string>;
  private readonly origin: string;
  private hasStarted = false;

  private constructor(
    private readonly tab: BrowserTab,
    private readonly request: EngineRequest,
    private readonly options: GateOptions,
  ) {
    this.refused = new Promise<never>((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined);
    this.own = callerHeaders(request.headers);
    this.origin = new URL(request.url).origin;
  }

  /** Installs the gate on a tab that has not navigated yet. */
  static async install(tab: BrowserTab, request: EngineRequest, options: GateOptions): Promise<NavigationGate> {
    const gate = new NavigationGate(tab, request, options);
    await gate.addCookies();
    await tab.intercept(gate.patterns(), (paused) => void gate.decide(paused));
    return gate;
  }

  private patterns(): RequestPattern[] {
    const types = isOnlyRead(this.request.view) ? (['Document', ...UNSEEN] as const) : (['Document'] as const);
    const ownRequests = this.ownHeaders().length > 0 ? [`${this.origin}/*`] : [];
    const addresses = [...ownRequests, ...(this.options.ads?.patterns ?? [])];
    return [
      ...types.map((resourceType) => ({ urlPattern: '*', resourceType })),
      ...addresses.map((urlPattern) => ({ urlPattern })),
    ];
  }

  private async decide(paused: PausedRequest): Promise<void> {
    const isMain = paused.resourceType === 'Document' && paused.frameId === this.tab.mainFrame;
    try {
      if (isMain) await this.admit(paused.request.url);
      else if (this.isAd(paused)) return await this.stop(paused);
      else if (this.isUnseen(paused)) return await this.withhold(paused);
      const { requestId } = paused;
      const headers = this.headersFor(paused);
      const kept = headers === undefined ? { requestId } : { requestId, headers };
      await this.tab.session.send('Fetch.continueRequest', kept);
    } catch (error) {
      if (isMain) this.refuse(error);
      await this.stop(paused);
    }
  }

  private async stop({ requestId }: PausedRequest): Promise<void> {
    const refusal = { requestId, errorReason: 'BlockedByClient' } as const;
    await this.tab.session.send('Fetch.failRequest', refusal).catch(() => undefined);
  }

  private isUnseen({ resourceType }: PausedRequest): boolean {
    return isOnlyRead(this.request.view) && (UNSEEN as readonly string[]).includes(resourceType);
  }

  private async withhold(paused: PausedRequest): Promise<void> {
    const { requestId, resourceType, request } = paused;
    if (resourceType !== 'Image') return this.stop(paused);
    const responseHeaders = pixelHeaders(request.headers);
    await this.tab.session.send('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body: PIXEL });
  }

  private isAd({ request: { url }, resourceType }: PausedRequest): boolean {
    const pageUrl = this.redirects.at(-1) ?? this.request.url;
    return this.options.ads?.refuses({ url, resourceType, pageUrl }) ?? false;
  }

  private async admit(url: string): Promise<void> {
    checkUrlTarget(url, this.options.allow);
    const target = new URL(url);
    await this.options.resolver.resolve(target.hostname, portOf(target));
    if (this.hasStarted) await this.admitRedirect(url);
    this.hasStarted = true;
  }

  private async admitRedirect(url: string): Promise<void> {
    if (this.redirects.length >= MAX_REDIRECTS) {
      throw new TroupeError('SCRAPE_TOO_MANY_REDIRECTS', `more than ${MAX_REDIRECTS} redirects, at ${url}`);
    }
    this.redirects.push(url);
    await this.request.onRedirect(url).catch(refuseRedirect);
  }

  /** undefined = as the browser made them. Cookies do not pass here, see `addCookies`. */
  private headersFor(paused: PausedRequest): { name: string; value: string }[] | undefined {
    const { url, headers } = paused.request;
    const own = this.ownHeaders();
    if (own.length === 0) return undefined;
    const isOwnOrigin = this.redirects.every((hop) => new URL(hop).origin === this.origin);
    const merged = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    for (const name of own) {
      if (isOwnOrigin && new URL(url).origin === this.origin) merged.set(name, this.own[name] ?? '');
      else if (merged.get(name) === this.own[name]) merged.delete(name);
    }
    return [...merged].map(([name, value]) => ({ name, value }));
  }

  private ownHeaders(): string[] {
    return Object.keys(this.own).filter((name) => name !== 'cookie');
  }

  /** A `Cookie` header of the caller becomes cookies of the page's host. */
  private async addCookies(): Promise<void> {
    const pairs = (this.own.cookie ?? '').split(';').map((pair) => pair.trim());
    const cookies = pairs
      .filter((pair) => pair.indexOf('=') > 0)
      .map((pair) => {
        const equals = pair.indexOf('=');
        return { name: pair.slice(0, equals), value: pair.slice(equals + 1), url: this.request.url };
      });
    if (cookies.length > 0) await this.tab.page.context().addCookies(cookies);
  }
}

/** True: only the DOM of the page is wanted. */
function isOnlyRead({ screenshot, branding, actions }: PageView): boolean {
  return screenshot === null && !branding && actions.length === 0;
}

/** The headers let any page use the pixel, as most images do. */
function pixelHeaders(headers: Record<string, string>): { name: string; value: string }[] {
  const origin = headers.Origin ?? headers.origin ?? '*';
  const cors = origin === '*' ? [] : [{ name: 'access-control-allow-credentials', value: 'true' }];
  return [
    { name: 'content-type', value: 'image/gif' },
    { name: 'access-control-allow-origin', value: origin },
    ...cors,
  ];
}
