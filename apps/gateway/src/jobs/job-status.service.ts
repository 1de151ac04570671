/** What a job has come to, page by page (spec/crawl.md, "Paging"). */
import { type Uuid } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { jobExpired, jobNotFound } from '../errors/api-error.js';
import { type JobError, type Jobs, type JobView, type PageRow } from './ports.js';
import { type ProgressWatch } from './progress-watch.js';

const MAX_CHUNK_BYTES = 10 * 1024 * 1024;
const HOLD_MS = 2_000;

export interface StatusQuery {
  /** Results before this index were delivered already. */
  skip: number;
  limit: number | null;
  /** Wait for something new rather than answer with nothing. */
  mayHold: boolean;
}

export interface StatusPage {
  job: JobView;
  rows: PageRow[];
  /** Index to go on with; null when the job is over and everything was delivered. */
  nextSkip: number | null;
}

export interface JobProblems {
  errors: JobError[];
  robotsBlocked: string[];
}

export class JobStatusService {
  constructor(
    private readonly jobs: Pick<Jobs, 'find' | 'tombstone' | 'pages' | 'errors' | 'robotsBlocked' | 'active'>,
    private readonly watch: ProgressWatch,
  ) {}

  /** The caller's job. Throws 404 for unknown, foreign and expired ones. */
  async find(caller: Caller, id: Uuid): Promise<JobView> {
    const job = await this.jobs.find(id);
    if (job !== null && job.team === caller.team) return job;
    const past = job === null ? await this.jobs.tombstone(id) : null;
    throw past?.team === caller.team ? jobExpired() : jobNotFound();
  }

  async page(caller: Caller, id: Uuid, query: StatusQuery, signal: AbortSignal): Promise<StatusPage> {
    const page = await this.read(await this.find(caller, id), query);
    const isHeld = query.mayHold && page.rows.length === 0 && page.job.status === 'scraping';
    return isHeld ? this.hold(caller, page, query, signal) : page;
  }

  async problems(caller: Caller, id: Uuid): Promise<JobProblems> {
    const { jobNo } = await this.find(caller, id);
    const [errors, robotsBlocked] = await Promise.all([this.jobs.errors(jobNo), this.jobs.robotsBlocked(jobNo)]);
    return { errors, robotsBlocked };
  }

  /** Running crawls of the team, newest first. */
  activeCrawls(caller: Caller): Promise<JobView[]> {
    return this.jobs.active(caller.team, 'crawl');
  }

  /** Progress may slip in between a read and the start of the watch, so the job is read once more under it. */
  private async hold(caller: Caller, empty: StatusPage, query: StatusQuery, signal: AbortSignal): Promise<StatusPage> {
    const { job: id } = empty.job;
    const watch = this.watch.watch(id, (progress) => progress.ord > query.skip || progress.status !== 'scraping');
    if (watch === null) return empty;
    const deadlineMs = performance.now() + HOLD_MS;
    try {
      let page = empty;
      do {
        page = await this.read(await this.find(caller, id), query);
        const leftMs = deadlineMs - performance.now();
        if (page.rows.length > 0 || page.job.status !== 'scraping' || leftMs <= 0) return page;
        await watch.next(leftMs, signal);
      } while (!signal.aborted && this.watch.isOpen);
      return page;
    } finally {
      watch.close();
    }
  }

  /** The job is read before its pages: what a finished job shows is then complete. */
  private async read(job: JobView, { skip, limit }: StatusQuery): Promise<StatusPage> {
    const rows = await this.jobs.pages(job.jobNo, skip, limit, MAX_CHUNK_BYTES);
    const reached = skip + rows.length;
    if (job.status === 'scraping') return { job, rows, nextSkip: reached };
    const hasMore = rows.length > 0 && (await this.jobs.pages(job.jobNo, reached, 1, 0)).length > 0;
    return { job, rows, nextSkip: hasMore ? reached : null };
  }
}
