/** A job whose results and state a spec makes up, behind the ports that read it. */
import { gzipSync } from 'node:zlib';
import { type JobProgress, type JobStatus } from '@troupe/contracts';
import { type Caller } from '../auth/caller.js';
import { JobFeeds } from './job-feeds.js';
import { JobStatusService } from './job-status.service.js';
import { PageBytes } from './page-bytes.js';
import { type JobView, type PageRow } from './ports.js';
import { ResultRuns } from './result-runs.js';

export const JOB_ID = '6f0c0000-0000-4000-8000-000000000000';
export const CALLER: Caller = {
  team: 'team-a',
  teamName: 'a',
  keyId: null,
  concurrency: 10,
  creditsLimit: null,
  hasModel: false,
  flags: {},
};
const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;
const CACHE_BYTES = 16 * MIB;

/** JSON of the nth document, from 0 on. */
export type Document = (n: number) => object;

export class JobFixture {
  results = 0;
  status: JobStatus = 'scraping';
  error: string | null = null;
  throttled: JobView['throttled'] = null;
  slowHosts: string[] = [];
  kind: 'crawl' | 'batch' = 'crawl';
  exists = true;
  /** Nothing can be read. */
  isDown = false;
  zdr = false;
  expiresAt = new Date(Date.now() + DAY_MS);
  /** Reads of the tables. */
  readonly reads = { find: 0, pages: 0, count: 0 };
  readonly feeds: JobFeeds;
  readonly runs: ResultRuns;
  readonly service: JobStatusService;
  private readonly listeners = new Set<(progress: JobProgress) => void>();

  constructor(
    private readonly document: Document = (n) => ({ markdown: `page ${n}` }),
    cacheBytes = CACHE_BYTES,
  ) {
    const jobs = {
      find: (id: string) => this.find(id),
      resultCount: () => {
        this.reads.count++;
        return Promise.resolve(this.results);
      },
      pages: (_jobNo: string, skip: number, limit: number | null, maxBytes: number) =>
        this.pages(skip, limit, maxBytes),
      page: () => Promise.resolve(null),
      tombstone: (id: string) =>
        Promise.resolve(id.startsWith('dead') ? { team: CALLER.team, kind: 'crawl' as const } : null),
      errors: () => Promise.resolve({ rows: [], hasMore: false }),
      robotsBlocked: () => Promise.resolve({ rows: [], hasMore: false }),
      active: () => Promise.resolve({ rows: [], hasMore: false }),
    };
    const noBlobs = { get: () => Promise.reject(new Error('no blobs here')) };
    this.feeds = new JobFeeds(jobs, { listen: (_subject, onMessage) => this.listen(onMessage as never) });
    this.runs = new ResultRuns(jobs, new PageBytes({ results: noBlobs }, jobs, { note: () => undefined }), {
      statusCacheMb: cacheBytes / MIB,
    });
    this.service = new JobStatusService(jobs, this.runs, this.feeds);
  }

  get subscriptions(): number {
    return this.listeners.size;
  }

  view(): JobView {
    return {
      job: JOB_ID,
      jobNo: '1',
      team: CALLER.team,
      kind: this.kind,
      status: this.status,
      paused: false,
      total: this.results,
      completed: this.results,
      creditsUsed: this.results,
      createdAt: new Date(0),
      finishedAt: this.status === 'scraping' ? null : new Date(5_000),
      expiresAt: this.expiresAt,
      error: this.error,
      warning: null,
      originUrl: null,
      wireOptions: null,
      zdr: this.zdr,
      tokens: 0,
      parent: null,
      throttled: this.throttled,
    };
  }

  /** More results, and the word of it. */
  add(count: number): void {
    this.results += count;
    this.tell();
  }

  end(status: JobStatus): void {
    this.status = status;
    this.tell();
  }

  tell(): void {
    const { status, results } = this;
    for (const listen of this.listeners)
      listen({ job: JOB_ID, status, total: results, completed: results, ord: results, slowHosts: this.slowHosts });
  }

  private listen(listener: (progress: JobProgress) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private find(id: string): Promise<JobView | null> {
    this.reads.find++;
    if (this.isDown) return Promise.reject(new Error('Connection terminated unexpectedly'));
    return Promise.resolve(id === JOB_ID && this.exists ? this.view() : null);
  }

  private async pages(skip: number, limit: number | null, maxBytes: number): Promise<PageRow[]> {
    this.reads.pages++;
    if (this.isDown) throw new Error('Connection terminated unexpectedly');
    const rows: PageRow[] = [];
    const last = Math.min(this.results, skip + (limit ?? Infinity));
    await Promise.resolve();
    for (let n = skip, bytes = 0; n < last; n++) {
      const json = Buffer.from(JSON.stringify(this.document(n)));
      bytes += json.byteLength;
      if (bytes > maxBytes && rows.length > 0) break;
      rows.push({ ord: n + 1, item: n + 1, url: '', bytes: json.byteLength, blob: null, inline: gzipSync(json) });
    }
    return rows;
  }
}
