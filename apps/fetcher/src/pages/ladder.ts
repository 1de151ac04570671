/**
 * Decides which engine fetches a page, and when the next one takes over: http -> got -> browser. Pure rules, and what
 * was learned per host. The caller loops: fetch, convert, ask.
 */
import {
  asksForBrowser,
  isTroupeError,
  type EngineName,
  type PageVerdict,
  type ProxyClass,
  type ScrapeSpec,
} from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { faultOf } from '../http/engine-errors.js';
import type { EngineResponse } from '../http/engine.js';

/** Outcome of one rung. `verdict` is null until the page has been converted. */
export type RungResult =
  | { type: 'error'; error: unknown }
  | {
      type: 'answer';
      response: Pick<EngineResponse, 'statusCode' | 'headers' | 'body'>;
      verdict: PageVerdict | null;
    };

/** Faults of the wire that hint at a server which dislikes the client, or at headers that only a lenient parser reads. */
const TURNED_AWAY =
  /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|EPROTO|HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|ERR_SSL_\w*ALERT|ERR_SSL_(WRONG|UNSUPPORTED|NO_)|ERR_HTTP2_)/;
const WALL_STATUS = new Set([401, 403, 405, 406, 409, 418, 429, 503]);
const WALL_HEADERS = ['x-datadome', 'x-dd-b', 'x-px-captcha', 'x-px-blocked', 'x-sucuri-block'];
const WALL_SERVERS = /^(cloudflare|akamaighost|ddos-guard|sucuri|datadome|imperva)/i;
const WALL_COOKIES = /(^|[\s,;])(datadome|__cf_bm|cf_chl_|incap_ses_|visid_incap_|_px\w*|ak_bmsc|bm_sz|reese84)/i;
const WALL_TEXT =
  /captcha|incapsula incident|awswaf|sucuri website firewall|unusual traffic|press (?:&amp;|&|and) hold|robot or human|challenge-platform|cf-chl|_incapsula_resource|just a moment\.\.\.|attention required!|px-block|ddos protection|verify (that )?you are (a )?human|are you a robot|edgesuite\.net|access denied/i;
const WALL_TEXT_BYTES = 64 * 1024;

/** Headers that only a bot wall sends, whatever the status. */
const WALL_VERDICTS = ['cf-mitigated', 'x-amzn-waf-action'];

/** A status by which sites refuse, with a sign that a bot wall speaks and not the application. */
export function isTurnedAway(response: Pick<EngineResponse, 'statusCode' | 'headers' | 'body'>): boolean {
  const { headers } = response;
  if (WALL_VERDICTS.some((name) => name in headers)) return true;
  if (!WALL_STATUS.has(response.statusCode)) return false;
  if (WALL_HEADERS.some((name) => name in headers)) return true;
  if (WALL_SERVERS.test(headers.server ?? '') || WALL_COOKIES.test(headers['set-cookie'] ?? '')) return true;
  return WALL_TEXT.test(Buffer.from(response.body.subarray(0, WALL_TEXT_BYTES)).toString('latin1'));
}

/** A network failure that another client may not meet. Refused, unknown, untrusted and forbidden hosts stay so. */
export function isClientFault(error: unknown): boolean {
  if (!isTroupeError(error)) return false;
  if (error.code !== 'SCRAPE_SITE_ERROR' && error.code !== 'SCRAPE_SSL_ERROR') return false;
  return TURNED_AWAY.test(faultOf(error) ?? '');
}

/**
 * The engine to try after `engine` came to `result`; null = what there is, counts.
 * A wall or a client fault goes one rung up, a page that scripts must fill goes straight to the browser.
 */
export function nextRung(engine: EngineName, result: RungResult): EngineName | null {
  if (engine === 'browser') return null;
  if (result.type === 'error') return isClientFault(result.error) ? above(engine) : null;
  if (isTurnedAway(result.response)) return above(engine);
  return result.verdict === null || result.verdict === 'content' ? null : 'browser';
}

function above(engine: 'http' | 'got'): EngineName {
  return engine === 'http' ? 'got' : 'browser';
}

/** Where a page starts, before anything is known of its host. */
export function firstRung(spec: Pick<ScrapeSpec, 'engine' | 'waitForMs'>): EngineName {
  return asksForBrowser(spec) ? 'browser' : 'http';
}

export interface LadderOptions {
  /** Without a browser the ladder ends at got. */
  hasBrowser: boolean;
  /** @default 3_600_000 */
  ttlMs?: number;
  /** Hosts remembered. @default 10_000 */
  maxHosts?: number;
}

/** Pages in a row that only a browser could read before a host starts there: one script-only page says little. */
const BROWSER_AFTER = 3;
/** The row gets longer each time it was misleading, on sites that have pages of both kinds … */
const MAX_BROWSER_AFTER = 48;
/** … and a host that starts at the browser is asked the plain way again after so many pages, less often if in vain. */
const CHECK_AFTER = 8;
const MAX_CHECK_AFTER = 64;

interface Learned {
  engine: EngineName;
  /** Climbs to `engine` in a row that paid off. */
  climbs: number;
  /** Climbs in a row that make a host start at the browser. */
  browserAfter: number;
  /** Pages from one check to the next. */
  checkAfter: number;
  /** Pages since the last check. */
  unchecked: number;
}

export class Ladder {
  private readonly hosts: LRUCache<string, Learned>;

  constructor(private readonly options: LadderOptions) {
    this.hosts = new LRUCache({ max: options.maxHosts ?? 10_000, ttl: options.ttlMs ?? 3_600_000 });
  }

  /** First engine for a page: the requested one, else the one learned from its host for requests of this class. */
  start(url: string, spec: Pick<ScrapeSpec, 'engine' | 'waitForMs'>, proxy: ProxyClass = 'basic'): EngineName {
    const asked = firstRung(spec);
    const lowest = lowestRung(proxy);
    if (asked === 'browser') return spec.engine === 'browserIfAny' && !this.options.hasBrowser ? lowest : asked;
    const learned = this.hosts.get(keyOf(url, proxy));
    if (learned === undefined) return lowest;
    if (learned.engine !== 'browser') return learned.engine;
    if (learned.climbs < learned.browserAfter) return lowest;
    learned.unchecked = (learned.unchecked + 1) % learned.checkAfter;
    return learned.unchecked === 0 ? lowest : 'browser';
  }

  /** The next engine, or null when this result is final. Never names an engine that is not there. */
  next(engine: EngineName, result: RungResult): EngineName | null {
    const rung = nextRung(engine, result);
    return rung === 'browser' && !this.options.hasBrowser ? null : rung;
  }

  /** The browser would be next, and there is none here. */
  lacksBrowser(engine: EngineName, result: RungResult): boolean {
    return !this.options.hasBrowser && nextRung(engine, result) === 'browser';
  }

  /** Tells how a page that was not sent to a browser on request ended: `from` its first engine to `to` its last. */
  learn(url: string, page: { from: EngineName; to: EngineName; isGood: boolean; proxy?: ProxyClass }): void {
    const host = keyOf(url, page.proxy ?? 'basic');
    const known = this.hosts.get(host);
    if (!page.isGood) {
      if (known?.engine === page.from) this.hosts.delete(host);
    } else if (page.to !== page.from) {
      this.hosts.set(host, climbed(known, page.to));
    } else if (known?.engine === 'browser' && page.from !== 'browser') {
      this.hosts.set(host, sufficed(known));
    } else if (known !== undefined && known.engine !== page.from) {
      this.hosts.delete(host);
    }
  }
}

/** The plain client cannot pass for a browser, so stealth begins with the one that can. */
export function lowestRung(proxy: ProxyClass): EngineName {
  return proxy === 'stealth' ? 'got' : 'http';
}

function keyOf(url: string, proxy: ProxyClass): string {
  return `${proxy} ${URL.parse(url)?.host ?? url}`;
}

function climbed(known: Learned | undefined, to: EngineName): Learned {
  const { climbs, ...rest } =
    known?.engine === to
      ? known
      : { engine: to, climbs: 0, browserAfter: BROWSER_AFTER, checkAfter: CHECK_AFTER, unchecked: 0 };
  const wasCheck = climbs >= rest.browserAfter;
  const checkAfter = wasCheck ? Math.min(rest.checkAfter * 2, MAX_CHECK_AFTER) : rest.checkAfter;
  return { ...rest, climbs: climbs + 1, checkAfter };
}

/** The plain client can read this host after all, or at least some of its pages. */
function sufficed(known: Learned): Learned {
  const wasCheck = known.climbs >= known.browserAfter;
  const browserAfter = wasCheck ? Math.min(known.browserAfter * 2, MAX_BROWSER_AFTER) : known.browserAfter;
  return { ...known, climbs: 0, browserAfter, checkAfter: CHECK_AFTER };
}
