import { Inject, Injectable } from '@nestjs/common';
import { type RateGroup } from '@troupe/contracts';
import type { Request } from 'express';
import { rateGroupOf } from '../limits/rate-group.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Accounts } from './accounts.js';
import { bearerToken } from './bearer-token.js';
import { type Caller } from './caller.js';

/** Admits callers: identifies the team first, then checks its rate. Requests and WebSockets are treated alike. */
@Injectable()
export class Admission {
  constructor(
    @Inject(Accounts) private readonly accounts: Pick<Accounts, 'identify' | 'needsKey'>,
    @Inject(RateLimits) private readonly limits: Pick<RateLimits, 'admit'>,
  ) {}

  /** @throws ApiError 401, 429 */
  ofRequest(request: Request): Promise<Caller> {
    return this.ofKey(() => bearerToken(request), rateGroupOf(request.method, request.path));
  }

  /** `keyOf` is asked only where keys are needed. @param group null: not counted @throws ApiError 401, 429 */
  async ofKey(keyOf: () => string, group: RateGroup | null): Promise<Caller> {
    const caller = await this.accounts.identify(this.accounts.needsKey ? keyOf() : null);
    if (group !== null) this.limits.admit(caller, group);
    return caller;
  }
}
