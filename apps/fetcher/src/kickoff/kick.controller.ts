import { Controller, Inject } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import type { Kick } from '@troupe/contracts';
import { traceOf } from '@troupe/messaging';
import { KickRunner } from './kick-runner.js';

/** Sitemaps may hold 50 MB each. */
const AT_ONCE = { maxInFlight: 8 };

@Controller()
export class KickController {
  constructor(@Inject(KickRunner) private readonly kicks: KickRunner) {}

  @EventPattern(['work.kick.hi', 'work.kick.lo'], AT_ONCE)
  kick(@Payload() kick: Kick, @Ctx() context: unknown): Promise<void> {
    return this.kicks.run(kick, traceOf(context));
  }
}
