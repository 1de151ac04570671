/**
 * Results of jobs as the bytes of their JSON, read once for all requests that want them at the same time.
 *
 * A job's results are an append-only list, and a result never changes: a run read from an index stays valid, so runs of
 * documents are kept by (job, first index) and nothing here is ever invalidated. Runs end at multiples of `RUN_ROWS`,
 * so that readers that began at different places soon share theirs. Results of jobs with zero data retention are shared
 * by the requests that wait for the same read, and kept no longer.
 */
import { Inject, Injectable } from '@nestjs/common';
import { type DocumentList } from '@troupe/blob-store';
import { type JobNo } from '@troupe/contracts';
import { JobRepository } from '@troupe/persistence';
import { CONFIG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { PageBytes } from './page-bytes.js';
import { isOver, type Jobs, type JobView } from './ports.js';
import { ReaderGate } from './reader-gate.js';

/** Documents that follow one another in a job's results. */
export interface Run extends DocumentList {
  count: number;
}

const RUN_ROWS = 256;
/** A larger document is a run of its own. */
const RUN_BYTES = 512 * 1024;
const KEPT_MS = 5 * 60_000;
/** A run that more results may follow is read again soon. Otherwise frequent readers would leave many tiny runs. */
const UNFINISHED_KEPT_MS = 1_000;
const RUN_OVERHEAD_BYTES = 512;
/** Reads at the same time. Connections are left for other requests, and no request waits for one in vain. */
const MAX_READS = 4;
const MAX_KNOWN_ENDS = 10_000;

@Injectable()
export class ResultRuns {
  private readonly kept: LRUCache<string, Run> | null;
  /** Number of results of jobs that are over. */
  private readonly ends = new LRUCache<string, number>({ max: MAX_KNOWN_ENDS });
  private readonly reads = new ReaderGate(MAX_READS);
  private readonly reading = new Map<string, Promise<Run | null>>();

  constructor(
    @Inject(JobRepository) private readonly jobs: Pick<Jobs, 'pages'>,
    @Inject(PageBytes) private readonly pages: Pick<PageBytes, 'documents'>,
    /** Of documents kept for the next who asks; 0 keeps none. */
    @Inject(CONFIG) { statusCacheMb }: { statusCacheMb: number },
  ) {
    const sizeCalculation = ({ bytes }: Run) => bytes.byteLength + RUN_OVERHEAD_BYTES;
    const maxSize = statusCacheMb * 1024 * 1024;
    this.kept = maxSize === 0 ? null : new LRUCache({ maxSize, sizeCalculation, ttl: KEPT_MS });
  }

  /** The next documents behind the first `from`; null when the job has no more of them now. */
  at(job: JobView, from: number): Run | null | Promise<Run | null> {
    const known = this.kept?.get(keyOf(job.jobNo, from));
    if (known !== undefined) return known;
    return from >= (this.ends.get(endKeyOf(job)) ?? Infinity) ? null : this.look(job, from);
  }

  /** A read that began earlier may answer this request with a run, but not with the absence of one. */
  private async look(job: JobView, from: number): Promise<Run | null> {
    const key = keyOf(job.jobNo, from);
    const earlier = await this.reading.get(key);
    return earlier ?? this.reading.get(key) ?? this.read(key, job, from);
  }

  private read(key: string, job: JobView, from: number): Promise<Run | null> {
    const reading = this.reads.pass(() => this.load(job, from), from > 0).finally(() => this.reading.delete(key));
    this.reading.set(key, reading);
    return reading;
  }

  private async load(job: JobView, from: number): Promise<Run | null> {
    const wanted = RUN_ROWS - (from % RUN_ROWS);
    const rows = await this.jobs.pages(job.jobNo, from, wanted, RUN_BYTES);
    if (rows.length === 0) {
      if (isOver(job)) this.ends.set(endKeyOf(job), from);
      return null;
    }
    const run = { count: rows.length, ...(await this.pages.documents(job.jobNo, rows)) };
    if (job.zdr) return run;
    const isFinal = run.count === wanted || isOver(job);
    this.kept?.set(keyOf(job.jobNo, from), run, { ttl: isFinal ? KEPT_MS : UNFINISHED_KEPT_MS });
    return run;
  }
}

/** The documents of a run, one by one; no copies. */
export function* documentsOf({ bytes, ends }: Run): Generator<Buffer> {
  let start = 0;
  for (const end of ends) {
    yield bytes.subarray(start, end);
    start = end + 1;
  }
}

/** The first `count` documents of a run. */
export function startOf(run: Run, count: number): Run {
  if (count >= run.count) return run;
  return { count, bytes: run.bytes.subarray(0, run.ends[count - 1]), ends: run.ends.slice(0, count) };
}

function keyOf(jobNo: JobNo, from: number): string {
  return `${jobNo}/${from}`;
}

/** A batch may be opened again, and then has another end. */
function endKeyOf({ jobNo, finishedAt }: JobView): string {
  return `${jobNo}@${finishedAt?.getTime() ?? ''}`;
}
