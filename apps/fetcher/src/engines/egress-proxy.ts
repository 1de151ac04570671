/**
 * The only way out for clients that open their own connections (Chromium, got-scraping): a proxy on loopback inside this
 * process that resolves, checks and pins every CONNECT and every plain request, so that no client decides by itself
 * where a name leads.
 */
import { Agent } from 'node:http';
import { isIP } from 'node:net';
import { isTroupeError } from '@troupe/contracts';
import { pinnedLookup, type Resolver } from '@troupe/egress';
import { RequestError, Server, type PrepareRequestFunctionOpts, type PrepareRequestFunctionResult } from 'proxy-chain';
import { CONNECT_TIMEOUT_MS } from './engine.js';

/** Header of an answer that comes from the proxy and not from the site; its value is the code of the refusal. */
export const REFUSAL_HEADER = 'x-troupe-egress';

/** The proxy answers plain requests with 590-599 when the site could not be reached (proxy-chain's own numbers). */
export function isProxyFailure(statusCode: number): boolean {
  return statusCode >= 590 && statusCode <= 599;
}

export class EgressProxy {
  private readonly agent = new Agent({ keepAlive: false });
  private server: Server | null = null;
  private starting: Promise<string> | null = null;

  constructor(private readonly resolver: Resolver) {}

  /** Address of the proxy, started by the first call. */
  url(): Promise<string> {
    this.starting ??= this.start();
    return this.starting;
  }

  async close(): Promise<void> {
    await this.starting;
    await this.server?.close(true);
    this.agent.destroy();
    this.server = null;
    this.starting = null;
  }

  private async start(): Promise<string> {
    const server = new Server({
      host: '127.0.0.1',
      port: 0,
      prepareRequestFunction: (request) => this.prepare(request),
    });
    server.on('requestFailed', () => undefined);
    await server.listen();
    server.server.unref();
    this.server = server;
    return `http://127.0.0.1:${server.port}`;
  }

  private async prepare(request: PrepareRequestFunctionOpts): Promise<PrepareRequestFunctionResult> {
    const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
    const addresses = await this.resolver.resolve(request.hostname, request.port, signal).catch((error: unknown) => {
      throw refusal(error);
    });
    const dnsLookup = pinnedLookup(addresses) as NonNullable<PrepareRequestFunctionResult['dnsLookup']>;
    return { dnsLookup, httpAgent: this.agent, ...family(addresses) };
  }
}

/** One address: say its family at once, so that a socket asks for that one. */
function family(addresses: string[]): { ipFamily?: number } {
  const [only, ...others] = addresses;
  return only === undefined || others.length > 0 ? {} : { ipFamily: isIP(only) };
}

function refusal(error: unknown): RequestError {
  const code = isTroupeError(error) ? error.code : 'SCRAPE_DNS_RESOLUTION_ERROR';
  const status = code === 'SCRAPE_TARGET_FORBIDDEN' || code === 'UNSUPPORTED_SITE' ? 403 : 502;
  return new RequestError(code, status, { [REFUSAL_HEADER]: code, 'content-type': 'text/plain' });
}
