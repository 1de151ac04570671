import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf } from '../auth/caller.js';
import { RateLimits } from '../limits/rate-limits.js';
import { rateGroupOf } from '../limits/rate-group.js';

/** Counts a request for its team. Stands behind the guard that identifies the caller. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimits) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const caller = callerOf(request);
    const group = caller === null ? null : rateGroupOf(request.method, request.path);
    if (caller !== null && group !== null) this.limits.admit(caller, group);
    return true;
  }
}
