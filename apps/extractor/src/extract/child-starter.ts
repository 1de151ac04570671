import { checkSpec, TroupeError, type ChildJob, type Tracer } from '@troupe/contracts';
import type { ActorBus } from '@troupe/messaging';
import type { JobRepository, NewChild } from '@troupe/persistence';
import type { Children } from './plan.handler.js';

export interface ChildStarterParts {
  jobs: Pick<JobRepository, 'createChild'>;
  mailboxes: Pick<ActorBus, 'publishActor'>;
  tracer?: Tracer;
}

/** Records the jobs that fetch pages for another one, and sends their commands. */
export class ChildStarter implements Children {
  constructor(private readonly parts: ChildStarterParts) {}

  /**
   * Resolves when the child is recorded: a command that is lost on the way is sent again by a gateway.
   * @throws TroupeError BAD_REQUEST when its wishes are too large
   */
  async start(order: NewChild): Promise<ChildJob> {
    const breach = checkSpec(order.spec);
    if (breach !== null) throw new TroupeError('BAD_REQUEST', breach.message, { details: breach });
    const { child, command } = await this.parts.jobs.createChild({
      ...order,
      trace: this.parts.tracer?.active(),
    });
    if (command !== null) await this.parts.mailboxes.publishActor(command.envelope).catch(() => undefined);
    return child;
  }
}
