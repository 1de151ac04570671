/**
 * Every navigation of a page's main frame passes here before its request is sent: the first one, redirects, and what
 * scripts and meta refreshes lead to. Addresses are checked, the caller is asked, and the caller's headers are added for
 * the page's own origin only. Playwright's routes do not see redirects, so this speaks DevTools protocol.
 */
import { checkUrlTarget, portOf, type AllowList, type Resolver } from '@troupe/egress';
import { TroupeError } from '@troupe/contracts';
import type { BrowserTab, PausedRequest, RequestPattern } from './browser-tab.js';
import { refuseRedirect } from './engine-errors.js';
import { MAX_REDIRECTS, type EngineRequest, type PageView } from './engine.js';
import { callerHeaders } from './request-headers.js';

/** What a page that is only read does without. It is told of an image of one pixel, so that it does not mend what is broken. */
const UNSEEN = ['Image', 'Font', 'Media'] as const;
const PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

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
    private readonly egress: { resolver: Resolver; allow: AllowList },
  ) {
    this.refused = new Promise<never>((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined);
    this.own = callerHeaders(request.headers);
    this.origin = new URL(request.url).origin;
  }

  /** Installs the gate on a tab that has not navigated yet. */
  static async install(
    tab: BrowserTab,
    request: EngineRequest,
    egress: { resolver: Resolver; allow: AllowList },
  ): Promise<NavigationGate> {
    const gate = new NavigationGate(tab, request, egress);
    await gate.addCookies();
    await tab.intercept(gate.patterns(), (paused) => {
      void (paused.resourceType === 'Document' ? gate.decide(paused) : gate.withhold(paused));
    });
    return gate;
  }

  private patterns(): RequestPattern[] {
    const types = isOnlyRead(this.request.view) ? (['Document', ...UNSEEN] as const) : (['Document'] as const);
    return types.map((resourceType) => ({ urlPattern: '*', resourceType }));
  }

  private async decide(paused: PausedRequest): Promise<void> {
    const { requestId } = paused;
    const { session, mainFrame } = this.tab;
    try {
      if (paused.frameId === mainFrame) await this.admit(paused.request.url);
      const headers = paused.frameId === mainFrame ? this.headersFor(paused) : undefined;
      await session.send('Fetch.continueRequest', headers === undefined ? { requestId } : { requestId, headers });
    } catch (error) {
      this.refuse(error);
      await session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }).catch(() => undefined);
    }
  }

  private async withhold({ requestId, resourceType, request }: PausedRequest): Promise<void> {
    const { session } = this.tab;
    const answer =
      resourceType === 'Image'
        ? session.send('Fetch.fulfillRequest', {
            requestId,
            responseCode: 200,
            responseHeaders: pixelHeaders(request.headers),
            body: PIXEL,
          })
        : session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' });
    await answer.catch(() => undefined);
  }

  private async admit(url: string): Promise<void> {
    checkUrlTarget(url, this.egress.allow);
    const target = new URL(url);
    await this.egress.resolver.resolve(target.hostname, portOf(target));
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
    const own = Object.keys(this.own).filter((name) => name !== 'cookie');
    if (own.length === 0) return undefined;
    const isOwnOrigin = this.redirects.every((hop) => new URL(hop).origin === this.origin);
    const merged = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
    for (const name of own) {
      if (isOwnOrigin && new URL(url).origin === this.origin) merged.set(name, this.own[name] ?? '');
      else if (merged.get(name) === this.own[name]) merged.delete(name);
    }
    return [...merged].map(([name, value]) => ({ name, value }));
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

/** Its DOM is all that is wanted of the page. */
function isOnlyRead({ screenshot, branding, actions }: PageView): boolean {
  return screenshot === null && !branding && actions.length === 0;
}

/** Any page may use the pixel, as it may most images. */
function pixelHeaders(headers: Record<string, string>): { name: string; value: string }[] {
  const origin = headers.Origin ?? headers.origin ?? '*';
  const cors = origin === '*' ? [] : [{ name: 'access-control-allow-credentials', value: 'true' }];
  return [
    { name: 'content-type', value: 'image/gif' },
    { name: 'access-control-allow-origin', value: origin },
    ...cors,
  ];
}
