/**
 * Every navigation of a page's main frame passes here before its request is sent: the first one, redirects, and what
 * scripts and meta refreshes lead to. Addresses are checked and the caller is asked. Of the other requests only those
 * pass that carry the caller's headers, which are added for the page's own origin alone, and those that a filter may
 * refuse. Playwright's routes do not see redirects, so this speaks DevTools protocol.
 */
import { checkUrlTarget, portOf, type AllowList, type Resolver } from '@troupe/egress';
import { TroupeError } from '@troupe/contracts';
import type { CDPSession, Page } from 'playwright-core';
import type { AdFilter } from '../ads/index.js';
import { refuseRedirect } from './engine-errors.js';
import { MAX_REDIRECTS, type EngineRequest } from './engine.js';
import { callerHeaders } from './request-headers.js';

interface PausedRequest {
  requestId: string;
  frameId: string;
  resourceType: string;
  request: { url: string; headers: Record<string, string> };
}

export interface GateOptions {
  resolver: Resolver;
  allow: AllowList;
  /** What the page may not load; null: it may load everything. */
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
    private readonly session: CDPSession,
    private readonly mainFrame: string,
    private readonly request: EngineRequest,
    private readonly options: GateOptions,
  ) {
    this.refused = new Promise<never>((_, reject) => (this.refuse = reject));
    this.refused.catch(() => undefined);
    this.own = callerHeaders(request.headers);
    this.origin = new URL(request.url).origin;
  }

  /** Installs the gate on a page that has not navigated yet; `session` is one of the page. */
  static async install(
    page: Page,
    session: CDPSession,
    request: EngineRequest,
    options: GateOptions,
  ): Promise<NavigationGate> {
    const { frameTree } = await session.send('Page.getFrameTree');
    const gate = new NavigationGate(session, frameTree.frame.id, request, options);
    await gate.addCookies(page);
    session.on('Fetch.requestPaused', (paused) => void gate.decide(paused));
    await session.send('Fetch.enable', { patterns: gate.patterns() });
    return gate;
  }

  private patterns(): { urlPattern: string; resourceType?: 'Document' }[] {
    const ownRequests = this.ownHeaders().length > 0 ? [`${this.origin}/*`] : [];
    const others = [...ownRequests, ...(this.options.ads?.patterns ?? [])];
    return [{ urlPattern: '*', resourceType: 'Document' }, ...others.map((urlPattern) => ({ urlPattern }))];
  }

  private async decide(paused: PausedRequest): Promise<void> {
    const isMain = paused.resourceType === 'Document' && paused.frameId === this.mainFrame;
    try {
      if (isMain) await this.admit(paused.request.url);
      else if (this.isAd(paused)) return await this.stop(paused);
      const { requestId } = paused;
      const headers = this.headersFor(paused);
      await this.session.send('Fetch.continueRequest', headers === undefined ? { requestId } : { requestId, headers });
    } catch (error) {
      if (isMain) this.refuse(error);
      await this.stop(paused);
    }
  }

  private async stop({ requestId }: PausedRequest): Promise<void> {
    await this.session.send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }).catch(() => undefined);
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
