/**
 * Every navigation of a page's main frame passes here before its request is sent: the first one, redirects, and what
 * scripts and meta refreshes lead to. Addresses are checked, the caller is asked, and the caller's headers are added for
 * the page's own origin only. Playwright's routes do not see redirects, so this speaks DevTools protocol.
 */
import { checkUrlTarget, portOf, type AllowList, type Resolver } from '@troupe/egress';
import { TroupeError } from '@troupe/contracts';
import type { CDPSession, Page } from 'playwright-core';
import { refuseRedirect } from './engine-errors.js';
import { MAX_REDIRECTS, type EngineRequest } from './engine.js';
import { callerHeaders } from './request-headers.js';

interface PausedRequest {
  requestId: string;
  frameId: string;
  request: { url: string; headers: Record<string, string> };
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
    private readonly session: CDPSession,
    private readonly mainFrame: string,
    private readonly request: EngineRequest,
    private readonly egress: { resolver: Resolver; allow: AllowList },
  ) {
    this.refused = new Promise<never>((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined);
    this.own = callerHeaders(request.headers);
    this.origin = new URL(request.url).origin;
  }

  /** Installs the gate on a page that has not navigated yet. */
  static async install(
    page: Page,
    request: EngineRequest,
    egress: { resolver: Resolver; allow: AllowList },
  ): Promise<NavigationGate> {
    const session = await page.context().newCDPSession(page);
    const { frameTree } = await session.send('Page.getFrameTree');
    const gate = new NavigationGate(session, frameTree.frame.id, request, egress);
    await gate.addCookies(page);
    session.on('Fetch.requestPaused', (paused) => void gate.decide(paused));
    await session.send('Fetch.enable', {
      patterns: [{ urlPattern: '*', resourceType: 'Document', requestStage: 'Request' }],
    });
    return gate;
  }

  private async decide(paused: PausedRequest): Promise<void> {
    const { requestId } = paused;
    try {
      if (paused.frameId === this.mainFrame) await this.admit(paused.request.url);
      const headers = paused.frameId === this.mainFrame ? this.headersFor(paused) : undefined;
      await this.session.send('Fetch.continueRequest', headers === undefined ? { requestId } : { requestId, headers });
    } catch (error) {
      this.refuse(error);
      await this.session
        .send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
        .catch(() => undefined);
    }
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
  private async addCookies(page: Page): Promise<void> {
    const pairs = (this.own.cookie ?? '').split(';').map((pair) => pair.trim());
    const cookies = pairs
      .filter((pair) => pair.indexOf('=') > 0)
      .map((pair) => {
        const equals = pair.indexOf('=');
        return { name: pair.slice(0, equals), value: pair.slice(equals + 1), url: this.request.url };
      });
    if (cookies.length > 0) await page.context().addCookies(cookies);
  }
}
