import { Inject, Injectable, SetMetadata, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { hasModel, type TroupeConfig } from '@troupe/config';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { Admission } from './admission.js';
import { setOwner } from './body-owner.js';
import { setCaller } from './caller.js';

const PUBLIC = 'troupe:public';

/** Marks a controller or route that answers without a key. */
export const Public = () => SetMetadata(PUBLIC, true);

/** Whether a route, or its whole controller, is marked so. */
export function isPublic(handler: object, controller: object): boolean {
  return [handler, controller].some((target) => Reflect.getMetadata(PUBLIC, target) === true);
}

/** `Authorization: Bearer <key>` -> the caller, whose request is counted. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    private readonly admission: Admission,
    private readonly reflector: Reflector,
    @Inject(CONFIG) private readonly config: Pick<TroupeConfig, 'llmProvider'>,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.reflector.getAllAndOverride<boolean>(PUBLIC, [context.getHandler(), context.getClass()])) return true;
    return this.admit(context.switchToHttp().getRequest<Request>());
  }

  private async admit(request: Request): Promise<boolean> {
    const caller = await this.admission.ofRequest(request);
    setCaller(request, caller);
    setOwner(request.body, { team: caller.team, hasModel: caller.hasModel || hasModel(this.config) });
    return true;
  }
}
