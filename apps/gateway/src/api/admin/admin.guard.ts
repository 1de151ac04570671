import {
  applyDecorators,
  createParamDecorator,
  Inject,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { type TroupeConfig } from '@troupe/config';
import { type AuditAuthor } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import type { Request } from 'express';
import { AdminKey } from '../../admin/admin-key.js';
import { Public } from '../../auth/api-key.guard.js';
import { bearerToken } from '../../auth/bearer-token.js';
import { ApiError } from '../../errors/api-error.js';
import { clientAddress } from '../../http/client-address.js';

type WithAuthor = Request & { author?: AuditAuthor };

/** `Authorization: Bearer <ADMIN_KEY>`; without that setting there is no admin API at all. */
@Injectable()
export class AdminGuard implements CanActivate {
  private readonly key: AdminKey | null;

  constructor(@Inject(CONFIG) private readonly config: Readonly<TroupeConfig>) {
    this.key = config.adminKey === undefined ? null : new AdminKey(config.adminKey);
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.key === null) throw new ApiError(404, 'Not found');
    const request = context.switchToHttp().getRequest<WithAuthor>();
    if (!this.key.matches(bearerToken(request))) throw new ApiError(401, 'Unauthorized: Invalid token');
    request.author = { actor: this.key.author, ip: clientAddress(request, this.config) };
    return true;
  }
}

/** Marks a controller as the operator's: API keys of teams do not open it. */
export const AdminOnly = () => applyDecorators(Public(), UseGuards(AdminGuard));

/** The author of a change, for the audit log. */
export const AsAuthor = createParamDecorator((_: unknown, context: ExecutionContext): AuditAuthor => {
  const { author } = context.switchToHttp().getRequest<WithAuthor>();
  if (!author) throw new Error('a route without the admin guard asked for its author');
  return author;
});
