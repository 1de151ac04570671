/** Errors that carry an API code. Compare `code`, never `message` (docs/api/errors.md). */

/** Codes of a failed page or request, with the HTTP status a single scrape answers. 200 is the DNS special case. */
export const ERROR_HTTP_STATUS = {
  SCRAPE_TIMEOUT: 408,
  CONCURRENCY_QUEUE_TIMEOUT: 408,
  /** The host rests, is down, or is held by an operator: nothing is asked of it now. */
  HOST_PAUSED: 503,
  MAP_TIMEOUT: 408,
  SCRAPE_DNS_RESOLUTION_ERROR: 200,
  SCRAPE_SSL_ERROR: 500,
  SCRAPE_SITE_ERROR: 500,
  SCRAPE_PROXY_SELECTION_ERROR: 500,
  SCRAPE_ALL_ENGINES_FAILED: 500,
  SCRAPE_ACTION_ERROR: 500,
  SCRAPE_ACTIONS_NOT_SUPPORTED: 400,
  SCRAPE_UNSUPPORTED_FILE_ERROR: 500,
  SCRAPE_PDF_INSUFFICIENT_TIME_ERROR: 500,
  SCRAPE_PDF_OCR_REQUIRED: 500,
  SCRAPE_BLOCKED: 500,
  /** A bot wall where a PDF should be. */
  SCRAPE_PDF_ANTIBOT_ERROR: 500,
  SCRAPE_EMPTY: 500,
  SCRAPE_TARGET_FORBIDDEN: 403,
  SCRAPE_BODY_TOO_LARGE: 500,
  SCRAPE_TOO_MANY_REDIRECTS: 500,
  SCRAPE_NO_CACHED_DATA: 404,
  SCRAPE_ZDR_VIOLATION_ERROR: 500,
  SCRAPE_JSON_FAILED: 500,
  SCRAPE_JOB_CANCELLED: 500,
  SCRAPE_RETRY_LIMIT: 500,
  SCRAPE_RACED_REDIRECT_ERROR: 500,
  SCRAPE_SITEMAP_ERROR: 500,
  CRAWL_DENIAL: 500,
  UNSUPPORTED_SITE: 403,
  MAP_FAILED: 500,
  /** The search provider could not be asked, or answered with an error. */
  SEARCH_FAILED: 500,
  NOT_SUPPORTED: 501,
  BAD_REQUEST: 400,
  BAD_REQUEST_INVALID_JSON: 400,
  /** Its numbers or texts are beyond the limits of the tables. */
  RESULT_OUT_OF_RANGE: 500,
  /** Too much is being read of Postgres at the moment, or a read took too long. */
  SERVER_BUSY: 503,
  UNKNOWN_ERROR: 500,
} as const;
export type ErrorCode = keyof typeof ERROR_HTTP_STATUS;

/**
 * A failure with an API code. `retryable` says whether the same request may succeed later without any change;
 * `httpStatus` overrides the table above where one code is answered with several statuses.
 */
export class TroupeError extends Error {
  readonly retryable: boolean;
  readonly httpStatus: number;
  readonly details: unknown;
  /** The same request may succeed after this many ms. */
  readonly retryAfterMs: number | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: {
      cause?: unknown;
      retryable?: boolean;
      httpStatus?: number;
      details?: unknown;
      retryAfterMs?: number;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TroupeError';
    this.retryable = options.retryable ?? false;
    this.httpStatus = options.httpStatus ?? ERROR_HTTP_STATUS[code];
    this.details = options.details;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export function isTroupeError(error: unknown): error is TroupeError {
  return error instanceof TroupeError;
}

/** The shape in which an error travels over NATS. */
export interface ErrorWire {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  httpStatus: number;
  /** @default unknown */
  retryAfterMs?: number;
}

export function errorToWire(error: unknown): ErrorWire {
  if (isTroupeError(error)) {
    const { code, message, retryable, httpStatus, retryAfterMs } = error;
    return { code, message, retryable, httpStatus, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'UNKNOWN_ERROR', message, retryable: false, httpStatus: 500 };
}

export function errorFromWire(wire: ErrorWire): TroupeError {
  const { code, message, ...options } = wire;
  return new TroupeError(code, message, options);
}
