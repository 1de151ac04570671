import type { Request } from 'express';
import { type Caller } from '../../auth/caller.js';
import { ApiError } from '../../errors/api-error.js';
import { type Submission } from '../../jobs/job-submit.service.js';
import { type OriginDto } from './scrape-options.dto.js';

const DEFAULT_ORIGIN = 'api';
const MAX_KEY_CHARS = 255;

/** Facts of a submit beside its body. */
export function submissionOf(request: Request, caller: Caller, body: OriginDto): Submission {
  return {
    caller,
    origin: body.origin ?? DEFAULT_ORIGIN,
    integration: body.integration ?? null,
    idempotencyKey: idempotencyKeyOf(request),
  };
}

function idempotencyKeyOf(request: Request): string | null {
  const key = request.headers['x-idempotency-key'];
  if (typeof key !== 'string' || key === '') return null;
  if (key.length > MAX_KEY_CHARS) {
    throw new ApiError(400, `x-idempotency-key may have at most ${MAX_KEY_CHARS} characters`, { code: 'BAD_REQUEST' });
  }
  return key;
}
