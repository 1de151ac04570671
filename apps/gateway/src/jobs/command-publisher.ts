/** Carries committed commands to their actors, and again when the first try may have been lost. */
import { type Logger } from '@troupe/observability';
import { type Jobs, type Publisher, type RecordedCommand } from './ports.js';

const SWEEP_MS = 5_000;
const OVERDUE_MS = 10_000;

export class CommandPublisher {
  private timer: NodeJS.Timeout | null = null;
  private readonly sending = new Set<Promise<void>>();

  constructor(
    private readonly jobs: Pick<Jobs, 'pendingCommands'>,
    private readonly publisher: Publisher,
    private readonly log: Pick<Logger, 'warn'>,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.track(this.sweep()), SWEEP_MS);
    this.timer.unref();
  }

  /** The command is committed, so nobody has to wait: what fails here is sent again by any gateway. */
  send(command: RecordedCommand): void {
    this.track(this.publish(command));
  }

  async stop(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    await Promise.allSettled(this.sending);
  }

  /**
   * Publishes what no actor has taken up within 10 s, each by itself: one that cannot be published does not hold back the others.
   * The message id keeps a repeat from being handled twice at once.
   */
  async sweep(): Promise<void> {
    for (const command of await this.jobs.pendingCommands(OVERDUE_MS)) await this.publish(command);
  }

  private async publish({ envelope }: RecordedCommand): Promise<void> {
    try {
      await this.publisher.publishActor(envelope);
    } catch (error) {
      const { to, type } = envelope;
      this.log.warn({ err: error, to, type }, 'a job command was not published; it will be repeated');
    }
  }

  private track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => this.log.warn({ err: error }, 'pending job commands could not be read; tried again'))
      .finally(() => this.sending.delete(tracked));
    this.sending.add(tracked);
  }
}
