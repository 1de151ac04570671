/** Dispatchers of a world, and the receivers of its webhooks: deaf now and then, and exact about what came when. */
import type { WorkItem } from '@troupe/actors';
import { actorKey, isDelivered, numbersOf, placeOf, type Post, type PostResult, type Span } from '@troupe/contracts';
import type { SimJob } from './jobs.js';
import type { Stage } from './stage.js';

/** Pauses of the delivery actors in these worlds. */
export const RETRY_MS = [2_000, 10_000];

/** Until a command has arrived, been put back or been lost. */
const REPLAY_MS = 120_000;

interface RunningPost {
  post: Post;
  work: WorkItem;
  left: number[];
  done: PostResult[];
}

export class Dispatchers {
  private readonly running: RunningPost[] = [];
  /** First attempts in their order, by job. */
  private readonly firsts = new Map<string, number[]>();
  private readonly heard = new Map<string, Set<number>>();
  private readonly deafness: number;
  /** Attempts that operators want, and until when they may be under way; their commands may be lost. */
  private readonly replays = new Map<SimJob, { attempt: number; until: number }>();

  constructor(private readonly stage: Stage) {
    this.deafness = stage.faults.level('deaf receiver', [0, 0.1, 0.5]);
  }

  get areBusy(): boolean {
    return this.running.length > 0;
  }

  start(post: Post, work: WorkItem): void {
    const left = [...numbersOf(post.events)];
    this.running.push({ post, work, left, done: [] });
    this.stage.send(post.actor, { type: 'PostDone', run: post.run, attempt: post.attempt, results: [] });
  }

  step(): void {
    const { random, faults } = this.stage;
    const running = random.pick(this.running);
    const { post } = running;
    if (faults.happens('dead dispatcher', 0.01)) return this.die(running);
    const eventNo = running.left.shift();
    if (eventNo === undefined) return this.report(running, true);
    this.stage.time.advance(random.int(0, 40));
    running.done.push(this.post(post, eventNo));
    if (random.chance(0.3)) this.report(running, false);
    // Its receiver has no place for the rest.
    else if (random.chance(0.02)) this.giveBack(running);
  }

  /** An operator wants the first event of a job that is over once more. */
  replay(job: SimJob): void {
    if (this.replays.has(job)) return;
    const attempt = Math.max(0, ...this.rowsOf(job, 0).map((row) => row.attempt)) + 1;
    this.replays.set(job, { attempt, until: this.stage.elapsed + REPLAY_MS });
    const groups = [{ attempt, events: [[0, 0]] as Span[] }];
    this.stage.send(actorKey('delivery', job.id), { type: 'Replay', id: `replay-${job.id}`, groups });
  }

  get areAwaited(): boolean {
    const { elapsed } = this.stage;
    return [...this.replays].some(
      ([job, { attempt, until }]) => elapsed < until && !this.rowsOf(job, 0).some((row) => row.attempt >= attempt),
    );
  }

  private die(running: RunningPost): void {
    this.running.splice(this.running.indexOf(running), 1);
    this.stage.bus.work.push(running.work);
  }

  private giveBack(running: RunningPost): void {
    const { post, done } = running;
    this.running.splice(this.running.indexOf(running), 1);
    const results = done.splice(0);
    this.stage.send(post.actor, { type: 'PostDone', run: post.run, attempt: post.attempt, results, waitMs: 1_000 });
  }

  private report(running: RunningPost, isLast: boolean): void {
    const { post, done } = running;
    if (isLast) this.running.splice(this.running.indexOf(running), 1);
    const results = done.splice(0);
    if (results.length > 0)
      this.stage.send(post.actor, { type: 'PostDone', run: post.run, attempt: post.attempt, results });
  }

  private post({ job, attempt, ends }: Post, eventNo: number): PostResult {
    const { stage } = this;
    const isDeaf = stage.isFaulty && stage.faults.of('deaf receiver').chance(this.deafness);
    stage.note(`event ${eventNo} of ${job}, attempt ${attempt}:`, isDeaf ? 'not taken' : 'taken');
    this.check(job, eventNo, ends);
    const firsts = this.firsts.get(job) ?? [];
    if (!firsts.includes(eventNo)) firsts.push(eventNo);
    this.firsts.set(job, firsts);
    if (!isDeaf) this.heard.set(job, (this.heard.get(job) ?? new Set()).add(eventNo));
    return { eventNo, status: isDeaf ? 500 : 200, error: null, ms: 5, atMs: stage.time.wall() };
  }

  /** I17: the start is tried before any page, the end after every page. */
  private check(job: string, eventNo: number, ends: number[]): void {
    const firsts = this.firsts.get(job) ?? [];
    if (firsts.includes(eventNo)) return;
    const place = placeOf(eventNo, ends);
    if (place.what !== 'start' && !firsts.includes(0))
      this.stage.fail('I17', `event ${eventNo} of ${job} before its start`);
    if (place.what !== 'end') return;
    for (let no = 0; no < eventNo; no++)
      if (!firsts.includes(no)) this.stage.fail('I17', `the end of ${job} was told before event ${no}`);
  }

  private rowsOf({ jobNo }: SimJob, eventNo: number) {
    return this.stage.store.job(jobNo).deliveries.filter((row) => row.eventNo === eventNo);
  }

  /** I17: each event was heard, or was tried as often as may be; and the rows say so. */
  checkJob(job: SimJob, pages: number): void {
    const { ends } = this.stage.store.job(job.jobNo);
    if (ends.length === 0) this.stage.fail('I17', `${job.key} never told its end`);
    const last = pages + ends.length;
    for (let eventNo = 0; eventNo <= last; eventNo++) {
      const rows = this.rowsOf(job, eventNo);
      const isHeard = this.heard.get(job.id)?.has(eventNo) === true;
      const isTold = rows.some((row) => isDelivered(row));
      if (isTold && !isHeard) this.stage.fail('I17', `event ${eventNo} of ${job.key} is said to have been heard`);
      if (!isTold && rows.length <= RETRY_MS.length)
        this.stage.fail('I17', `event ${eventNo} of ${job.key} had ${rows.length} attempts, and nobody heard it`);
      if (!rows.some((row) => row.final)) this.stage.fail('I17', `event ${eventNo} of ${job.key} is not over`);
    }
    const beyond = this.stage.store.job(job.jobNo).deliveries.find((row) => row.eventNo > last);
    if (beyond !== undefined) this.stage.fail('I17', `event ${beyond.eventNo} of ${job.key}, which has ${last}`);
  }
}
