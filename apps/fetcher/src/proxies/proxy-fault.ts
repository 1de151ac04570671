/** Failures of the proxy between a fetcher and a site. */
import { TroupeError } from '@troupe/contracts';

/**
 * Thrown when the proxy is at fault and another one may do better: it cannot be reached, refuses its credentials, or
 * breaks the protocol. It names no proxy, because callers of the API need not know them.
 */
export class ProxyFault extends TroupeError {
  constructor(
    /** For the operator's log. */
    readonly reason: string,
    /** `down`: the proxy is of no use now. `target`: it could not reach this one host. */
    readonly extent: 'down' | 'target',
  ) {
    super('SCRAPE_PROXY_SELECTION_ERROR', 'the proxy chosen for the request cannot be used', { retryable: true });
  }
}

/** No proxy is left for a request whose team or installation has some. */
export function noProxyLeft(tried: number): TroupeError {
  const text = `none of the proxies for this request can be used right now (${tried} tried)`;
  return new TroupeError('SCRAPE_PROXY_SELECTION_ERROR', text, { retryable: true });
}
