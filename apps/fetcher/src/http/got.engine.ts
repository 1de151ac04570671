/**
 * Second rung: got-scraping, whose TLS handshake, HTTP/2 and headers look like a browser's, for hosts that turn the
 * plain client away. Its parser also forgives headers that undici refuses. Loaded on first use.
 *
 * It resolves names at several places of its own, so all of its connections go through the egress proxy.
 */
import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import { isIP } from 'node:net';
import { portOf, type AllowList, type Resolver } from '@troupe/egress';
import type { Response } from 'got-scraping';
import { ACCEPT_ENCODING } from './content-decoding.js';
import type { EgressProxy } from '../proxies/egress-proxy.js';
import { isProxyFailure, REFUSAL_HEADER } from '../proxies/egress-proxy.js';
import { PlainEngine, type Hop, type HopRequest } from './plain-engine.js';

export interface GotEngineOptions {
  resolver: Resolver;
  allow: AllowList;
  proxy: EgressProxy;
}

/** The browser that stealth pages are shown in, as far as headers tell. */
const STEALTH_HEADERS = {
  browsers: ['chrome' as const],
  devices: ['desktop' as const],
  operatingSystems: ['linux' as const],
  locales: ['en-US', 'en'],
};

export class GotEngine extends PlainEngine {
  constructor(private readonly options: GotEngineOptions) {
    super('got', options.allow);
  }

  /** The proxy is closed by its module; there is nothing else to close. */
  async close(): Promise<void> {}

  protected async open(hop: HopRequest): Promise<Hop> {
    const url = new URL(hop.url);
    await this.options.resolver.resolve(url.hostname, portOf(url), hop.deadline.signal);
    const isNamedHttps = url.protocol === 'https:' && isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0;
    if (!isNamedHttps) return this.request(hop, false);
    return this.request(hop, true).catch((error: unknown) => {
      if (!isOriginMismatch(error)) throw error;
      return this.request(hop, false);
    });
  }

  private async request(hop: HopRequest, useHttp2: boolean): Promise<Hop> {
    const { signal } = hop.deadline;
    const [{ gotScraping }, proxyUrl] = await Promise.all([
      import('got-scraping'),
      this.options.proxy.url(hop.upstream),
    ]);
    signal.throwIfAborted();
    const stream = gotScraping.stream(hop.url, {
      proxyUrl,
      http2: useHttp2,
      ...(hop.proxy === 'stealth' ? { headerGeneratorOptions: STEALTH_HEADERS } : {}),
      headers: { ...hop.headers, 'accept-encoding': ACCEPT_ENCODING },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      retry: { limit: 0 },
      timeout: { request: Math.max(1, Math.ceil(hop.deadline.remainingMs())) },
      https: { rejectUnauthorized: !hop.skipTlsVerification },
    });
    const stop = (): void => void stream.on('error', () => undefined).destroy();
    signal.addEventListener('abort', stop, { once: true });
    stream.once('close', () => signal.removeEventListener('abort', stop));
    const [response] = (await hop.deadline.race(once(stream, 'response'))) as [Response];
    if (isProxyFailure(response.statusCode) || response.headers[REFUSAL_HEADER] !== undefined) {
      stop();
      const code = PROXY_FAULTS[response.statusCode] ?? 'PROXY_FAILED';
      throw Object.assign(new Error('the proxy could not reach the site'), { code });
    }
    return {
      statusCode: response.statusCode,
      statusText: response.statusMessage || (STATUS_CODES[response.statusCode] ?? ''),
      headers: response.headers,
      body: stream.on('error', () => undefined),
      discard: async () => stop(),
    };
  }
}

/** Answers of proxy-chain to plain requests that failed, as the system's own codes. */
const PROXY_FAULTS: Record<number, string> = { 594: 'ECONNREFUSED', 595: 'ECONNRESET', 596: 'EPIPE' };

/** http2-wrapper refuses a session whose certificate names another host, also when certificates are not verified. */
function isOriginMismatch(error: unknown): boolean {
  return error instanceof Error && /does not match server/.test(error.message);
}
