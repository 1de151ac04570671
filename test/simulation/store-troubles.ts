/** A store that is away for a while, answers nothing after a commit, is slow, or cannot take what one job brings. */
import {
  ContentError,
  CrashError,
  NO_FAULTS,
  TurnConflictError,
  TurnTimeoutError,
  type ActorDef,
  type Incoming,
  type TurnWrites,
} from '@troupe/actors';
import { partitionOf, type ActorKey, type PageResult } from '@troupe/contracts';
import type { SimJob } from './jobs.js';
import type { Stage } from './stage.js';

/** Whoever sees it goes on with what it has in hand. */
export class StoreAwayError extends Error {
  constructor(what: string) {
    super(`the store ${what}`);
    this.name = 'StoreAwayError';
  }
}

/**
 * - `rows`: the document of one page cannot be stored. `slow`: storing it takes for ever.
 * - `state`: nothing of the job can be stored any more. `ended`: not even that it has ended.
 * - `handler`: its actor stumbles over the page. `killer`: whoever handles the page ends with it.
 */
const POISONS = ['rows', 'slow', 'state', 'ended', 'handler', 'killer'] as const;

/** By one owner: of a drain of any size, of its halves, and of what comes after. */
const MAX_REFUSALS = 50;
const LONGEST_AWAY_MS = 6_000;

export class StoreTroubles {
  private awayUntil = 0;
  private readonly poison: (typeof POISONS)[number] | null;
  private readonly poisonFrom: number;
  private victim: SimJob | null = null;
  private url = '';
  /** When what it brings was refused first. */
  private wasOver = false;
  private seedsThen = 0;
  /** Partitions whose owner has died of its mail. */
  private readonly killed = new Set<number | null>();
  /** Refusals of what the poisoned job brings. */
  refusals = 0;
  /** Those by the newest owner. */
  private refusalsOfOwner = 0;

  constructor(private readonly stage: Stage) {
    const { faults } = stage;
    const lostAnswers = faults.level('lost answer', [0, 0.004, 0.1]);
    const dice = faults.of('poison');
    this.poison = faults.has('poison', 0.1) ? dice.pick(POISONS) : null;
    this.poisonFrom = dice.int(0, 20_000);
    stage.bus.faults = { ...NO_FAULTS, beforePublish: () => this.maybeCrash('before publish') };
    stage.store.faults = {
      ...NO_FAULTS,
      beforeRead: (part) => {
        if (this.killed.has(part)) throw new CrashError('killed by its mail');
        this.beAway('is away');
      },
      beforeCommit: () => {
        this.maybeCrash('before commit');
        this.beAway('is away');
        if (stage.faults.happens('conflict', 0.01)) throw new TurnConflictError('deadlock detected');
      },
      beforeWrite: ({ part }, writes) => {
        if (stage.faults.happens('slow turn', 0.003)) throw new TurnTimeoutError('statement timeout');
        this.refuse(part, writes);
      },
      beforeGrave: (key) => {
        stage.note('to be ended by the store alone:', key);
        if (this.poison === 'ended' && key === this.victim?.key) throw new ContentError('no ended', '22021');
      },
      afterCommit: () => {
        this.maybeCrash('after commit');
        if (stage.faults.happens('lost answer', lostAnswers))
          throw new StoreAwayError('has committed and does not say so');
      },
    };
  }

  /** One of these jobs has what nobody can handle. */
  choose(jobs: readonly SimJob[]): void {
    if (this.poison === null || jobs.length === 0) return;
    const dice = this.stage.faults.of('poison');
    this.victim = dice.pick(jobs);
    const { kind, seeds, base } = this.victim;
    const site = this.stage.web.site(new URL(base).host);
    this.url = kind === 'batch' ? dice.pick(seeds) : dice.pick([...site.pages.keys()]);
    this.stage.note(`poison (${this.poison}) in ${this.url} of`, this.victim.key);
  }

  /**
   * The job that has met it, and whether it had to fail: it may have been over by then. A batch that was, and is to go on
   * with more seeds although nothing is left of it, fails after all.
   */
  get poisoned(): { job: SimJob; mustFail: boolean } | null {
    if (this.refusals === 0) return null;
    const job = this.victim!;
    const isAskedForMore = this.isBuried(job.key) && job.seeds.length > this.seedsThen;
    return { job, mustFail: !this.wasOver || isAskedForMore };
  }

  /** The actors, one of which stumbles. */
  over(def: ActorDef<unknown, unknown>): ActorDef<unknown, unknown> {
    if (this.poison !== 'handler') return def;
    const finish: typeof def.finish = (activation, batch, answers, ctx) => {
      if (activation.key === this.victim?.key && batch.some((incoming) => this.brings(incoming))) {
        this.count();
        throw new Error('stumbled');
      }
      return def.finish(activation, batch, answers, ctx);
    };
    return { ...def, finish };
  }

  private brings({ body }: Incoming): boolean {
    const pages: PageResult[] = body.type === 'PagesDone' || body.type === 'LaneEnd' ? body.pages : [];
    return pages.some(({ url, outcome }) => url === this.url && outcome === 'ok');
  }

  /** Nothing of its state is left, nor of what was bad in it. */
  private isBuried(key: ActorKey): boolean {
    return this.stage.store.endedActors.some((ended) => ended.key === key);
  }

  /** Nobody can do anything for it, and nobody is told. */
  isBeyondHelp({ key }: SimJob): boolean {
    return this.poison === 'ended' && this.refusals > 0 && this.victim?.key === key;
  }

  /** The partition has another owner. */
  begin(part: number): void {
    this.killed.delete(part);
    if (this.victim !== null && partitionOf(this.victim.key) === part) this.refusalsOfOwner = 0;
  }

  private refuse(part: number, writes: TurnWrites): void {
    if (this.victim === null || this.poison === 'handler') return;
    const { jobNo, key } = this.victim;
    const isBad =
      this.poison === 'state' || this.poison === 'ended'
        ? this.stage.elapsed > this.poisonFrom &&
          !this.isBuried(key) &&
          writes.actors.some((actor) => actor.key === key)
        : writes.rows.some((row) => row.op === 'page.insert' && row.jobNo === jobNo && row.url === this.url);
    if (!isBad) return;
    this.count();
    if (this.stage.mutation.blamesStore === true) throw new StoreAwayError('is said to be away');
    if (this.poison === 'killer') {
      this.killed.add(part);
      throw new CrashError('killed by its mail');
    }
    if (this.poison === 'slow') throw new TurnTimeoutError('statement timeout');
    throw new ContentError('invalid byte sequence', '22021');
  }

  /** I15: what cannot be handled is not tried for ever. */
  private count(): void {
    if (this.refusals === 0) {
      this.wasOver = this.stage.store.job(this.victim!.jobNo).row?.finished === true;
      this.seedsThen = this.victim!.seeds.length;
    }
    this.refusals += 1;
    this.stage.note('refused: what', this.victim!.key, 'brings');
    this.refusalsOfOwner += 1;
    if (this.refusalsOfOwner > MAX_REFUSALS)
      this.stage.fail('I15', `what ${this.victim!.key} brings was refused ${this.refusalsOfOwner} times`);
  }

  private maybeCrash(where: string): void {
    if (this.stage.faults.happens('crash', 0.004)) throw new CrashError(where);
  }

  private beAway(what: string): void {
    const { faults, time } = this.stage;
    if (faults.happens('store away', 0.0005))
      this.awayUntil = time.now() + faults.of('store away').int(100, LONGEST_AWAY_MS);
    if (this.stage.isFaulty && time.now() < this.awayUntil) throw new StoreAwayError(what);
  }
}
