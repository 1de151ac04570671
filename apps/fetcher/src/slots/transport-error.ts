import { TroupeError, type TroubleKind } from '@troupe/contracts';

/** Thrown when a request got no answer. `trouble` counts against the host; null when the host is not the cause. */
export class TransportError extends TroupeError {
  readonly trouble: TroubleKind | null;

  constructor(cause: TroupeError) {
    const { code, message, retryable, httpStatus, details } = cause;
    super(code, message, { cause, retryable, httpStatus, details });
    this.trouble = blameOf(cause);
  }
}

/** Thrown for a 429 or 503 that is not taken as the page's document. */
export class BusyAnswerError extends TroupeError {
  constructor(
    readonly url: string,
    readonly statusCode: number,
    /** `Retry-After` in ms, null without the header. */
    readonly retryMs: number | null,
  ) {
    super('SCRAPE_SITE_ERROR', `${url} answered ${statusCode}`, { retryable: true });
  }

  get kind(): TroubleKind {
    return busyKind(this.statusCode);
  }
}

export function busyKind(statusCode: number): TroubleKind {
  return statusCode === 429 ? 'rateLimited' : 'unavailable';
}

export function isBusy(statusCode: number): boolean {
  return statusCode === 429 || statusCode === 503;
}

/** The trouble that a failed request counts as for its host; null: DNS, TLS and the like are no sign of overload. */
export function blameOf({ code, retryable }: TroupeError): TroubleKind | null {
  if (code === 'SCRAPE_TIMEOUT') return 'timeout';
  return code === 'SCRAPE_SITE_ERROR' && retryable ? 'refused' : null;
}
