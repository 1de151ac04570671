/** One job between hand-made results and real pools of slots and tokens: what the specs of the job machine run on. */
import {
  plainScrape,
  type ActorKey,
  type ActorMessage,
  type Append,
  type Demand,
  type FrontierRow,
  type Grant,
  type HistoryRange,
  type JobEvent,
  type PageJobKind,
  type Kick,
  type Lane,
  type LaneItem,
  type LaneRow,
  type MendedCounters,
  type Outlink,
  type PageResult,
  type RowOp,
  type ScopeSpec,
  type ScrapeSpec,
  type Start,
  type TrackedPage,
  type WebhookSpec,
  type WorkClass,
} from '@troupe/contracts';
import type { Activation, Effect, Incoming } from '@troupe/actors';
import { fingerprintUrl, hostKey } from '@troupe/frontier';
import { applyDemand, createPool, grantFor, rebalance, type Pool } from '@troupe/politeness';
import { batchActor } from './batch.actor.js';
import { crawlActor } from './crawl.actor.js';
import type { JobMemory, JobState } from './job.state.js';
import type { JobOptions } from './rules.js';

type Row<O extends RowOp['op']> = Extract<RowOp, { op: O }>;

export const SCRAPE: ScrapeSpec = plainScrape({
  formats: [{ type: 'markdown' }],
  timeoutMs: 60_000,
  onlyMainContent: true,
  skipTlsVerification: false,
});

export const SCOPE: ScopeSpec = {
  base: 'http://h.test/',
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
  sitemap: 'skip',
};

const JOB = { job: 'j', jobNo: '1', team: 't', keyId: null } as const;

export interface CrawlWish {
  webhook?: WebhookSpec;
  parent?: ActorKey;
  limit?: number;
  delayMs?: number;
  maxConcurrency?: number | null;
  scope?: Partial<ScopeSpec>;
  scrape?: Partial<ScrapeSpec>;
}

export function startOfCrawl({
  limit = 1_000,
  delayMs = 0,
  maxConcurrency = null,
  scope = {},
  scrape = {},
  webhook,
  parent,
}: CrawlWish = {}): Start {
  const whole = { ...SCOPE, ...scope };
  const spec = {
    url: whole.base,
    scope: whole,
    limit,
    delayMs,
    maxConcurrency,
    ignoreRobots: false,
    robotsAgent: null,
    scrape: { ...SCRAPE, ...scrape },
    webhook: webhook ?? null,
    ...(parent === undefined ? {} : { parent }),
  };
  return { type: 'Start', kind: 'crawl', ...JOB, spec, createdMs: 0 };
}

export function startOfBatch(total: number): Start {
  const spec = { maxConcurrency: null, scrape: SCRAPE, webhook: null };
  return { type: 'Start', kind: 'batch', ...JOB, spec, total, createdMs: 0 };
}

export function linkTo(url: string): Outlink {
  return { url, h: fingerprintUrl(url, SCOPE) };
}

export function linksTo(...paths: string[]): Outlink[] {
  return paths.map((path) => linkTo(`http://h.test${path}`));
}

/** A page that was fetched; `rest` says what was different about it. */
export function pageOf(item: LaneItem, rest: Partial<PageResult> = {}): PageResult {
  return {
    item: item.item,
    attempt: item.attempt,
    depth: item.depth,
    outcome: 'ok',
    rule: null,
    message: null,
    statusCode: 200,
    url: item.url,
    finalUrl: item.url,
    finalH: null,
    retryable: false,
    retryAfterMs: null,
    bytes: 10,
    inline: 'AA==',
    blob: null,
    credits: 1,
    engine: 'http',
    ms: 100,
    scopeVersion: 0,
    outlinks: [],
    excluded: null,
    ...rest,
  };
}

export function failedPage(item: LaneItem, rest: Partial<PageResult> = {}): PageResult {
  return pageOf(item, {
    outcome: 'failed',
    rule: 'SCRAPE_SITE_ERROR',
    message: 'refused',
    statusCode: 0,
    inline: null,
    credits: 0,
    ...rest,
  });
}

export class JobRun {
  now = 1_000_000;
  readonly lanes: Lane[] = [];
  /** Class of fetchers that each lane is for, by its number; of its newest publication. */
  readonly classes = new Map<number, WorkClass>();
  readonly kicks: Kick[] = [];
  readonly pages: Row<'page.insert'>[] = [];
  readonly outcomes: Row<'outcome.insert'>[] = [];
  readonly errors: Row<'error.insert'>[] = [];
  readonly shown: Row<'job.update'>[] = [];
  readonly receipts: string[] = [];
  /** Errors with which the job's row was failed by its id. */
  readonly failedById: string[] = [];
  readonly leftOut: Row<'excluded.insert'>[] = [];
  readonly seedRanges: [number, number][] = [];
  seeds: string[] = [];
  /** Pages that earlier scrapes have tracked, in order; and the job's questions about them. */
  tracked: TrackedPage[] = [];
  readonly historyRanges: HistoryRange[] = [];
  /** In ms from the newest turn that set it. */
  tickInMs: number | null = null;
  readonly state: JobState;
  private readonly def;
  private readonly activation: Activation<JobState, JobMemory>;
  private readonly seen = new Set<string>();
  private readonly frontier = new Map<number, FrontierRow>();
  private readonly laneRows = new Map<number, LaneRow>();
  /** Counters that were wrong. */
  readonly mended: MendedCounters[] = [];
  private readonly pools = new Map<string, Pool>();
  /** The events for its listener, and the listener's name. */
  readonly told: JobEvent[] = [];
  readonly listeners = new Set<ActorKey>();
  readonly billed: Row<'ledger.upsert'>[] = [];
  private readonly demands: { to: string; demand: Demand }[] = [];
  /** Fields of host grants besides slots; a lane is granted in any case. */
  host: Partial<Grant> = {};
  private gen = 0;
  private mayReopen = false;
  private isCold = false;
  private readonly waits = new Map<number, number>();
  /** The wait of each mark, in order. */
  readonly marks: Pick<Row<'frontier.mark'>, 'item' | 'tries' | 'waitMs' | 'rule'>[] = [];

  constructor(
    kind: PageJobKind,
    private readonly sizes: { host: number; team: number } = { host: 4, team: 10 },
    options: Partial<JobOptions> = {},
  ) {
    const whole = { robotsAgent: 'Troupe', limitCountsFailed: true, ...options };
    this.def = kind === 'crawl' ? crawlActor(whole) : batchActor(whole);
    this.state = this.def.init(`${kind}/j`);
    this.activation = {
      key: `${kind}/j`,
      state: this.state,
      memory: this.def.remember(this.state, null, null, this.now),
    };
  }

  /** One turn, and those that the pools' answers cause. */
  turn(...bodies: (ActorMessage | { type: 'Timer'; name: string })[]): void {
    this.step(bodies);
    for (let rounds = 0; this.demands.length > 0 && rounds < 50; rounds++) {
      const { to, demand } = this.demands.shift()!;
      this.step([this.grant(to, demand)]);
    }
  }

  /** Appends as a gateway does: the seeds are recorded, and the job's row is open, before the actor hears of it. */
  append(...urls: string[]): Append {
    this.seeds.push(...urls);
    this.mayReopen = true;
    return { type: 'Append', job: 'j', cmd: `append-${this.seeds.length}`, toOrd: this.seeds.length };
  }

  /** The host's actor tells every job how the host is treated from now on. */
  tellHost(news: Partial<Grant>): void {
    this.host = news;
    for (const [to, pool] of this.pools) {
      if (to.startsWith('team/')) continue;
      const [claimant] = Object.keys(pool.claimants);
      if (claimant === undefined) continue;
      const grant = { ...this.grantOf(to, pool, claimant), v: (pool.v += 1) };
      pool.claimants[claimant]!.grantV = grant.v;
      this.turn(grant);
    }
  }

  /** Another process takes over: what was in memory is read again. */
  restart(): void {
    this.isCold = true;
  }

  /** Lanes vanish without a trace, as no turn would have it. */
  loseLanes(): void {
    this.lanes.length = 0;
    this.laneRows.clear();
  }

  /** Time passes, the timer fires when it is due. */
  wait(ms: number): void {
    this.now += ms;
    this.turn({ type: 'Timer', name: 'tick' });
  }

  /** A lane from its start to its end. */
  runLane(lane: Lane, fetch: (item: LaneItem) => PageResult, ranMs = 100): void {
    const run = `run-${lane.lane}`;
    this.turn({ type: 'LaneStarted', lane: lane.lane, run });
    const pages = lane.items.map(fetch);
    this.turn({ type: 'LaneEnd', lane: lane.lane, run, reason: 'done', ranMs, unrun: [], pages });
  }

  /** A lane on a fetcher without a browser, which hands back what needs one. */
  runWithout(lane: Lane, needsBrowser: (item: LaneItem) => boolean): void {
    const run = `run-${lane.lane}`;
    this.turn({ type: 'LaneStarted', lane: lane.lane, run });
    const browser = lane.items.filter(needsBrowser).map(({ item }) => item);
    const pages = lane.items.filter((item) => !needsBrowser(item)).map((item) => pageOf(item));
    this.turn({ type: 'LaneEnd', lane: lane.lane, run, reason: 'done', ranMs: 100, unrun: [], browser, pages });
  }

  /** All lanes, and those that follow, until nothing is left to run. */
  runAll(fetch: (item: LaneItem) => PageResult): void {
    for (;;) {
      for (let lane = this.lanes.shift(); lane !== undefined; lane = this.lanes.shift()) this.runLane(lane, fetch);
      const next = this.nextTryAt();
      if (next === null) return;
      this.wait(next - this.now);
    }
  }

  /** One of its messages has become a dead letter. */
  fail(reason: string, lost: ActorMessage | null): void {
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => ++this.gen };
    for (const effect of this.def.fail(this.activation, reason, ctx, lost)) this.apply(effect);
  }

  /** When the next item that waits may be tried; null: none waits. */
  private nextTryAt(): number | null {
    const times = [...this.frontier.keys()].map((item) => this.waits.get(item) ?? 0).filter((at) => at > this.now);
    return times.length === 0 || this.state.phase !== 'running' ? null : Math.min(...times);
  }

  get last(): Row<'job.update'> {
    return this.shown.at(-1)!;
  }

  get outcomeOf(): Record<string, string> {
    return Object.fromEntries(this.outcomes.map(({ url, outcome }) => [url, outcome]));
  }

  private step(bodies: Incoming['body'][]): void {
    const { def, activation, state } = this;
    const memory = this.isCold ? null : activation.memory;
    this.isCold = false;
    const need = def.need({ state, memory });
    if (need !== null) {
      const inLanes = new Set([...this.laneRows.values()].flatMap(({ items }) => items.map(({ item }) => item)));
      const isRunning = ({ st, item }: FrontierRow): boolean => st === 1 && inLanes.has(item);
      const ready = [...this.frontier.values()]
        .filter((row) => !isRunning(row))
        .map((row) => ({ ...row, waitMs: Math.max(0, (this.waits.get(row.item) ?? 0) - this.now) }))
        .sort((a, b) => a.depth - b.depth || a.item - b.item);
      activation.memory = def.remember(
        state,
        {
          lanes: structuredClone([...this.laneRows.values()]),
          running: [...this.frontier.values()].filter(isRunning).map((row) => ({ ...row })),
          ready: ready.slice(0, need.ready),
          ...(ready.length < need.ready || need.countUpTo === undefined
            ? {}
            : { open: Math.min(this.frontier.size, need.countUpTo) }),
          ...(need.history === undefined ? {} : { history: this.readHistory(need.history) }),
        },
        memory,
        this.now,
      );
    }
    const ctx = { now: this.now, wallMs: this.now, nextGen: () => ++this.gen };
    const batch = bodies.map((body) => ({ from: 'w/x', body }) as Incoming);
    const plan = def.plan(activation, batch, ctx);
    const answers = { admitted: this.admit(plan.admit), seeds: this.takeSeeds(plan.seeds), found: plan.found };
    for (const effect of def.finish(activation, batch, answers, ctx)) this.apply(effect);
    this.checkBudget();
  }

  private readHistory(range: HistoryRange): TrackedPage[] {
    this.historyRanges.push(range);
    const from = this.tracked.findIndex(({ urlH }) => urlH === range.after) + 1;
    return this.tracked.slice(from, from + range.limit);
  }

  private admit(candidates: ReturnType<typeof this.def.plan>['admit']): Set<number> {
    const admitted = new Set<number>();
    for (const { h, item, depth, host, url, parent } of candidates) {
      if (this.seen.has(h)) continue;
      this.seen.add(h);
      admitted.add(item);
      this.frontier.set(item, { depth, item, host, url, h, parent, attempt: 0, st: 0, browser: false });
    }
    return admitted;
  }

  private takeSeeds(range: ReturnType<typeof this.def.plan>['seeds']): { ord: number; url: string }[] {
    if (range === null) return [];
    const { fromOrd, toOrd } = range;
    this.seedRanges.push([fromOrd, toOrd]);
    const taken = this.seeds.slice(fromOrd, toOrd).map((url, i) => ({ ord: fromOrd + i, url }));
    for (const { ord, url } of taken) {
      this.frontier.set(ord, {
        depth: 0,
        item: ord,
        host: hostKey(url),
        url,
        h: null,
        parent: null,
        attempt: 0,
        st: 0,
        browser: false,
      });
    }
    return taken;
  }

  private apply(effect: Effect): void {
    if (effect.t === 'row') return this.applyRow(effect.row);
    if (effect.t === 'mended') this.mended.push(effect.counters);
    if (effect.t === 'timer') this.tickInMs = effect.inMs;
    if (effect.t === 'send' && effect.msg.type === 'JobEvent') this.tell(effect.to, effect.msg);
    else if (effect.t === 'send') this.demands.push({ to: effect.to, demand: effect.msg as Demand });
    if (effect.t !== 'work') return;
    if (effect.msg.type === 'Lane') this.addLane(effect.msg, effect.cls);
    if (effect.msg.type === 'Kick') this.kicks.push(effect.msg);
  }

  private addLane(lane: Lane, cls: WorkClass): void {
    this.lanes.push(lane);
    this.classes.set(lane.lane, cls);
  }

  private tell(to: ActorKey, event: JobEvent): void {
    this.listeners.add(to);
    this.told.push(event);
  }

  private applyRow(row: RowOp): void {
    if (row.op === 'frontier.mark') this.mark(row);
    if (row.op === 'frontier.delete' && !this.frontier.delete(row.item))
      throw new Error(`item ${row.item} ended twice`);
    if (row.op === 'lane.insert') this.laneRows.set(row.lane, row);
    if (row.op === 'lane.started') this.laneRows.get(row.lane)!.run = row.run;
    if (row.op === 'lane.delete') this.laneRows.delete(row.lane);
    if (row.op === 'page.insert') this.pages.push(row);
    if (row.op === 'outcome.insert') this.outcomes.push(row);
    if (row.op === 'command.delete') this.receipts.push(row.id);
    if (row.op === 'job.fail') this.failedById.push(row.error);
    if (row.op === 'excluded.insert') this.leftOut.push(row);
    if (row.op === 'error.insert') this.errors.push(row);
    if (row.op === 'ledger.upsert') this.billed.push(row);
    if (row.op === 'job.update') this.show(row);
  }

  private mark({ item, st, attempt, browser, tries = 0, waitMs = null, rule = null }: Row<'frontier.mark'>): void {
    Object.assign(this.frontier.get(item)!, { st, attempt, browser, tries });
    this.marks.push({ item, tries, waitMs, rule });
    this.waits.set(item, this.now + (waitMs ?? 0));
  }

  /** Checks that a client's view grows until the job ends, and ends once. */
  private show(row: Row<'job.update'>): void {
    const before = this.shown.at(-1);
    if (before?.finished && !this.mayReopen) throw new Error('the job changed after its end');
    this.mayReopen = false;
    if (before !== undefined && row.status === 'scraping' && row.total < before.total)
      throw new Error(`total fell from ${before.total} to ${row.total}`);
    if (row.status === 'completed' && row.total !== row.completed)
      throw new Error(`total ${row.total}, completed ${row.completed}`);
    this.shown.push(row);
  }

  private checkBudget(): void {
    const { state } = this;
    if (state.counted + state.inflight > state.limit)
      throw new Error(`${state.counted} + ${state.inflight} of ${state.limit} pages`);
  }

  private grant(to: string, demand: Demand): Grant {
    const size = to.startsWith('team/') ? this.sizes.team : this.sizes.host;
    const pool = this.pools.get(to) ?? createPool(size);
    this.pools.set(to, pool);
    const ctx = { now: this.now, nextGen: () => ++this.gen };
    applyDemand(pool, demand, ctx);
    rebalance(pool, ctx);
    return this.grantOf(to, pool, demand.claimant);
  }

  private grantOf(to: string, pool: Pool, claimant: string): Grant {
    return {
      type: 'Grant',
      pool: to as Grant['pool'],
      ...grantFor(pool, claimant),
      gapMs: 0,
      meanMs: null,
      pauseMs: 0,
      ...(to.startsWith('team/') ? {} : this.host),
    };
  }
}
