import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type TeamFlags, type Uuid } from '@troupe/contracts';
import type { Request } from 'express';

/** The team behind the key of a request. */
export interface Caller {
  team: Uuid;
  teamName: string;
  /** null with `AUTH_MODE=none`. */
  keyId: Uuid | null;
  /** Pages of the team being fetched at once. */
  concurrency: number;
  /** Credits per calendar month, counted with `BILLING=on`; null = unlimited. */
  creditsLimit: number | null;
  /** The team has a language model of its own. */
  hasModel: boolean;
  /** Permissions and limits of its own. */
  flags: TeamFlags;
}

type WithCaller = Request & { caller?: Caller };

export function setCaller(request: Request, caller: Caller): void {
  (request as WithCaller).caller = caller;
}

/** The authenticated caller of a guarded route. */
export const AsCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<WithCaller>();
  if (!caller) throw new Error('a route without authentication asked for its caller');
  return caller;
});
