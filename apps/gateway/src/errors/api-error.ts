import { type ErrorCode } from '@troupe/contracts';

/** A refusal at the HTTP edge, which no failure of a page has caused (docs/api/errors.md). */
export class ApiError extends Error {
  readonly code: ErrorCode | undefined;
  /** Sent as `Retry-After`. */
  readonly retryAfterS: number | undefined;

  constructor(
    readonly status: number,
    message: string,
    options: { code?: ErrorCode; retryAfterS?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.code = options.code;
    this.retryAfterS = options.retryAfterS;
  }
}

/** Also the answer for another team's job, whose existence is not disclosed. */
export function jobNotFound(): ApiError {
  return new ApiError(404, 'Job not found');
}

export function jobExpired(): ApiError {
  return new ApiError(404, 'Job expired');
}

export function jobFinished(): ApiError {
  return new ApiError(409, 'Job already finished');
}

export const RETRY_AFTER_S = 5;

/** Postgres or NATS is away; nothing was accepted. */
export function unavailable(cause: unknown): ApiError {
  return new ApiError(503, 'The service is temporarily unavailable, please try again', {
    code: 'UNKNOWN_ERROR',
    retryAfterS: RETRY_AFTER_S,
    cause,
  });
}

/** Too much is being read at the moment, or the read took too long; the same one may succeed a little later. */
export function overloaded(cause?: unknown): ApiError {
  const message = 'Too much is being read at the moment. Please try again, or ask for fewer rows';
  return new ApiError(503, message, { code: 'SERVER_BUSY', retryAfterS: 1, ...(cause === undefined ? {} : { cause }) });
}
