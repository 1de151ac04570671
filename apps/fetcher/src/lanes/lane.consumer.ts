import { Inject, Injectable } from '@nestjs/common';
import type { Lane, TraceParent, Uuid } from '@troupe/contracts';
import { CONFIG, type Config } from '@troupe/service';
import { LaneParts, LaneRun } from './lane-run.js';

/** Running pages may take this long to end by themselves before they go back to their jobs. */
const DRAIN_MS = 20_000;

/** Both queues together may bring more lanes than there are places; another fetcher may have one. */
const BUSY_RETRY_MS = 100;

/** Every lane that runs in this process: cancelled by job, drained together. */
@Injectable()
export class LaneConsumer {
  private readonly running = new Set<{ job: Uuid; run: LaneRun; ended: ReturnType<LaneRun['execute']> }>();
  private readonly unsubscribe: () => void;
  private draining = false;

  constructor(
    private readonly parts: LaneParts,
    /** `fetcherConcurrency`: lanes at once, from all queues together. */
    @Inject(CONFIG) private readonly config: Pick<Config, 'fetcherConcurrency'>,
  ) {
    this.unsubscribe = parts.cancels.onCancel((job) => this.cancel(job));
  }

  /** Resolves when the lane is over and its job knows, or to when it is to come back; throws to ask for redelivery. */
  async handle(lane: Lane, trace?: TraceParent): Promise<void | { retryMs: number }> {
    if (this.running.size >= this.config.fetcherConcurrency) return { retryMs: BUSY_RETRY_MS };
    const run = new LaneRun(lane, this.parts, trace);
    if (this.draining) run.drain();
    const ended = run.execute();
    const entry = { job: lane.job, run, ended };
    this.running.add(entry);
    try {
      return await ended;
    } finally {
      this.running.delete(entry);
    }
  }

  /** No further page starts; resolves when every lane has told its job what it left. */
  async drain(): Promise<void> {
    this.draining = true;
    this.unsubscribe();
    for (const { run } of this.running) run.drain();
    const timer = setTimeout(() => this.abandon(), DRAIN_MS);
    await Promise.allSettled([...this.running].map(({ ended }) => ended));
    clearTimeout(timer);
  }

  private abandon(): void {
    for (const { run } of this.running) run.abandon();
  }

  private cancel(job: Uuid): void {
    for (const entry of this.running) if (entry.job === job) entry.run.cancel();
  }
}
