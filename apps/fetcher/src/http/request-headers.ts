/** Headers of a page request: ours, and those of the caller's that may be sent. */
import { TroupeError } from '@troupe/contracts';
import { ACCEPT_ENCODING } from './content-decoding.js';

/** Owned by the connection or by us: a caller's value is left out. */
const OWNED = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The caller's headers with names in lower case.
 * @throws TroupeError BAD_REQUEST for a name or value that HTTP cannot carry
 */
export function callerHeaders(headers: Record<string, string>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!NAME.test(lower) || !VALUE.test(value))
      throw new TroupeError('BAD_REQUEST', `header "${name}" cannot be sent`);
    if (!OWNED.has(lower)) result[lower] = value;
  }
  return result;
}

/** Headers of a page request unless the caller sets others. */
export function defaultHeaders(userAgent: string): Record<string, string> {
  return {
    'user-agent': userAgent,
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': 'en-US,en;q=0.9,*;q=0.5',
    'accept-encoding': ACCEPT_ENCODING,
  };
}
