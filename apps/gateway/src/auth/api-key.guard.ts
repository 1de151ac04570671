import { Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { hasModel, type TroupeConfig } from '@troupe/config';
import type { Request } from 'express';
import { ApiError } from '../errors/api-error.js';
import { InjectConfig } from '../settings.js';
import { Accounts } from './accounts.js';
import { setOwner } from './body-owner.js';
import { setCaller } from './caller.js';

const PUBLIC = 'troupe:public';

/** Marks a controller or route that answers without a key. */
export const Public = () => SetMetadata(PUBLIC, true);

/** Whether a route, or its whole controller, is marked so. */
export function isPublic(handler: object, controller: object): boolean {
  return [handler, controller].some((target) => Reflect.getMetadata(PUBLIC, target) === true);
}

/** `Authorization: Bearer <key>` -> the caller. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly accounts: Accounts,
    private readonly reflector: Reflector,
    @InjectConfig() private readonly config: Pick<TroupeConfig, 'llmProvider'>,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.reflector.getAllAndOverride<boolean>(PUBLIC, [context.getHandler(), context.getClass()])) return true;
    return this.identify(context.switchToHttp().getRequest<Request>());
  }

  private async identify(request: Request): Promise<boolean> {
    const caller = await this.accounts.identify(keyOf(request, this.accounts));
    setCaller(request, caller);
    setOwner(request.body, { team: caller.team, hasModel: caller.hasModel || hasModel(this.config) });
    return true;
  }
}

/** What `identify` is to be asked with. @throws ApiError 401 */
export function keyOf(request: Pick<Request, 'headers'>, accounts: Pick<Accounts, 'needsKey'>): string | null {
  return accounts.needsKey ? bearerToken(request) : null;
}

/** @throws ApiError 401 */
export function bearerToken(request: Pick<Request, 'headers'>): string {
  const header = request.headers.authorization;
  if (header === undefined) throw new ApiError(401, 'Unauthorized');
  const [scheme = '', token = ''] = header.trim().split(/\s+/, 2);
  if (scheme.toLowerCase() !== 'bearer') throw new ApiError(401, 'Unauthorized');
  if (token === '') throw new ApiError(401, 'Unauthorized: Token missing');
  return token;
}
