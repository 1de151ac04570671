/** Carries committed commands to their actors, and again when the first try may have been lost. */
import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { JobRepository, LostJobRepository } from '@troupe/persistence';
import { isUuid, parseActorKey, type ActorKey } from '@troupe/contracts';
import { ActorBus, MessageTooLargeError, NatsLink, receiverOf } from '@troupe/messaging';
import { type Logger } from '@troupe/observability';
import { LOG } from '@troupe/service';
import { unavailable } from '../errors/api-error.js';
import {
  type DueCommand,
  type Jobs,
  type Link,
  type LostCommands,
  type Publisher,
  type RecordedCommand,
} from './ports.js';

const SWEEP_MS = 5_000;
const OVERDUE_MS = 10_000;
const AT_ONCE = 100;

@Injectable()
export class CommandPublisher implements OnApplicationBootstrap, OnApplicationShutdown {
  private timer: NodeJS.Timeout | null = null;
  private readonly sending = new Set<Promise<void>>();
  private isSweeping = false;

  constructor(
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'takeCommands'>,
    @Inject(LostJobRepository) private readonly lost: LostCommands,
    @Inject(ActorBus) private readonly publisher: Publisher,
    @Inject(NatsLink) private readonly link: Link,
    @Inject(LOG) private readonly log: Pick<Logger, 'warn'>,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.track(this.sweep()), SWEEP_MS);
    this.timer.unref();
  }

  /** Called before a job is recorded. @throws ApiError 503 while no command can be sent */
  ensureUp(): void {
    if (!this.link.isUp()) throw unavailable(null);
  }

  /** The command is committed, so no request has to wait. A command that fails here is sent again by any gateway. */
  send(command: RecordedCommand): void {
    this.track(this.publish(command));
  }

  async onApplicationShutdown(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    await Promise.allSettled(this.sending);
  }

  /**
   * Publishes commands that no actor has taken up within 10 s. Each is published by itself, so that one that fails or
   * takes long does not hold back the others. The message id keeps a repeat from being handled twice at once.
   */
  async sweep(): Promise<void> {
    if (this.isSweeping) return;
    this.isSweeping = true;
    try {
      for (let taken = AT_ONCE; taken === AT_ONCE;) {
        const due = await this.jobs.takeCommands(OVERDUE_MS, AT_ONCE);
        await Promise.all(due.map((command) => this.repeat(command)));
        taken = due.length;
      }
    } finally {
      this.isSweeping = false;
    }
  }

  private async repeat({ id, subject, envelope }: DueCommand): Promise<void> {
    if (envelope !== null) return this.publish({ id, envelope });
    await this.giveUp(id, keyIn(subject), 'its command cannot be read');
  }

  private async publish({ id, envelope }: RecordedCommand): Promise<void> {
    const { to, type } = envelope;
    try {
      await this.publisher.publishActor(envelope);
    } catch (error) {
      if (error instanceof MessageTooLargeError) return this.giveUp(id, to, error.message);
      this.log.warn({ err: error, to, type }, 'a job command was not published; it will be repeated');
    }
  }

  /** No repeat can help, so the job's clients are told that it failed. */
  private async giveUp(id: string, to: ActorKey | null, why: string): Promise<void> {
    const { lost, log } = this;
    log.warn({ command: id, to, why }, 'a job command can never be published: its job fails');
    const job = to === null ? null : parseActorKey(to).id;
    try {
      await lost.failCommand(id, job !== null && isUuid(job) ? job : null, `The job could not be started: ${why}`);
    } catch (error) {
      log.warn({ err: error, command: id }, 'the job of that command has not failed yet; tried again');
    }
  }

  private track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.log.warn({ err: error }, 'pending job commands could not be read; tried again'))
      .finally(() => this.sending.delete(tracked));
    this.sending.add(tracked);
  }
}

function keyIn(subject: string): ActorKey | null {
  try {
    return receiverOf(subject);
  } catch {
    return null;
  }
}
