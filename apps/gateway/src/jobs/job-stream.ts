/** Results of a job as they come, until it ends. WebSockets and streams of lines use it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { jobNotFound, unavailable } from '../errors/api-error.js';
import { isDependencyDown } from '../errors/unavailable.js';
import { type Follower, type JobFeeds } from './job-feeds.js';
import { isOver, type JobView } from './ports.js';
import { startOf, type ResultRuns, type Run } from './result-runs.js';

/** Thrown when the gateway drains: the client has to come back, to another gateway. */
export class WatchEndedError extends Error {
  constructor() {
    super('the gateway ends all watches');
    this.name = 'WatchEndedError';
  }
}

/** A feed looks by itself every two seconds. */
const PATIENCE_MS = 60_000;
/** Time between looks for a result that was announced and is not there. */
const UNREADABLE_MS = 500;
/** Without Postgres a stream stands still for so long before it ends. */
const OUTAGE_MS = 60_000;

export class JobStream {
  private known: JobView;
  private readonly follower: Follower | null;
  private failingSince: number | null = null;

  /** @throws ApiError 503 when too many wait already @throws WatchEndedError when the gateway drains */
  constructor(
    private readonly parts: { runs: Pick<ResultRuns, 'at'>; feeds: JobFeeds },
    job: JobView,
    private readonly signal: AbortSignal,
  ) {
    this.known = job;
    this.follower = isOver(job) ? null : follow(parts.feeds, job);
  }

  /** The job as last heard of. After the last run without a limit it is over. */
  get job(): JobView {
    return this.known;
  }

  /**
   * Runs of documents behind the first `from`, at most `limit` of them. Ends with the job, or early when the signal
   * aborts. A slow reader holds only one run in memory.
   * @throws WatchEndedError when the gateway drains @throws ApiError 404 when the job expires meanwhile, 503 when its
   * results cannot be read for a minute
   */
  async *runs(from: number, limit: number | null = null): AsyncGenerator<Run> {
    const last = limit === null ? Infinity : from + limit;
    let reached = from;
    while (reached < last && !this.signal.aborted) {
      const isEnd = this.refresh();
      const run = this.isReadable(reached) ? await this.read(reached) : null;
      if (run === 'unavailable') await sleep(UNREADABLE_MS);
      else if (run !== null) {
        const part = startOf(run, last - reached);
        reached += part.count;
        yield part;
      } else if (isEnd) return;
      else await this.waitBehind(reached);
    }
  }

  close(): void {
    this.follower?.leave();
  }

  private async read(from: number): Promise<Run | null | 'unavailable'> {
    try {
      const run = await this.parts.runs.at(this.known, from);
      this.failingSince = null;
      return run;
    } catch (error) {
      if (!isDependencyDown(error)) throw error;
      this.failingSince ??= performance.now();
      if (performance.now() - this.failingSince > OUTAGE_MS) throw unavailable(error);
      return 'unavailable';
    }
  }

  /** Whether the job is over. Asked before its results are read, so that none can be missed. */
  private refresh(): boolean {
    if (!this.parts.feeds.isOpen) throw new WatchEndedError();
    if (this.follower !== null) {
      if (this.follower.job === null) throw jobNotFound();
      this.known = this.follower.job;
    }
    return isOver(this.known);
  }

  private async waitBehind(reached: number): Promise<void> {
    if (this.isReadable(reached)) await sleep(UNREADABLE_MS);
    else await this.follower?.news(reached, PATIENCE_MS, this.signal);
  }

  private isReadable(reached: number): boolean {
    return this.follower === null || this.follower.hasNews(reached);
  }
}

function follow(feeds: JobFeeds, job: JobView): Follower {
  if (!feeds.isOpen) throw new WatchEndedError();
  const follower = feeds.follow(job);
  if (follower === null) throw unavailable(null);
  return follower;
}
