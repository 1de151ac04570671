/**
 * The state of one fetch across its redirects: its addresses so far, the headers it may still send, cookies set on the
 * way.
 */
import { TroupeError } from '@troupe/contracts';
import { MAX_REDIRECTS } from './engine.js';

const REDIRECT_STATUS = new Set([301, 302, 303, 307, 308]);

/** Target of a redirect answer, null for every other answer (a redirect without a readable `Location` is a document). */
export function redirectTarget(statusCode: number, location: string | undefined, base: string): string | null {
  if (!REDIRECT_STATUS.has(statusCode) || location === undefined || location.trim() === '') return null;
  const target = URL.parse(location.trim(), base);
  if (target === null) return null;
  if (target.hash === '') target.hash = new URL(base).hash;
  return target.href;
}

export class RedirectTrail {
  readonly redirects: string[] = [];
  private readonly origin: string;
  private readonly seen = new Set<string>();
  /** Cookies set on the way, by host: sites that set one and redirect to themselves would loop for ever without. */
  private readonly cookies = new Map<string, Map<string, string>>();
  private hasLeftOrigin = false;

  constructor(
    private current: string,
    private readonly caller: Record<string, string>,
  ) {
    this.origin = new URL(current).origin;
    this.seen.add(this.stateKey());
  }

  get url(): string {
    return this.current;
  }

  /** The caller's headers as far as they may go to the current address, and cookies. */
  headers(): Record<string, string> {
    const own = this.hasLeftOrigin ? {} : this.caller;
    const cookie = [own.cookie, this.cookieText()].filter((text) => text !== undefined && text !== '').join('; ');
    return cookie === '' ? own : { ...own, cookie };
  }

  /** Remembers `Set-Cookie` lines of the current address. */
  noteCookies(lines: string[]): void {
    if (lines.length === 0) return;
    const host = new URL(this.current).host;
    const jar = this.cookies.get(host) ?? new Map<string, string>();
    this.cookies.set(host, jar);
    for (const line of lines.slice(0, 50)) noteCookie(jar, line);
  }

  /**
   * Moves on. Called before the caller is asked and anything is sent.
   * @throws TroupeError SCRAPE_TOO_MANY_REDIRECTS after 20, or when the same request would be sent again
   */
  follow(target: string): void {
    if (this.redirects.length >= MAX_REDIRECTS) throw tooMany(`more than ${MAX_REDIRECTS} redirects`, target);
    this.current = target;
    this.redirects.push(target);
    this.hasLeftOrigin ||= new URL(target).origin !== this.origin;
    const key = this.stateKey();
    if (this.seen.has(key)) throw tooMany('a redirect loop', target);
    this.seen.add(key);
  }

  private cookieText(): string {
    const jar = this.cookies.get(new URL(this.current).host);
    return jar === undefined ? '' : [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  private stateKey(): string {
    return `${this.current.replace(/#.*/, '')} ${this.cookieText()}`;
  }
}

function noteCookie(jar: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split(';');
  const equals = pair.indexOf('=');
  const name = pair.slice(0, equals).trim();
  const value = pair.slice(equals + 1).trim();
  if (equals < 1 || pair.length > 4096 || !/^[\x21-\x7e]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) return;
  const isExpired = attributes.some((attribute) => /^\s*max-age\s*=\s*(0|-\d+)\s*$/i.test(attribute));
  if (isExpired) jar.delete(name);
  else jar.set(name, value);
}

function tooMany(what: string, url: string): TroupeError {
  return new TroupeError('SCRAPE_TOO_MANY_REDIRECTS', `${what}, at ${url}`);
}
