/** One answer's share of a job's results (docs/api/crawl.md, "Paging"). */
import { isOver, type JobView } from './ports.js';
import { startOf, type ResultRuns, type Run } from './result-runs.js';

export interface ResultRange {
  /** Results before this index were delivered already. */
  skip: number;
  limit: number | null;
  /** Limit of all documents. The first one is delivered however large it is. */
  maxBytes: number;
}

/** Read as it is sent, run by run, so that an answer costs no more memory than a run. */
export class ResultPage {
  /** Whether it ended because its bytes were used up. */
  isCut = false;
  private reached: number;
  private bytes = 0;

  constructor(
    private readonly results: Pick<ResultRuns, 'at'>,
    /** The job as it was before its results are read. So the answer of a finished job is complete. */
    readonly job: JobView,
    private readonly range: ResultRange,
  ) {
    this.reached = range.skip;
  }

  /** Index behind the last result that was given out. */
  get end(): number {
    return this.reached;
  }

  async *runs(): AsyncGenerator<Run> {
    const { skip, limit, maxBytes } = this.range;
    const last = limit === null ? Infinity : skip + limit;
    while (this.reached < last) {
      const run = await this.results.at(this.job, this.reached);
      if (run === null) return;
      const wanted = Math.min(run.count, last - this.reached);
      const fitting = this.fitting(run.ends, maxBytes - this.bytes);
      const taken = Math.min(wanted, fitting);
      if (taken > 0) yield this.take(run, taken);
      this.isCut = fitting < wanted;
      if (this.isCut) return;
    }
  }

  /** Once the runs are out: the index to go on with; null when the job is over and everything was delivered. */
  async nextSkip(): Promise<number | null> {
    if (!isOver(this.job)) return this.reached;
    const isBeyond = this.reached === this.range.skip;
    return isBeyond || (await this.results.at(this.job, this.reached)) === null ? null : this.reached;
  }

  private take(run: Run, count: number): Run {
    const part = startOf(run, count);
    this.reached += count;
    this.bytes += part.bytes.byteLength;
    return part;
  }

  private fitting(ends: readonly number[], maxBytes: number): number {
    const tooMany = ends.findIndex((end) => end > maxBytes);
    if (tooMany === -1) return ends.length;
    return this.bytes === 0 ? Math.max(1, tooMany) : tooMany;
  }
}
