import { TroupeError, type ErrorCode } from '@troupe/contracts';
import type { TokenCount } from './model.js';

export class ModelError extends TroupeError {
  readonly tokens: TokenCount;
  /** The prompt does not fit into the model: a shorter one may. */
  readonly isTooLong: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: { tokens?: TokenCount; retryable?: boolean; isTooLong?: boolean; cause?: unknown } = {},
  ) {
    super(code, message, { retryable: options.retryable ?? false, cause: options.cause });
    this.name = 'ModelError';
    this.tokens = options.tokens ?? { prompt: 0, answer: 0 };
    this.isTooLong = options.isTooLong ?? false;
  }
}
