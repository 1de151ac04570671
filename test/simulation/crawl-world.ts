/**
 * A whole crawl in one thread and virtual time: the real actors and partitions on a store, a bus, a clock and
 * fetchers that fail in every way of design/failure-matrix.md, driven by one seed.
 */
import {
  CrashError,
  FencedError,
  InvariantError,
  NO_FAULTS,
  Partition,
  PARTITION_DEFAULTS,
  Random,
  SimBus,
  SimClock,
  SimStore,
  STORE_RULES,
  type ActorDef,
  type JobRow,
  type StoreRules,
  type WorkItem,
} from '@troupe/actors';
import {
  FROM_HISTORY,
  actorKey,
  parseActorKey,
  partitionOf,
  plainScrape,
  type ActorKey,
  type ActorKind,
  type ActorMessage,
  type CrawlSpec,
  type Kick,
  type Lane,
  type LaneItem,
  type Outlink,
  type PageResult,
  type PauseNews,
  type ScopeSpec,
  type Start,
} from '@troupe/contracts';
import { fingerprintUrl, hostKey } from '@troupe/frontier';
import {
  compareSlotPairs,
  decideSlotClaim,
  POOL_RULES,
  type PoolRules,
  type SlotDecision,
  type SlotPair,
  type SlotValue,
} from '@troupe/politeness';
import { batchActor } from '../../apps/scheduler/src/batch/batch.actor.js';
import { crawlActor } from '../../apps/scheduler/src/crawl/crawl.actor.js';
import { domainActor } from '../../apps/scheduler/src/domain/domain.actor.js';
import { JOB_RULES, type JobRules } from '../../apps/scheduler/src/job/job.machine.js';
import { teamActor } from '../../apps/scheduler/src/team/team.actor.js';
import { expectedPages, makeSite, type SimSite } from './site.js';

/** One planted error, or none. */
export interface Mutation {
  job?: Partial<JobRules>;
  pool?: PoolRules;
  slotOrder?: (a: SlotPair, b: SlotPair) => number;
  store?: (random: Random) => Partial<StoreRules>;
  ackBeforeCommit?: boolean;
}

export interface SimJob {
  kind: 'crawl' | 'batch';
  /** URLs of a batch, repeats included. */
  seeds: string[];
  id: string;
  jobNo: string;
  key: ActorKey;
  limit: number;
  /** It tracks changes: what earlier crawls have tracked belongs to it. */
  tracks?: boolean;
  startAt: number;
  cancelAt: number | null;
  /** When it is paused and resumed in turn, soonest first. */
  pausesAt: number[];
  pause: PauseNews;
  /** When a batch gets more seeds, and which. */
  appends: { at: number; urls: string[] }[];
  /** Commands that wait for their receipt. */
  commands: Map<string, { body: ActorMessage; sendAt: number }>;
  /** The job for which it fetches pages. */
  parent?: ActorKey;
}

interface RunningLane {
  lane: Lane;
  run: string;
  fetcher: string;
  left: LaneItem[];
  done: PageResult[];
  /** Handed back for fetchers with a browser. */
  forBrowser: number[];
  fetching: { item: LaneItem; until: number; from: number } | null;
  startedAt: number;
  /** When its job last heard of it. */
  spokeAt: number;
  slotKey: string;
}

interface Owner {
  partition: Partition;
  /** Steps a deposed owner may still take. */
  zombieSteps: number | null;
}

/** What a request may last. */
const REQUEST_MS = 30_000;
const FAULTY_MS = 120_000;
const LIFE_MS = 3 * 3_600_000;
const MAX_STEPS = 60_000;
export const TEAM = '00000000-0000-4000-8000-00000000000a';

export class CrawlWorld {
  readonly random: Random;
  readonly clock = new SimClock();
  readonly store: SimStore;
  readonly bus: SimBus;
  private readonly defs: ReadonlyMap<ActorKind, ActorDef<unknown, unknown>>;
  private readonly owners = new Map<number, Owner[]>();
  private readonly slots = new Map<string, SlotValue>();
  /** What fetchers know of pauses; a write may be lost. */
  private readonly pauses = new Map<string, PauseNews>();
  private readonly newestPair = new Map<string, SlotPair>();
  private readonly lanes: RunningLane[] = [];
  private readonly alive = new Set<string>(['f1', 'f2']);
  private readonly tries = new Map<string, number>();
  protected readonly site: SimSite;
  protected readonly jobs: SimJob[] = [];
  private fetchers = 2;
  private runs = 0;
  protected faulty = true;
  private readonly startedAt: number;
  private readonly maxConn: number;
  private readonly teamSize: number;
  /** Nothing but schedulers fails, and nothing is lost or repeated: then no page is requested without need. */
  protected readonly gentle: boolean;
  private readonly fetches = new Map<string, number>();

  constructor(
    seed: number,
    protected readonly mutation: Mutation = {},
    /** Takes every event, a line each. */
    private readonly trace: ((line: string) => void) | null = null,
  ) {
    this.random = new Random(seed);
    this.startedAt = this.clock.now();
    this.bus = new SimBus(this.random, this.clock);
    this.maxConn = this.random.int(1, 2);
    this.teamSize = this.random.int(1, 3);
    this.gentle = this.random.chance(0.3);
    if (!this.gentle)
      this.bus.troubles = {
        loss: this.random.pick([0, 0.01, 0.05]),
        duplication: this.random.pick([0, 0.05, 0.2]),
        reordering: this.random.pick([0, 0.1, 0.3]),
        lateness: this.random.pick([0, 0.3, 0.6]),
      };
    this.store = new SimStore(this.clock, { ...STORE_RULES, ...this.storeRules(), ...this.ackEarly() });
    this.defs = this.makeDefs();
    this.site = makeSite(this.random, this.random.int(8, 26));
    this.addHistory();
    this.addJobs();
    this.store.faults = {
      ...NO_FAULTS,
      beforeCommit: () => this.maybeCrash('before commit'),
      afterCommit: () => this.maybeCrash('after commit'),
    };
    this.bus.faults = { ...NO_FAULTS, beforePublish: () => this.maybeCrash('before publish') };
    if (trace !== null) this.listen();
  }

  private listen(): void {
    this.note(this.gentle ? 'a gentle world:' : 'a world of troubles:', this.bus.troubles, {
      maxConn: this.maxConn,
      teamSize: this.teamSize,
    });
    for (const page of this.site.pages.values()) this.note('page', page);
    for (const { commands: _commands, ...job } of this.jobs) this.note('job', job);
    this.bus.onFate = (fate, message) => this.note(fate, message);
    this.store.onCommit = ({ part, epoch }, { actors, rows, outbox }) =>
      this.note(`committed by partition ${part}, epoch ${epoch}:`, {
        actors: actors.map(({ key, rev }) => `${key} rev ${rev + 1}`),
        rows,
        outbox: outbox.map(({ id }) => id),
      });
  }

  /** Tells the trace; costs nothing without one. */
  private note(event: string, detail?: unknown, more?: unknown): void {
    if (this.trace === null) return;
    const details = [detail, more].filter((value) => value !== undefined).map((value) => JSON.stringify(value));
    this.trace(`${String(this.elapsed()).padStart(8)} ms  ${[event, ...details].join(' ')}`);
  }

  /** Runs to the end and checks everything; throws `InvariantError`. */
  async run(): Promise<void> {
    for (let step = 0; !this.isOver(); step++) {
      if (step > MAX_STEPS || this.elapsed() > LIFE_MS) throw new InvariantError('I3', `hangs: ${this.describe()}`);
      if (this.faulty && this.elapsed() > FAULTY_MS) this.calm();
      await this.step();
    }
    await this.settleOutbox();
    this.checkAll();
  }

  protected checkAll(): void {
    for (const job of this.jobs) this.checkJob(job);
  }

  protected storeRules(): Partial<StoreRules> {
    return this.mutation.store?.(this.random) ?? {};
  }

  /** Actors of more kinds. */
  protected moreDefs(): ActorDef<unknown, unknown>[] {
    return [];
  }

  private ackEarly(): Partial<StoreRules> {
    return this.mutation.ackBeforeCommit ? { beforeTransaction: (part) => this.bus.ackTaken(part) } : {};
  }

  private makeDefs(): ReadonlyMap<ActorKind, ActorDef<unknown, unknown>> {
    const rules: JobRules = { ...JOB_RULES, ...this.mutation.job };
    const pool = this.mutation.pool ?? POOL_RULES;
    const job = { robotsAgent: 'troupe', limitCountsFailed: true };
    const defs = [
      crawlActor(job, rules),
      batchActor(job, rules),
      this.domain(),
      teamActor({ concurrencyOf: () => this.teamSize, rules: pool }),
    ];
    const all = [...(defs as unknown as ActorDef<unknown, unknown>[]), ...this.moreDefs()];
    return new Map(all.map((def) => [def.kind, def]));
  }

  protected domainOptions(): Parameters<typeof domainActor>[0] {
    return { maxConn: this.maxConn, gapMs: 0, rules: this.mutation.pool ?? POOL_RULES };
  }

  protected domain(): ReturnType<typeof domainActor> {
    return domainActor(this.domainOptions());
  }

  /** Some pages of the site, those that nothing names among them. */
  private addHistory(): void {
    const urls = [...this.site.pages.keys()].filter(() => this.random.chance(0.3));
    this.store.tracked.push(...[...urls, ...this.site.forgotten].map((url) => ({ url, urlH: this.link(url).h })));
  }

  protected addJobs(): void {
    const count = this.random.int(1, 3);
    for (let i = 0; i < count; i++) {
      const id = `00000000-0000-4000-8000-0000000000${10 + i}`;
      const limit = this.random.chance(0.3) ? this.random.int(1, this.site.pages.size) : 1_000;
      const cancelAt = this.random.chance(0.15) ? this.random.int(0, 20_000) : null;
      const kind = this.random.chance(0.2) ? 'batch' : 'crawl';
      const seeds = kind === 'batch' ? this.someUrls() : [];
      const appends = kind === 'batch' ? this.someAppends() : [];
      const pausesAt = kind === 'crawl' && this.random.chance(0.3) ? this.somePauses() : [];
      const jobNo = String(100 + i);
      this.store.job(jobNo).seeds.push(...seeds);
      this.jobs.push({
        kind,
        seeds,
        id,
        jobNo,
        key: actorKey(kind, id),
        limit: kind === 'batch' ? seeds.length : limit,
        tracks: kind === 'crawl' && this.random.chance(0.5),
        startAt: this.random.int(0, 5_000),
        cancelAt,
        pausesAt,
        pause: { v: 0, paused: false },
        appends,
        commands: new Map(),
      });
    }
  }

  protected someUrls(): string[] {
    const urls = [...this.site.pages.keys()];
    return Array.from({ length: this.random.int(1, 20) }, () => this.random.pick(urls));
  }

  private someAppends(): SimJob['appends'] {
    const count = this.random.chance(0.7) ? this.random.int(1, 3) : 0;
    return Array.from({ length: count }, () => ({ at: this.random.int(0, 60_000), urls: this.someUrls() }));
  }

  /** Of even number: whoever pauses, resumes. */
  private somePauses(): number[] {
    const times = Array.from({ length: 2 * this.random.int(1, 2) }, () => this.random.int(0, 90_000));
    return times.sort((a, b) => a - b);
  }

  protected elapsed(): number {
    return this.clock.now() - this.startedAt;
  }

  /** After the storm everything works: whatever is still owed must arrive. */
  private calm(): void {
    this.note('from here on nothing fails');
    this.faulty = false;
    this.bus.troubles = { loss: 0, duplication: 0, reordering: 0, lateness: 0 };
  }

  private maybeCrash(where: string): void {
    if (this.faulty && this.random.chance(0.004)) throw new CrashError(where);
  }

  protected isOver(): boolean {
    return this.jobs.every((job) => {
      const isAsked = job.commands.size > 0 || job.appends.length > 0 || job.pausesAt.length > 0;
      return this.store.actors.get(job.key)?.terminal === true && (!isAsked || this.hasFailed(job));
    });
  }

  protected describe(): string {
    return this.jobs.map((job) => `${job.key} ${JSON.stringify(this.store.job(job.jobNo).row)}`).join('; ');
  }

  // ---------------------------------------------------------------------------------------------- schedule

  private async step(): Promise<void> {
    this.gateway();
    const roll = this.random.next();
    if (this.faulty && roll < 0.01) return this.trouble();
    if (roll < 0.6) return this.stepOwner();
    if (roll < 0.9) return this.stepFetcher();
    this.clock.advance(this.random.int(0, 400));
    if (!this.hasWork()) this.clock.advance(this.random.int(200, 5_000));
  }

  protected hasWork(): boolean {
    return this.bus.work.length > 0 || this.lanes.length > 0 || this.parts().some((part) => this.bus.hasMail(part));
  }

  protected parts(): number[] {
    const keys = [
      ...this.jobs.map((job) => job.key),
      actorKey('domain', hostKey(this.site.base)),
      actorKey('team', TEAM),
    ];
    return [...new Set(keys.map((key) => partitionOf(key)))];
  }

  private async stepOwner(): Promise<void> {
    const part = this.random.pick(this.parts());
    let owners = this.owners.get(part);
    if (owners === undefined || owners.length === 0 || owners.every((owner) => owner.zombieSteps !== null))
      owners = await this.takeOver(part);
    const owner = this.random.pick(owners);
    if (owner.zombieSteps !== null) owner.zombieSteps -= 1;
    if (owner.zombieSteps === 0) this.remove(part, owner);
    await this.stepPartition(part, owner);
  }

  private async stepPartition(part: number, owner: Owner): Promise<void> {
    try {
      await owner.partition.step();
    } catch (error) {
      if (!(error instanceof CrashError || error instanceof FencedError)) throw error;
      this.note(`partition ${part}, epoch ${owner.partition.epoch} ends:`, error.message);
      this.remove(part, owner);
    }
  }

  private remove(part: number, owner: Owner): void {
    this.owners.set(
      part,
      (this.owners.get(part) ?? []).filter((other) => other !== owner),
    );
  }

  private async takeOver(part: number): Promise<Owner[]> {
    const epoch = await this.store.mintEpoch(part);
    this.note(`partition ${part}, epoch ${epoch} begins`);
    const deps = {
      store: this.store,
      bus: this.bus,
      clock: this.clock,
      log: SILENT,
      defs: this.defs,
      options: { ...PARTITION_DEFAULTS, idleMs: 0, paceMs: 0 },
    };
    const owner: Owner = { partition: new Partition(part, epoch, deps), zombieSteps: null };
    const owners = [...(this.owners.get(part) ?? []), owner];
    this.owners.set(part, owners);
    try {
      await owner.partition.open();
    } catch (error) {
      if (!(error instanceof CrashError)) throw error;
      this.remove(part, owner);
    }
    return this.owners.get(part)!.length > 0 ? this.owners.get(part)! : this.takeOver(part);
  }

  protected async trouble(): Promise<void> {
    const roll = this.random.next();
    if (roll < 0.4 || this.gentle) return this.deposeOwner();
    if (roll < 0.75) return this.killFetcher();
    if (roll < 0.8) {
      this.note('the bus loses all it holds');
      return this.bus.wipe();
    }
    this.leap(this.random.int(1_000, 30_000));
  }

  /** Not so far that a living fetcher would be silent for longer than a request may last. */
  private leap(ms: number): void {
    const silentMs = this.lanes.map(({ spokeAt }) => this.clock.now() - spokeAt);
    this.clock.advance(Math.min(ms, Math.max(0, REQUEST_MS - Math.max(0, ...silentMs))));
    this.note('time has leapt');
  }

  /** A second owner appears while the first still believes in itself. */
  private async deposeOwner(): Promise<void> {
    const part = this.random.pick(this.parts());
    this.note(`partition ${part} gets a second owner`);
    for (const owner of this.owners.get(part) ?? []) owner.zombieSteps ??= this.random.int(1, 20);
    await this.takeOver(part);
  }

  private killFetcher(): void {
    const victim = this.random.pick([...this.alive]);
    this.note(`fetcher ${victim} dies`);
    this.alive.delete(victim);
    this.alive.add(`f${++this.fetchers}`);
    for (const lane of this.lanes.filter(({ fetcher }) => fetcher === victim)) {
      this.lanes.splice(this.lanes.indexOf(lane), 1);
      // Not acknowledged: the stream delivers it again.
      this.bus.work.push({ id: lane.run, msg: lane.lane });
    }
  }

  // ---------------------------------------------------------------------------------------------- gateway

  protected gateway(): void {
    for (const job of this.jobs) {
      const row = this.store.job(job.jobNo).row;
      if (row === null && this.elapsed() >= job.startAt) {
        job.startAt = this.elapsed() + 10_000;
        this.send(job.key, this.startOf(job));
      }
      if (job.cancelAt !== null && this.elapsed() >= job.cancelAt && row !== null && !row.finished) {
        job.cancelAt = this.elapsed() + 2_000;
        this.send(job.key, { type: 'Cancel', job: job.id });
      }
      if (row !== null) this.changeJob(job, row);
      this.sendCommands(job);
    }
  }

  /** What a gateway records of an append or a pause, in one transaction; its command is sent until it is acknowledged. */
  private changeJob(job: SimJob, row: JobRow): void {
    const append = job.appends[0];
    if (append !== undefined && this.elapsed() >= append.at) {
      job.appends.shift();
      if (this.hasFailed(job)) return;
      const { seeds } = this.store.job(job.jobNo);
      seeds.push(...append.urls);
      job.seeds.push(...append.urls);
      job.limit = seeds.length;
      this.store.job(job.jobNo).row = {
        ...row,
        status: 'scraping',
        finished: false,
        total: row.total + append.urls.length,
      };
      this.record(job, (cmd) => ({ type: 'Append', job: job.id, cmd, toOrd: seeds.length }));
    }
    if (row.finished) job.pausesAt = [];
    if (job.pausesAt.length === 0 || this.elapsed() < job.pausesAt[0]!) return;
    job.pausesAt.shift();
    job.pause = { v: job.pause.v + 1, paused: !job.pause.paused };
    if (this.gentle || this.random.chance(0.9)) this.pauses.set(job.id, job.pause);
    this.record(job, (cmd) => ({ type: 'Pause', job: job.id, cmd, ...job.pause }));
  }

  private record(job: SimJob, make: (cmd: string) => ActorMessage): void {
    const cmd = `cmd-${++this.runs}`;
    job.commands.set(cmd, { body: make(cmd), sendAt: 0 });
    this.store.job(job.jobNo).commands.add(cmd);
  }

  private sendCommands(job: SimJob): void {
    const open = this.store.job(job.jobNo).commands;
    for (const [cmd, command] of job.commands) {
      if (!open.has(cmd)) job.commands.delete(cmd);
      else if (this.elapsed() >= command.sendAt) {
        command.sendAt = this.elapsed() + 10_000;
        this.send(job.key, command.body);
      }
    }
  }

  private hasFailed({ jobNo }: SimJob): boolean {
    const row = this.store.job(jobNo).row;
    return row?.status === 'cancelled' || row?.status === 'failed';
  }

  private startOf(job: SimJob): Start {
    const { id, jobNo, kind, seeds, parent } = job;
    const child = parent === undefined ? {} : { parent };
    const head = { type: 'Start' as const, job: id, jobNo, team: TEAM, keyId: null, createdMs: this.clock.wall() };
    const spec = this.specOf(job);
    if (kind === 'crawl') return { ...head, kind, spec: { ...spec, ...child } };
    const batch = { maxConcurrency: null, scrape: spec.scrape, webhook: null, ...child };
    return { ...head, kind, spec: batch, total: seeds.length };
  }

  private specOf(job: SimJob): CrawlSpec {
    const scrape = plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: REQUEST_MS, onlyMainContent: true });
    const changeTracking = { tag: null, diff: false, diffShape: 'string', json: null } as const;
    return {
      url: this.site.base,
      scope: SCOPE(this.site.base),
      limit: job.limit,
      delayMs: 0,
      maxConcurrency: null,
      ignoreRobots: false,
      robotsAgent: null,
      scrape: job.tracks === true ? { ...scrape, changeTracking } : scrape,
      webhook: null,
    };
  }

  protected send(to: ActorKey, body: ActorMessage): void {
    const { faults } = this.bus;
    this.bus.faults = NO_FAULTS;
    void this.bus.publishActor({ id: `w.${this.runs++}`, type: body.type, v: 1, from: 'w/sim', to, n: null, body });
    this.bus.faults = faults;
  }

  // ---------------------------------------------------------------------------------------------- fetchers

  protected stepFetcher(): void {
    const takeNew = this.bus.work.length > 0 && (this.lanes.length === 0 || this.random.chance(0.4));
    if (takeNew) return this.startWork(this.bus.work.splice(this.random.int(0, this.bus.work.length - 1), 1)[0]!);
    if (this.lanes.length > 0) this.stepLane(this.random.pick(this.lanes));
  }

  protected startWork(work: WorkItem): void {
    // No job of this world has a webhook.
    if (work.msg.type === 'Post') throw new InvariantError('I8', 'a post without a webhook');
    if (work.msg.type === 'ModelTask')
      throw new InvariantError('I8', 'a task for a model without a job that needs one');
    this.checkPause(work.msg);
    if (work.msg.type === 'Kick') return this.kick(work.msg);
    this.startLane(work.msg);
  }

  /** I11: nothing is dispatched by a job that knows itself paused: odd numbers are pauses. */
  private checkPause({ type, pauseV }: Lane | Kick): void {
    if ((pauseV ?? 0) % 2 === 1) throw new InvariantError('I11', `${type} was sent under pause ${pauseV}`);
  }

  private pauseNews({ job, pauseV }: Lane): PauseNews | undefined {
    const news = this.pauses.get(job);
    return news !== undefined && news.v > (pauseV ?? 0) ? news : undefined;
  }

  private kick(kick: Kick): void {
    const news = this.pauses.get(parseActorKey(kick.actor).id);
    if (kick.pauseV !== undefined && news !== undefined && news.v > kick.pauseV) return;
    if (kick.task === 'probe') {
      const { host } = kick;
      const clean = this.isProbeClean(kick);
      this.send(kick.actor, { type: 'HostFeedback', host, ok: 0, meanMs: 0, troubles: [], probe: { clean } });
      return;
    }
    if (kick.task === 'robots') {
      const sitemaps = [`${this.site.base}sitemap.xml`];
      this.send(kick.actor, {
        type: 'RobotsDone',
        host: kick.host,
        status: 200,
        crawlDelayMs: null,
        sitemaps,
        error: null,
      });
      return;
    }
    if (kick.task === 'history') {
      const links = kick.urls.map((url) => this.link(url));
      return this.send(kick.actor, { type: 'HistoryJudged', part: kick.part, links });
    }
    const chunks = this.site.sitemap;
    const end = Math.min(chunks.length, kick.fromChunk + this.random.int(1, 2));
    for (let chunk = kick.fromChunk; chunk < end; chunk++) {
      const last = chunk === chunks.length - 1;
      const urls = chunks[chunk]!.map((url) => this.link(url));
      this.send(kick.actor, {
        type: 'SitemapChunk',
        file: kick.file,
        chunk,
        urls,
        children: [],
        excluded: null,
        last,
        more: !last && chunk === end - 1,
        error: null,
      });
    }
  }

  protected isProbeClean(_kick: Kick): boolean {
    return true;
  }

  private startLane(lane: Lane): void {
    const fetcher = this.random.pick([...this.alive]);
    const slotKey = `${lane.host}.${lane.slot.i}`;
    const stored = this.slots.get(slotKey) ?? null;
    const claim = { gen: lane.slot.gen, lane: lane.lane, fetcher };
    const holderAlive = stored !== null && this.alive.has(stored.fetcher);
    const decision = decideSlotClaim(stored, claim, holderAlive, this.mutation.slotOrder ?? compareSlotPairs);
    this.note(`lane ${lane.lane} of ${lane.job} on ${slotKey}: ${decision}`, claim, stored);
    this.checkSlot(slotKey, claim, decision);
    if (decision === 'duplicate') return;
    const run = `run-${++this.runs}`;
    if (decision === 'stale') {
      this.send(lane.actor, {
        type: 'LaneEnd',
        lane: lane.lane,
        run,
        reason: 'refused',
        ranMs: 0,
        unrun: lane.items.map(({ item }) => item),
        pages: [],
      });
      return;
    }
    this.slots.set(slotKey, { ...claim, st: 'held' });
    this.lanes.push({
      lane,
      run,
      fetcher,
      left: [...lane.items],
      done: [],
      forBrowser: [],
      fetching: null,
      startedAt: this.clock.now(),
      spokeAt: this.clock.now(),
      slotKey,
    });
    this.checkTeam();
    this.send(lane.actor, { type: 'LaneStarted', lane: lane.lane, run });
  }

  /** A slot's pair only grows, and nobody with a greater one is sent away. */
  private checkSlot(slotKey: string, claim: SlotPair, decision: SlotDecision): void {
    const newest = this.newestPair.get(slotKey) ?? { gen: 0, lane: 0 };
    const order = compareSlotPairs(claim, newest);
    if (decision === 'take' && order < 0) throw new InvariantError('I5', `${slotKey}: an old lane took the slot`);
    if (decision !== 'take' && order > 0) throw new InvariantError('I5', `${slotKey}: a new lane was sent away`);
    if (order > 0) this.newestPair.set(slotKey, { gen: claim.gen, lane: claim.lane });
  }

  /** I6: places of the team in use. */
  private checkTeam(): void {
    const live = this.lanes.length;
    if (live > this.teamSize) throw new InvariantError('I6', `${live} lanes of a team of ${this.teamSize}`);
  }

  /** A lane whose slot was taken over loses its renewal: it starts no further page. */
  private isEntitled({ lane, slotKey, fetcher }: RunningLane): boolean {
    const slot = this.slots.get(slotKey);
    return slot?.gen === lane.slot.gen && slot.lane === lane.lane && slot.fetcher === fetcher;
  }

  private stepLane(lane: RunningLane): void {
    if (lane.fetching !== null) {
      if (this.clock.now() < lane.fetching.until) return this.clock.advance(this.random.int(0, 50));
      const { item, from } = lane.fetching;
      lane.fetching = null;
      lane.done.push(this.result(lane.lane, item, this.clock.now() - from));
      if (this.random.chance(0.4)) this.flush(lane);
      return;
    }
    const item = lane.left.shift();
    const news = this.pauseNews(lane.lane);
    if (item === undefined || news !== undefined || this.isCancelled(lane.lane.job) || !this.isEntitled(lane))
      return this.endLane(lane, item, news);
    if (needsBrowser(item) && item.browser !== true) return void lane.forBrowser.push(item.item);
    const ms = this.random.int(5, 800);
    lane.fetching = { item, until: this.clock.now() + ms, from: this.clock.now() };
    const id = `${lane.lane.job} ${item.url} ${item.item}`;
    this.note(`lane ${lane.lane.lane} of ${lane.lane.job} asks for ${item.url}`, item);
    this.fetches.set(id, (this.fetches.get(id) ?? 0) + 1);
    this.checkHost(lane.lane.host);
  }

  /** I5: page requests in flight on a host. */
  private checkHost(host: string): void {
    const live = this.lanes.filter((lane) => lane.lane.host === host && lane.fetching !== null).length;
    if (live > this.maxConn) throw new InvariantError('I5', `${live} requests on ${host}, ${this.maxConn} allowed`);
  }

  private isCancelled(job: string): boolean {
    const jobNo = this.jobs.find(({ id }) => id === job)!.jobNo;
    return this.store.job(jobNo).row?.status === 'cancelled';
  }

  private flush(lane: RunningLane): void {
    const pages = lane.done.splice(0);
    lane.spokeAt = this.clock.now();
    this.send(lane.lane.actor, { type: 'PagesDone', lane: lane.lane.lane, run: lane.run, pages });
  }

  private endLane(lane: RunningLane, next: LaneItem | undefined, pause: PauseNews | undefined): void {
    this.lanes.splice(this.lanes.indexOf(lane), 1);
    const unrun = [...(next === undefined ? [] : [next]), ...lane.left].map(({ item }) => item);
    const ranMs = this.clock.now() - lane.startedAt;
    const reason = unrun.length === 0 ? 'done' : pause === undefined ? 'cancel' : 'pause';
    this.send(lane.lane.actor, {
      type: 'LaneEnd',
      lane: lane.lane.lane,
      run: lane.run,
      reason,
      ...(reason === 'pause' ? { pause } : {}),
      ranMs,
      unrun,
      browser: lane.forBrowser,
      pages: lane.done,
    });
    if (this.isEntitled(lane)) this.slots.get(lane.slotKey)!.st = 'free';
  }

  protected result({ scope }: Lane, item: LaneItem, ms: number): PageResult {
    const page = this.site.pages.get(item.url)!;
    const target = page.redirectTo === null ? page : this.site.pages.get(page.redirectTo)!;
    const tried = (this.tries.get(item.url) ?? 0) + 1;
    this.tries.set(item.url, tried);
    const base: PageResult = {
      item: item.item,
      attempt: item.attempt,
      depth: item.depth,
      outcome: 'ok',
      rule: null,
      message: null,
      statusCode: 200,
      url: item.url,
      finalUrl: target.url,
      finalH: page.redirectTo === null || scope === null ? null : this.link(target.url).h,
      retryable: false,
      retryAfterMs: null,
      bytes: 10,
      inline: 'AA==',
      blob: null,
      credits: 1,
      engine: item.browser === true ? 'browser' : 'http',
      ms,
      scopeVersion: 0,
      outlinks: target.links.map((url) => this.link(url)),
      excluded: null,
    };
    const nothing = { inline: null, credits: 0, outlinks: [], finalUrl: item.url, finalH: null };
    if (page.kind === 'robots' && scope !== null) return { ...base, ...nothing, outcome: 'robots', statusCode: 0 };
    if (page.kind === 'broken')
      return { ...base, ...nothing, outcome: 'failed', rule: 'SCRAPE_SITE_ERROR', statusCode: 0 };
    if (page.flaky >= tried && item.attempt < 3)
      return {
        ...base,
        ...nothing,
        outcome: 'failed',
        rule: 'SCRAPE_TIMEOUT',
        statusCode: 0,
        retryable: true,
        retryAfterMs: 100,
      };
    return base;
  }

  protected link(url: string): Outlink {
    return { url, h: fingerprintUrl(url, SCOPE(this.site.base)) };
  }

  // ---------------------------------------------------------------------------------------------- verdict

  /** Whatever was committed as work must have reached the stream, if need be by the next owner. */
  private async settleOutbox(): Promise<void> {
    this.calm();
    for (const part of this.parts()) {
      this.owners.set(part, []);
      for (const owner of await this.takeOver(part)) await this.stepPartition(part, owner);
    }
    for (const id of this.store.owedWork) {
      if (!this.bus.publishedWork.has(id))
        throw new InvariantError('outbox', `work ${id} was committed and never published`);
    }
  }

  protected checkJob(job: SimJob): void {
    const tables = this.store.job(job.jobNo);
    const row = tables.row!;
    const fail = (invariant: string, detail: string): never => {
      throw new InvariantError(invariant, `${job.key}: ${detail}`);
    };
    if (!row.finished || row.status === 'scraping') fail('I3', `ended as ${row.status}`);
    const credits = tables.pages.reduce((sum, page) => sum + page.credits, 0);
    const billed = job.parent === undefined ? credits : 0;
    if (credits !== row.credits || billed !== tables.ledger)
      fail('I7', `credits ${row.credits}, billed ${tables.ledger}, pages say ${credits}`);
    const counts = new Map<string, number>();
    for (const { outcome } of tables.outcomes.values()) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    // What was given up with its host has had no unit of the limit.
    const left = [...tables.outcomes.values()].filter(({ rule }) => rule === 'host-down').length;
    const counted = (counts.get('ok') ?? 0) + (counts.get('failed') ?? 0) - left;
    if (counted !== row.completed) fail('I1', `completed ${row.completed}, outcomes say ${counted}`);
    if (counted > job.limit) fail('I1', `${counted} pages of at most ${job.limit}`);
    if (tables.pages.length !== (counts.get('ok') ?? 0))
      fail('I2', `${tables.pages.length} pages, ${counts.get('ok')} outcomes ok`);
    if (row.status === 'cancelled') return;
    if (row.total !== row.completed) fail('I1', `total ${row.total}, completed ${row.completed}`);
    if (this.gentle) this.checkFetches(job, fail);
    this.checkPages(job, fail);
  }

  /** What a crash of schedulers may cost is time, not requests: nothing was acknowledged before it was committed. */
  protected checkFetches(job: SimJob, fail: (invariant: string, detail: string) => never): void {
    for (const [id, count] of this.fetches) {
      const [owner, url] = id.split(' ') as [string, string];
      const needed = 1 + this.site.pages.get(url)!.flaky;
      if (owner === job.id && count > needed) fail('I2', `${url} was requested ${count} times`);
    }
  }

  private checkPages(job: SimJob, fail: (invariant: string, detail: string) => never): void {
    const tables = this.store.job(job.jobNo);
    if (job.kind === 'batch') {
      if (tables.outcomes.size !== job.seeds.length)
        fail('I10', `${tables.outcomes.size} of ${job.seeds.length} seeds ended`);
      return;
    }
    const finals = tables.pages.map((page) => page.finalUrl);
    if (new Set(finals).size !== finals.length) fail('I2', `a page came twice: ${finals.join(' ')}`);
    const lost = this.lostPages(job);
    const hasHistory = job.tracks === true && !lost.has(this.site.base);
    const tracked = hasHistory ? this.store.tracked.map(({ url }) => url) : [];
    const expected = expectedPages(this.site, lost, tracked);
    this.checkHidden(job, fail);
    if (tables.outcomes.size < job.limit && tables.frontier.size > 0)
      fail('I10', `${tables.frontier.size} URLs left over`);
    const reachable = finals.length + (tables.row!.completed - finals.length);
    if (reachable >= job.limit) return;
    for (const url of expected.discovered) if (!this.ended(job, url)) fail('I1', `${url} is missing`);
  }

  /** What came from the histories came when everything else had, and pages that nothing names come from nowhere else. */
  private checkHidden(job: SimJob, fail: (invariant: string, detail: string) => never): void {
    const outcomes = [...this.store.job(job.jobNo).outcomes.values()];
    const hidden = outcomes.filter(({ parent }) => parent === FROM_HISTORY);
    if (job.tracks !== true && hidden.length > 0) fail('I12', `${hidden[0]!.url} came from histories`);
    // Whatever anybody may have seen: links of a page that failed are known when a redirect led to it before.
    const named = expectedPages(this.site).discovered;
    const first = Math.min(...hidden.map(({ item }) => item));
    for (const { url, parent, item } of outcomes) {
      if (parent === FROM_HISTORY && this.gentle && named.has(url))
        fail('I12', `${url} is named, and came from histories`);
      if (parent !== FROM_HISTORY && !named.has(url) && item < first) fail('I12', `${url} came from nowhere`);
    }
  }

  /** Pages that failed because their lanes were lost too often, which only a troubled world may do. */
  protected lostPages(job: SimJob): Set<string> {
    const failed = [...this.store.job(job.jobNo).outcomes.values()].filter(({ outcome }) => outcome === 'failed');
    return this.gentle ? new Set() : new Set(failed.map(({ url }) => url));
  }

  /** Every discovered URL has an outcome, as itself or as the target of a redirect. */
  private ended(job: SimJob, url: string): boolean {
    const tables = this.store.job(job.jobNo);
    for (const outcome of tables.outcomes.values()) if (outcome.url === url) return true;
    return tables.pages.some((page) => page.finalUrl === url);
  }
}

/** Some pages are made by scripts, and no fetcher of this world has a browser for lanes that do not say so. */
function needsBrowser({ item }: LaneItem): boolean {
  return item % 7 === 3;
}

function SCOPE(base: string): ScopeSpec {
  return {
    base,
    version: 0,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    maxDepth: null,
    maxPathDepth: null,
    entireDomain: true,
    allowExternalLinks: false,
    allowSubdomains: false,
    ignoreQueryParameters: false,
    deduplicateSimilarUrls: false,
    sitemap: 'include',
  };
}

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
