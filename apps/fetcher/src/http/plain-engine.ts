/** The common part of the plain clients: a page hop by hop, each address checked, the same caps and errors. */
import { checkUrlTarget, type AllowList } from '@troupe/egress';
import type { EngineName, ProxyClass } from '@troupe/contracts';
import { readBody, type BodySource } from './content-decoding.js';
import { Deadline } from './deadline.js';
import { RedirectRefused, refuseRedirect, toEngineError } from './engine-errors.js';
import {
  WITHOUT_BROWSER,
  type EngineRequest,
  type EngineResponse,
  type FetchEngine,
  type UpstreamProxy,
} from './engine.js';
import { RedirectTrail, redirectTarget } from './redirect-trail.js';
import { callerHeaders } from './request-headers.js';
import { parseRetryAfter } from './retry-after.js';

/** One answer, headers read, body not yet. */
export interface Hop {
  statusCode: number;
  statusText: string;
  headers: Record<string, string | string[] | undefined>;
  body: BodySource;
  /** Gets rid of the body, keeping the connection where that is cheap. */
  discard(): Promise<void>;
}

export interface HopRequest {
  url: string;
  /** The caller's headers and cookies that may go to this address, names in lower case. */
  headers: Record<string, string>;
  skipTlsVerification: boolean;
  upstream: UpstreamProxy | undefined;
  proxy: ProxyClass;
  deadline: Deadline;
}

export abstract class PlainEngine implements FetchEngine {
  protected constructor(
    private readonly name: EngineName,
    private readonly allow: AllowList,
  ) {}

  async fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const startedAt = performance.now();
    checkUrlTarget(request.url, this.allow);
    const trail = new RedirectTrail(request.url, callerHeaders(request.headers));
    const deadline = new Deadline(request.timeoutMs, signal);
    const { skipTlsVerification, upstream, proxy } = request;
    try {
      for (;;) {
        deadline.signal.throwIfAborted();
        const ask = { url: trail.url, headers: trail.headers(), skipTlsVerification, upstream, proxy, deadline };
        const hop = await this.open(ask);
        const target = redirectTarget(hop.statusCode, first(hop.headers.location), trail.url);
        if (target === null) {
          const body = await readHop(hop, trail.url, request.maxBytes);
          const ms = performance.now() - startedAt;
          return { ...describe(hop, trail), ...WITHOUT_BROWSER, body, ms, engine: this.name, proxyUsed: proxy };
        }
        await this.follow(hop, target, trail);
        await deadline.race(request.onRedirect(target).catch(refuseRedirect));
      }
    } catch (error) {
      if (error instanceof RedirectRefused) throw error.reason;
      if (deadline.signal.aborted) throw deadline.signal.reason;
      throw toEngineError(error, trail.url, skipTlsVerification);
    } finally {
      deadline.end();
    }
  }

  abstract close(): Promise<void>;

  /** One request; its redirect is not followed. */
  protected abstract open(request: HopRequest): Promise<Hop>;

  private async follow(hop: Hop, target: string, trail: RedirectTrail): Promise<void> {
    await hop.discard();
    trail.noteCookies([hop.headers['set-cookie'] ?? []].flat());
    checkUrlTarget(target, this.allow);
    trail.follow(target);
  }
}

function readHop(hop: Hop, url: string, maxBytes: number): Promise<Uint8Array> {
  return readBody({
    source: hop.body,
    contentEncoding: flat(hop.headers['content-encoding']),
    contentLength: first(hop.headers['content-length']),
    url,
    maxBytes,
  });
}

function describe(
  hop: Hop,
  trail: RedirectTrail,
): Omit<EngineResponse, 'body' | 'ms' | 'engine' | 'proxyUsed' | keyof typeof WITHOUT_BROWSER> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(hop.headers)) {
    const text = flat(value);
    if (text !== undefined && !name.startsWith(':')) headers[name.toLowerCase()] = text;
  }
  return {
    statusCode: hop.statusCode,
    statusText: hop.statusText,
    headers,
    finalUrl: trail.url,
    redirects: trail.redirects,
    contentType: headers['content-type'] ?? null,
    retryAfterMs: parseRetryAfter(headers['retry-after'], Date.now()),
  };
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function flat(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}
