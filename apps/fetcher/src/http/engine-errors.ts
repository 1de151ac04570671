/**
 * Turns network errors into errors with API codes. Library errors are never kept as cause: got's print thousands of
 * lines.
 */
import { isTroupeError, TroupeError } from '@troupe/contracts';

/** `details` of a network error: the system's or the library's own code, read by the ladder. */
export interface NetworkFault {
  reason: string;
}

const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|CERT_|EPROTO|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(VERIFY|GET)|HOSTNAME_MISMATCH|ERR_OSSL|CRL_|INVALID_(CA|PURPOSE)|PATH_LENGTH)/;
const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);
const MALFORMED = /^(HPE_|HTTPParserError|UND_ERR_HEADERS_OVERFLOW|ERR_HTTP2_|ERR_INVALID_)/;
const WORDS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was reset',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
};

/** Maps anything thrown by a client library; a `TroupeError` stays what it is. */
export function toEngineError(error: unknown, url: string, skipTlsVerification: boolean): TroupeError {
  if (isTroupeError(error)) return error;
  const reason = reasonOf(error);
  const host = URL.parse(url)?.host ?? url;
  const details: NetworkFault = { reason };
  if (TLS_CODES.test(reason)) return tlsError(host, reason, skipTlsVerification);
  if (TIMEOUT_CODES.has(reason)) {
    return new TroupeError('SCRAPE_TIMEOUT', `${host} did not answer in time`, { retryable: true, details });
  }
  const text = `${host}: ${WORDS[reason] ?? 'the request failed'} (${reason})`;
  return new TroupeError('SCRAPE_SITE_ERROR', text, { retryable: !MALFORMED.test(reason), details });
}

function tlsError(host: string, reason: string, skipTlsVerification: boolean): TroupeError {
  const hint = skipTlsVerification
    ? 'although certificates are not verified'
    : 'skipTlsVerification: true would ignore the certificate';
  return new TroupeError('SCRAPE_SSL_ERROR', `${host}: TLS failed (${reason}); ${hint}`, { details: { reason } });
}

/** The first telling code along the chain of causes; several addresses tried at once give an AggregateError. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown';
  const { code, cause, errors, name } = error as { code?: unknown; cause?: unknown; errors?: unknown[]; name?: string };
  if (typeof code === 'string' && code !== '' && code !== 'ERR_GOT_REQUEST_ERROR') return code;
  if (cause !== undefined) return reasonOf(cause);
  if (Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
  return name ?? 'unknown';
}

/** The wire-level reason of an engine's error, null when it has none. */
export function faultOf(error: TroupeError): string | null {
  const details = error.details as Partial<NetworkFault> | null | undefined;
  return typeof details?.reason === 'string' ? details.reason : null;
}

export function bodyTooLarge(url: string, maxBytes: number): TroupeError {
  return new TroupeError('SCRAPE_BODY_TOO_LARGE', `${url} is larger than ${maxBytes} bytes`);
}

/** Thrown when a browser would save the answer instead of showing it: a client without one can read it. */
export class DownloadError extends TroupeError {
  constructor(url: string) {
    super('SCRAPE_UNSUPPORTED_FILE_ERROR', `${url} is a download`);
  }
}

/** Carries what the caller rejected a redirect with, unchanged, past the mapping of errors. */
export class RedirectRefused extends Error {
  constructor(readonly reason: unknown) {
    super('the caller refused a redirect');
  }
}

export function refuseRedirect(reason: unknown): never {
  throw new RedirectRefused(reason);
}
