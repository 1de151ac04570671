/**
 * A whole cluster in one thread and virtual time: the real actors and partitions on a store, a bus, clocks and workers that
 * fail in every way, driven by one seed. Clients send crawls and batches of several teams on several hosts.
 */
import type { ActorDef, Random, WorkItem } from '@troupe/actors';
import {
  actorKey,
  partitionOf,
  WEBHOOK_EVENTS_OF,
  type ActorKey,
  type ActorKind,
  type Envelope,
  type HostFeedback,
} from '@troupe/contracts';
import { POOL_RULES } from '@troupe/politeness';
import { batchActor } from '../../apps/scheduler/src/crawl/batch.actor.js';
import { crawlActor } from '../../apps/scheduler/src/crawl/crawl.actor.js';
import { deliveryActor } from '../../apps/scheduler/src/delivery/delivery.actor.js';
import { hostActor } from '../../apps/scheduler/src/host/host.actor.js';
import { JOB_RULES, type JobRules } from '../../apps/scheduler/src/crawl/rules.js';
import { teamActor } from '../../apps/scheduler/src/team/team.actor.js';
import { Dispatchers, RETRY_MS } from './dispatchers.js';
import type { FaultKind } from './faults.js';
import { Fetchers, REQUEST_MS } from './fetchers.js';
import { Jobs, type SimJob } from './jobs.js';
import { Oracle } from './oracle.js';
import { HandLedOwners, type Defs, type Release, type Schedulers } from './owners.js';
import { Replicas } from './replicas.js';
import { Scrapers } from './scrapers.js';
import { Stage, type WorldOptions } from './stage.js';
import { StoreTroubles } from './store-troubles.js';
import { Watch } from './watch.js';

export interface CrawlWorldOptions extends WorldOptions {
  /** Partitions are run by replicas of the runtime. @default they are led by hand */
  hasRuntime?: boolean;
  /** When the first host is out of order. @default as the faults want it */
  outage?: (random: Random) => { from: number; to: number };
  /** Of a host that is down. @default half an hour */
  giveUpMs?: number;
}

const LIFE_MS = 3 * 3_600_000;
const MAX_STEPS = 120_000;
const OLD = 1;
const NEW = 2;
/** A version that nobody will ever know. */
const STRANGE = 9;
const ROLES = { robotsAgent: 'troupe', limitCountsFailed: true };

export class CrawlWorld {
  protected readonly stage: Stage;
  protected readonly jobs: Jobs;
  protected readonly fetchers: Fetchers;
  private readonly dispatchers: Dispatchers;
  private readonly scrapers: Scrapers;
  private readonly troubles: StoreTroubles;
  private readonly schedulers: Schedulers;
  private readonly releases: Record<number, Release>;
  private readonly upgrade: { from: number; to: number } | null;
  private strangeAt: number | null;
  private readonly ownerVersions = new Map<string, number>();
  protected readonly watch: Watch;

  constructor(
    seed: number,
    private readonly options: CrawlWorldOptions = {},
  ) {
    const isShared = options.hasRuntime === true;
    this.stage = new Stage(seed, { ...options, isShared });
    const { random, faults, store } = this.stage;
    this.watch = new Watch(this.stage);
    this.troubles = new StoreTroubles(this.stage);
    this.jobs = new Jobs(this.stage, () => this.fetchers);
    this.scrapers = new Scrapers(this.stage);
    this.fetchers = new Fetchers(this.stage, {
      isCancelled: (job) => this.jobs.isCancelled(job),
      scrapesOf: (team) => this.scrapers.placesOf(team),
    });
    this.dispatchers = new Dispatchers(this.stage);
    this.addHistory();
    this.addJobs();
    for (const job of this.jobs.all) this.maybeListen(job);
    this.troubles.choose(this.jobs.all);
    const dice = faults.of('upgrade');
    const from = dice.int(0, 30_000);
    this.upgrade = faults.has('upgrade', 0.2) ? { from, to: from + dice.int(1_000, 60_000) } : null;
    const isStrange = faults.has('strange mail', 0.08) && this.stage.isGentle;
    this.strangeAt = isStrange ? faults.of('strange mail').int(0, 20_000) : null;
    const defs = this.defs();
    this.releases = { [OLD]: this.release(defs, OLD), [NEW]: this.release(defs, NEW) };
    store.jobNoOf = (key) => this.jobs.all.find((job) => job.key === key)?.jobNo;
    this.stage.bus.onMailEvent = (fate, message, epoch) => {
      this.stage.note(fate, message);
      if (fate === 'acknowledged') this.checkVersion(message as Envelope, epoch!);
    };
    const noteOwner = (epoch: number, part: number, version: number): void => {
      this.ownerVersions.set(`${part} ${epoch}`, version);
      this.troubles.begin(part);
    };
    this.schedulers = isShared
      ? new Replicas(this.stage, () => this.releaseNow(), noteOwner)
      : new HandLedOwners(
          this.stage,
          () => this.releaseNow(),
          () => this.keys(),
          noteOwner,
        );
    if (random.chance(0.5)) this.scrapers.open();
    if (this.stage.isTraced) for (const { commands: _commands, ...job } of this.jobs.all) this.stage.note('job', job);
  }

  /** Kinds of faults that have shown themselves. */
  get faults(): readonly FaultKind[] {
    return [...this.stage.faults.seen];
  }

  /** Runs to the end and checks everything; throws `InvariantError`. */
  async run(): Promise<void> {
    const { stage } = this;
    for (let step = 0; !this.isOver(); step++) {
      if (step > MAX_STEPS || stage.elapsed > LIFE_MS) stage.fail('I3', `hangs: ${this.describe()}`);
      if (stage.isFaulty && stage.isOverTime) stage.calm();
      await this.step();
    }
    stage.calm();
    this.upgradeAll();
    await this.schedulers.succeed();
    this.checkOutbox();
    this.checkAll();
  }

  // ------------------------------------------------------------------------------------------------ actors

  /** Actors of more kinds. */
  protected moreDefs(): ActorDef<unknown, unknown>[] {
    return [];
  }

  private defs(): ActorDef<unknown, unknown>[] {
    const { mutation, teams } = this.stage;
    const rules: JobRules = { ...JOB_RULES, ...mutation.job };
    const pool = mutation.pool ?? POOL_RULES;
    const placesOf = (team: string) => teams.get(team)!.size + (mutation.extraPlaces ?? 0);
    const defs = [
      crawlActor(ROLES, rules),
      batchActor(ROLES, rules),
      hostActor({
        maxConn: 9,
        gapMs: 0,
        rules: pool,
        settingOf: (host) => this.stage.hosts.get(host)!.setting(this.stage.elapsed, mutation.extraConn ?? 0),
        ...(this.options.giveUpMs === undefined ? {} : { giveUpMs: this.options.giveUpMs }),
      }),
      teamActor({ concurrencyOf: placesOf, rules: pool }),
      deliveryActor({ retryMs: RETRY_MS }),
    ];
    const all = [...(defs as unknown as ActorDef<unknown, unknown>[]), ...this.moreDefs()];
    const watched = all.map((def) => this.watch.over(this.troubles.over(def)));
    return mutation.actor === undefined ? watched : watched.map((def) => mutation.actor!(def));
  }

  private release(defs: readonly ActorDef<unknown, unknown>[], version: number): Release {
    const known = this.stage.mutation.readsAll === true ? NEW : version;
    const all: Defs = new Map(defs.map((def) => [def.kind, { ...def, version: known }] as [ActorKind, typeof def]));
    return { version, defs: all };
  }

  /** What a process that begins now is of. */
  private releaseNow(): Release {
    const { elapsed, faults } = this.stage;
    if (this.upgrade === null || elapsed < this.upgrade.from) return this.releases[OLD]!;
    const isNew = elapsed >= this.upgrade.to || faults.of('upgrade').chance(0.5);
    return this.releases[isNew ? NEW : OLD]!;
  }

  private upgradeAll(): void {
    if (this.upgrade === null) return;
    this.upgrade.to = 0;
    this.stage.workerVersion = NEW;
    this.schedulers.upgrade();
  }

  /** I16: what an owner cannot read it puts back. */
  private checkVersion({ to, v, type }: Envelope, epoch: number): void {
    const version = this.ownerVersions.get(`${partitionOf(to)} ${epoch}`)!;
    if (v > version && v !== STRANGE)
      this.stage.fail('I16', `${type} of version ${v} was acknowledged under ${version}`);
  }

  // ------------------------------------------------------------------------------------------------ what there is

  /** Some pages of the first site, those that nothing names among them. */
  private addHistory(): void {
    const { web, random, store } = this.stage;
    const [site] = web.sites;
    const urls = [...site!.pages.keys()].filter(() => random.chance(0.3));
    const tracked = new Set([...urls, ...site!.forgotten]);
    store.tracked.push(...[...tracked].map((url) => ({ url, urlH: this.fetchers.link(url).h })));
  }

  protected addJobs(): void {
    this.jobs.addSome();
  }

  private maybeListen(job: SimJob): void {
    if (!this.stage.random.chance(0.3)) return;
    job.webhook = { url: 'http://hook.test/', headers: {}, metadata: '{}', events: WEBHOOK_EVENTS_OF[job.kind] };
  }

  protected keys(): ActorKey[] {
    const listeners = this.jobs.all.flatMap(({ webhook, id }) => (webhook === null ? [] : [actorKey('delivery', id)]));
    return [...this.jobs.all.map((job) => job.key), ...listeners, ...this.stage.poolKeys];
  }

  protected isOver(): boolean {
    const isTold = !this.dispatchers.areAwaited && (this.strangeAt === null || this.strangeLetters.length > 0);
    const isOver = (job: SimJob) => this.troubles.isBeyondHelp(job) || (this.jobs.isOver(job) && this.hasTold(job));
    return this.jobs.all.every(isOver) && isTold;
  }

  private hasTold(job: SimJob): boolean {
    if (job.webhook === null || this.isEntombed(job)) return true;
    const { store } = this.stage;
    const listener = actorKey('delivery', job.id);
    // A batch that was appended to ends again: the news of that may be under way when all of its first end has been told.
    return store.actors.get(listener)?.terminal === true && !store.isOwed(listener);
  }

  /** Nothing was left of its actor that could tell anybody. */
  private isEntombed({ key }: SimJob): boolean {
    return this.stage.store.endedActors.some((ended) => ended.key === key);
  }

  private get strangeLetters() {
    return this.stage.store.deadLetters.filter(({ envelope }) => (envelope as Envelope | null)?.v === STRANGE);
  }

  protected describe(): string {
    return this.jobs.all
      .map(
        (job) =>
          `${job.key} ${JSON.stringify(this.stage.store.job(job.jobNo).row)} ${this.jobs.isOver(job)} ${this.hasTold(job)}`,
      )
      .join('; ');
  }

  // ------------------------------------------------------------------------------------------------ what happens

  private async step(): Promise<void> {
    const { stage } = this;
    this.gateway();
    const roll = stage.random.next();
    if (stage.isFaulty && roll < 0.01) return this.trouble();
    if (roll < 0.6) return this.schedulers.step();
    if (roll < 0.9) return this.stepWorkers();
    stage.time.advance(stage.random.int(0, 400));
    if (!this.hasWork()) stage.time.advance(stage.random.int(200, 5_000));
  }

  protected gateway(): void {
    this.jobs.tend();
    this.scrapers.tend();
    const { stage, upgrade } = this;
    if (upgrade !== null && stage.elapsed >= upgrade.from) stage.workerVersion = stage.random.pick([OLD, NEW]);
    if (upgrade !== null && upgrade.to > 0 && stage.elapsed >= upgrade.to) this.upgradeAll();
    if (this.strangeAt !== null && this.strangeAt > 0 && stage.elapsed >= this.strangeAt) this.sendStrange();
    for (const job of this.jobs.all)
      if (job.webhook !== null && job.id.endsWith('0') && this.jobs.isOver(job) && this.hasTold(job))
        this.dispatchers.replay(job);
  }

  private sendStrange(): void {
    this.strangeAt = 0;
    const [host] = this.stage.hosts.keys();
    const said: HostFeedback = { type: 'HostFeedback', host: host!, ok: 1, meanMs: 1, troubles: [] };
    this.stage.send(actorKey('domain', host!), said, STRANGE);
  }

  protected hasWork(): boolean {
    const { bus } = this.stage;
    const isBusy = bus.work.length > 0 || this.fetchers.areBusy || this.dispatchers.areBusy || this.scrapers.areBusy;
    return isBusy || bus.hasAnyMail;
  }

  protected stepWorkers(): void {
    const { bus, random } = this.stage;
    const isIdle = !this.fetchers.areBusy && !this.dispatchers.areBusy;
    if (bus.work.length > 0 && (isIdle || random.chance(0.4)))
      return this.startWork(bus.work.splice(random.int(0, bus.work.length - 1), 1)[0]!);
    if (this.dispatchers.areBusy && (!this.fetchers.areBusy || random.chance(0.3))) return this.dispatchers.step();
    if (this.fetchers.areBusy) this.fetchers.step();
  }

  protected startWork(work: WorkItem): void {
    const { msg } = work;
    if (msg.type === 'ModelTask') this.stage.fail('I8', 'a task for a model without a job that needs one');
    if (msg.type === 'Post') return this.dispatchers.start(msg, work);
    this.fetchers.start(msg);
  }

  protected async trouble(): Promise<void> {
    const { stage } = this;
    const roll = stage.random.next();
    if (roll < 0.4) return this.schedulers.trouble();
    if (roll < 0.75) return void (stage.faults.happens('dead fetcher', 1) && this.fetchers.kill());
    if (roll < 0.8) {
      if (!stage.faults.happens('wiped bus', 1)) return;
      stage.note('the bus loses all it holds');
      return stage.bus.wipe();
    }
    if (stage.faults.happens('time leap', 1)) this.leap(stage.random.int(1_000, 30_000));
  }

  /** Not so far that a living fetcher would be silent for longer than a request may last. */
  private leap(ms: number): void {
    this.stage.time.advance(Math.min(ms, Math.max(0, REQUEST_MS - this.fetchers.silentMs)));
    this.stage.note('time has leapt');
  }

  // ------------------------------------------------------------------------------------------------ verdict

  /** Whatever was committed as work must have reached the stream, if need be by the next owner. */
  private checkOutbox(): void {
    const { store, bus } = this.stage;
    for (const id of store.owedWork)
      if (!bus.publishedWork.has(id)) this.stage.fail('I9', `work ${id} was committed and never published`);
  }

  protected checkAll(): void {
    const oracle = new Oracle(this.stage, this.fetchers);
    const { poisoned } = this.troubles;
    for (const job of this.jobs.all.filter((one) => !this.troubles.isBeyondHelp(one))) {
      oracle.check(job, poisoned?.job === job && poisoned.mustFail);
      if (job.webhook !== null && !this.isEntombed(job))
        this.dispatchers.checkJob(job, this.stage.store.job(job.jobNo).pages.length);
    }
    this.scrapers.check();
    this.fetchers.checkNotorious();
    this.checkLetters();
  }

  /** I16, I15: dead letters are those of versions that nobody knows, and of the poisoned job. */
  private checkLetters(): void {
    if (this.strangeAt !== null && this.strangeLetters.length !== 1)
      this.stage.fail('I16', `${this.strangeLetters.length} dead letters of a version that nobody knows`);
    const others = this.stage.store.deadLetters.filter(({ key }) => key !== this.troubles.poisoned?.job.key);
    const bad = others.find(({ envelope }) => (envelope as Envelope | null)?.v !== STRANGE);
    if (bad !== undefined) this.stage.fail('I15', `${bad.type} of ${bad.key} became a dead letter: ${bad.error}`);
  }
}
