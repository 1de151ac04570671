/**
 * Running jobs as this process knows them, shared by all followers of their progress: held status requests, WebSockets,
 * streams of lines.
 *
 * A feed hears `evt.job.<job>`, which is lossy, and looks into Postgres every two seconds: one subscription and one
 * query a job, however many wait. It outlives its last follower by up to four seconds, because a client whose held
 * request was answered asks again at once.
 */
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { progressSubject, type JobProgress, type Uuid } from '@troupe/contracts';
import { JobRepository } from '@troupe/persistence';
import { NatsListener } from '../infra/nats-listener.js';
import { isOver, type Jobs, type JobView, type Listener } from './ports.js';
import { SharedAlarms } from './shared-alarms.js';

const LOOK_EVERY_MS = 2_000;
/** Followers at the same time; beyond that requests are answered at once, and live connections refused. */
const MAX_FOLLOWERS = 20_000;
/** A wait may be this much longer, so that many end together. */
const ALARM_GRAIN_MS = 250;

interface Waiting {
  known: number;
  wake: () => void;
}

class JobFeed {
  /** As last heard of; null when it expired meanwhile. */
  job: JobView | null;
  results = 0;
  followers = 0;
  isClosed = false;
  private wasFollowed = true;
  /** `completed` of the job when `results` was right. */
  private countedAt: number | null = null;
  private isLooking = false;
  private mustLookAgain = false;
  /** Names of its hosts that are slowed, as last heard of. */
  private slowHosts = '';
  private readonly id: Uuid;
  private readonly waiting = new Set<Waiting>();
  private readonly stopListening: () => void;
  private readonly timer: NodeJS.Timeout;

  constructor(
    job: JobView,
    private readonly jobs: Pick<Jobs, 'find' | 'resultCount'>,
    listener: Listener,
    private readonly alarms: SharedAlarms,
    private readonly onIdle: () => void,
  ) {
    this.job = job;
    this.id = job.job;
    this.stopListening = listener.listen<JobProgress>(progressSubject(this.id), (progress) => this.hear(progress));
    this.timer = setInterval(() => this.tick(), LOOK_EVERY_MS);
    void this.look();
  }

  get isOver(): boolean {
    return this.isClosed || this.job === null || isOver(this.job);
  }

  hasNews(known: number): boolean {
    return this.results > known || this.isOver;
  }

  news(known: number, ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.hasNews(known)) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        forgetAlarm();
        signal.removeEventListener('abort', wake);
        this.waiting.delete(waiting);
        resolve();
      };
      const waiting = { known, wake };
      const forgetAlarm = this.alarms.set(ms, wake);
      signal.addEventListener('abort', wake, { once: true });
      this.waiting.add(waiting);
    });
  }

  close(): void {
    this.isClosed = true;
    clearInterval(this.timer);
    this.stopListening();
    this.tell();
  }

  private tick(): void {
    if (this.followers === 0 && !this.wasFollowed) {
      this.close();
      this.onIdle();
      return;
    }
    this.wasFollowed = this.followers > 0;
    if (!this.isOver) void this.look();
  }

  private hear({ status, total, completed, ord, slowHosts = [] }: JobProgress): void {
    this.results = Math.max(this.results, ord);
    if (this.slowHosts !== slowHosts.join()) void this.look();
    this.slowHosts = slowHosts.join();
    if (status !== 'scraping') void this.look();
    else if (this.job !== null && completed >= this.job.completed) {
      this.job = { ...this.job, total, completed };
      this.countedAt = completed;
    }
    this.tell();
  }

  /** Looks once at a time. A notice during a look leads to another look. */
  private async look(): Promise<void> {
    this.mustLookAgain = true;
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.mustLookAgain && !this.isClosed) {
      this.mustLookAgain = false;
      // A failed look changes nothing: the next one is near, and followers have their own limits of time.
      await this.lookOnce().catch(() => undefined);
    }
    this.isLooking = false;
  }

  private async lookOnce(): Promise<void> {
    const job = await this.jobs.find(this.id);
    if (job !== null && job.completed !== this.countedAt) {
      this.results = Math.max(this.results, await this.jobs.resultCount(job.jobNo));
      this.countedAt = job.completed;
    }
    this.job = job;
    this.tell();
  }

  private tell(): void {
    for (const { known, wake } of [...this.waiting]) if (this.hasNews(known)) wake();
  }
}

/** One follower of a job. */
export class Follower {
  private isHere = true;

  constructor(
    private readonly feed: JobFeed,
    private readonly onLeave: () => void,
  ) {
    feed.followers++;
  }

  /** The job as last heard of, at most seconds ago; null when it expired meanwhile. */
  get job(): JobView | null {
    return this.feed.job;
  }

  /** Results it has, as far as is known. */
  get results(): number {
    return this.feed.results;
  }

  /** Whether there is news: results behind the first `known`, the job's end, or the end of all waiting. */
  hasNews(known: number): boolean {
    return this.feed.hasNews(known);
  }

  /** Resolves when there is news, or after `ms` and a moment, or when `signal` aborts. */
  news(known: number, ms: number, signal: AbortSignal): Promise<void> {
    return this.feed.news(known, ms, signal);
  }

  leave(): void {
    if (!this.isHere) return;
    this.isHere = false;
    this.feed.followers--;
    this.onLeave();
  }
}

@Injectable()
export class JobFeeds implements OnModuleDestroy {
  private readonly feeds = new Map<Uuid, JobFeed>();
  private readonly alarms = new SharedAlarms(ALARM_GRAIN_MS);
  private followers = 0;
  private isClosed = false;

  constructor(
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'find' | 'resultCount'>,
    @Inject(NatsListener) private readonly listener: Listener,
  ) {}

  /** False once the gateway drains: no request waits any more. */
  get isOpen(): boolean {
    return !this.isClosed;
  }

  /** A running job that a client follows, as it was at most seconds ago. Postgres is not asked. */
  peek(id: Uuid): JobView | null {
    const feed = this.feeds.get(id);
    return feed === undefined || feed.isOver ? null : feed.job;
  }

  /** null when there are too many followers already, or the gateway drains. */
  follow(job: JobView): Follower | null {
    if (this.isClosed || this.followers >= MAX_FOLLOWERS) return null;
    this.followers++;
    return new Follower(this.feedOf(job), () => this.followers--);
  }

  /** Wakes all waiting requests, and lets none wait from now on. */
  close(): void {
    this.isClosed = true;
    for (const feed of this.feeds.values()) feed.close();
    this.feeds.clear();
  }

  /** Runs before connections are closed: held requests and watches end on them. */
  onModuleDestroy(): void {
    this.close();
  }

  /** A batch that was over may run again: its old feed has nothing more to tell. */
  private feedOf(job: JobView): JobFeed {
    const known = this.feeds.get(job.job);
    if (known?.isOver === false) return known;
    known?.close();
    const feed: JobFeed = new JobFeed(job, this.jobs, this.listener, this.alarms, () => this.forget(job.job, feed));
    this.feeds.set(job.job, feed);
    return feed;
  }

  private forget(id: Uuid, feed: JobFeed): void {
    if (this.feeds.get(id) === feed) this.feeds.delete(id);
  }
}
