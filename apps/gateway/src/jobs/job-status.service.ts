/** Status and results of a job, page by page (docs/api/crawl.md, "Paging"). */
import { Inject, Injectable } from '@nestjs/common';
import { type JobKind, type Uuid } from '@troupe/contracts';
import { JobRepository, type ListKey, type ListPage, type ListRange } from '@troupe/persistence';
import { LRUCache } from 'lru-cache';
import { type Caller } from '../auth/caller.js';
import { jobExpired, jobNotFound } from '../errors/api-error.js';
import { JobFeeds } from './job-feeds.js';
import { JobStream } from './job-stream.js';
import { isOver, PAGE_JOBS, type JobError, type Jobs, type JobView } from './ports.js';
import { ResultPage, type ResultRange } from './result-page.js';
import { ResultRuns } from './result-runs.js';

const MAX_CHUNK_BYTES = 10 * 1024 * 1024;
const HOLD_MS = 2_000;
const MAX_KNOWN = 10_000;
const KNOWN_MS = 10_000;

export interface StatusQuery {
  /** Results before this index were delivered already. */
  skip: number;
  limit: number | null;
  /** Wait for news rather than answer without any. */
  mayHold: boolean;
}

/** Failed pages and URLs that robots.txt forbids, each a list of its own. */
export interface JobProblems {
  errors: ListPage<JobError>;
  robotsBlocked: ListPage<{ url: string }>;
}

export interface ProblemsQuery {
  /** Rows of each list to pass over. */
  skip: number;
  limit: number;
  afterError: ListKey | null;
  afterBlocked: ListKey | null;
}

@Injectable()
export class JobStatusService {
  /**
   * Crawls that are over. They do not change until they expire. Batches are left out because they may be opened again.
   */
  private readonly over = new LRUCache<Uuid, JobView>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  constructor(
    @Inject(JobRepository)
    private readonly jobs: Pick<Jobs, 'find' | 'tombstone' | 'errors' | 'robotsBlocked' | 'active'>,
    private readonly runs: ResultRuns,
    private readonly feeds: JobFeeds,
  ) {}

  /** The caller's job with pages. Throws 404 for unknown, foreign and expired ones. */
  find(caller: Caller, id: Uuid): Promise<JobView> {
    return this.findOf(caller, id, PAGE_JOBS);
  }

  /** As `find`, for jobs of other kinds. */
  async findOf(caller: Caller, id: Uuid, kinds: readonly JobKind[]): Promise<JobView> {
    const job = this.known(id) ?? (await this.look(id));
    if (job !== null && job.team === caller.team && kinds.includes(job.kind)) return job;
    const past = job === null ? await this.jobs.tombstone(id) : null;
    throw past?.team === caller.team && kinds.includes(past.kind) ? jobExpired() : jobNotFound();
  }

  /** Status and results of the job. A request that is up to date with a running job is held for a while. */
  async page(caller: Caller, id: Uuid, query: StatusQuery, signal: AbortSignal): Promise<ResultPage> {
    const followed = query.mayHold ? this.feeds.peek(id) : null;
    const job = followed?.team === caller.team ? followed : await this.find(caller, id);
    return query.mayHold && !isOver(job) ? this.held(job, query, signal) : this.pageOf(job, query);
  }

  /** The first `limit` results (null: all) up to `maxBytes` of them. */
  pageOf(job: JobView, { skip = 0, limit = null, maxBytes = MAX_CHUNK_BYTES }: Partial<ResultRange>): ResultPage {
    return new ResultPage(this.runs, job, { skip, limit, maxBytes });
  }

  /** Results as they come. The caller closes the stream. @throws as `find` and the constructor of `JobStream` do */
  async stream(caller: Caller, id: Uuid, signal: AbortSignal): Promise<JobStream> {
    return new JobStream({ runs: this.runs, feeds: this.feeds }, await this.find(caller, id), signal);
  }

  /** One list after the other: a call has one connection. */
  async problems(caller: Caller, id: Uuid, query: ProblemsQuery): Promise<JobProblems> {
    const { jobNo } = await this.find(caller, id);
    const { skip, limit, afterError, afterBlocked } = query;
    const errors = await this.jobs.errors(jobNo, { skip, limit, after: afterError });
    const robotsBlocked = await this.jobs.robotsBlocked(jobNo, { skip, limit, after: afterBlocked });
    return { errors, robotsBlocked };
  }

  /** Running crawls of the team, newest first. */
  activeCrawls(caller: Caller, range: ListRange): Promise<ListPage<JobView>> {
    return this.jobs.active(caller.team, 'crawl', range);
  }

  /** Waits until there is news or the time is up. Results that are known to be absent are not read. */
  private async held(job: JobView, query: StatusQuery, signal: AbortSignal): Promise<ResultPage> {
    const follower = this.feeds.follow(job);
    if (follower === null) return this.pageOf(job, query);
    await follower.news(query.skip, HOLD_MS, signal);
    follower.leave();
    return this.pageOf(follower.job ?? job, follower.hasNews(query.skip) ? query : { ...query, limit: 0 });
  }

  private known(id: Uuid): JobView | undefined {
    const job = this.over.get(id);
    return job !== undefined && job.expiresAt.getTime() > Date.now() ? job : undefined;
  }

  private async look(id: Uuid): Promise<JobView | null> {
    const job = await this.jobs.find(id);
    if (job?.kind === 'crawl' && isOver(job)) this.over.set(id, job);
    return job;
  }
}
