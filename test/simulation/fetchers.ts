/** Fetchers of a world: they take lanes and kicks, claim slots, obey hosts, die, and say what they have seen. */
import type { WorkItem } from '@troupe/actors';
import {
  actorKey,
  parseActorKey,
  type HostFeedback,
  type HostState,
  type HostVerdict,
  type Kick,
  type Lane,
  type LaneEnd,
  type LaneItem,
  type Outlink,
  type PageResult,
  type PauseNews,
  type Uuid,
} from '@troupe/contracts';
import { fingerprintUrl, hostKey } from '@troupe/frontier';
import {
  compareSlotPairs,
  decideSlotClaim,
  parseRobots,
  robotsForStatus,
  type SlotDecision,
  type SlotPair,
  type SlotValue,
} from '@troupe/politeness';
import type { HostConduct, Refusal } from './conduct.js';
import { scopeOf, storedText, textOf, type SimPage } from './site.js';
import type { Stage } from './stage.js';

interface RunningLane {
  lane: Lane;
  run: string;
  fetcher: string;
  left: LaneItem[];
  done: PageResult[];
  /** Handed back for fetchers with a browser. */
  forBrowser: number[];
  fetching: { item: LaneItem; until: number; from: number; refusal: Refusal | null } | null;
  startedAt: number;
  nextStartAt: number;
  /** When its job last heard of it. */
  spokeAt: number;
  slotKey: string;
}

/** What a request may last. */
export const REQUEST_MS = 30_000;
/** A host is down or held no longer than that unless its actor says so again. */
const SHUT_MS = 75_000;
const LONGEST_REST_MS = 10_000;

export interface FetcherNews {
  isCancelled(job: Uuid): boolean;
  /** Places of a team that single scrapes use. */
  scrapesOf(team: Uuid): number;
}

export class Fetchers {
  readonly lanes: RunningLane[] = [];
  /** What fetchers know of pauses; a write may be lost. */
  readonly pauses = new Map<string, PauseNews>();
  /** Requests by job, URL and item. */
  readonly requests = new Map<string, number>();
  private readonly slots = new Map<string, SlotValue>();
  private readonly newestPair = new Map<string, SlotPair>();
  private readonly alive = new Set<string>(['f1', 'f2']);
  private readonly tries = new Map<string, number>();
  /** Until when hosts are left in peace, as their actors have told. */
  private readonly restUntil = new Map<string, number>();
  /** Newest verdicts by host. */
  private readonly verdicts = new Map<string, number>();
  /** As their actors have told of hosts. */
  private readonly statesOf = new Map<string, Set<HostState>>();
  private born = 2;
  private runs = 0;

  constructor(
    private readonly stage: Stage,
    private readonly news: FetcherNews,
  ) {
    const { bus } = stage;
    const tell = bus.tell.bind(bus);
    bus.tell = (host, told) => {
      const verdict = stage.mutation.verdict?.(told) ?? told;
      tell(host, verdict);
      this.checkVerdict(host, verdict);
      this.statesOf.set(host, (this.statesOf.get(host) ?? new Set()).add(verdict.state));
      const isShut = verdict.state === 'down' || verdict.state === 'held';
      this.restUntil.set(host, stage.elapsed + (isShut ? SHUT_MS : verdict.restMs));
    };
  }

  get areBusy(): boolean {
    return this.lanes.length > 0;
  }

  step(): void {
    this.stepLane(this.stage.random.pick(this.lanes));
  }

  start(msg: Lane | Kick): void {
    this.checkPause(msg);
    if (msg.type === 'Kick') return this.kick(msg);
    this.startLane(msg);
  }

  /** One of them dies, and another one comes. */
  kill(): void {
    const victim = this.stage.random.pick([...this.alive]);
    this.stage.note(`fetcher ${victim} dies`);
    this.alive.delete(victim);
    this.alive.add(`f${++this.born}`);
    for (const lane of this.lanes.filter(({ fetcher }) => fetcher === victim)) {
      this.lanes.splice(this.lanes.indexOf(lane), 1);
      // Not acknowledged: the stream delivers it again.
      const work: WorkItem = { id: lane.run, msg: lane.lane };
      this.stage.bus.work.push(work);
    }
  }

  /** How long the most silent of them has not been heard of, ms. */
  get silentMs(): number {
    return Math.max(0, ...this.lanes.map(({ spokeAt }) => this.stage.time.now() - spokeAt));
  }

  link(url: string): Outlink {
    return { url, h: fingerprintUrl(url, scopeOf(url, false)) };
  }

  // ------------------------------------------------------------------------------------------------ kicks

  private kick(kick: Kick): void {
    const news = this.pauses.get(parseActorKey(kick.actor).id);
    if (kick.pauseV !== undefined && news !== undefined && news.v > kick.pauseV) return;
    if (kick.task === 'probe') return this.probe(kick);
    if (kick.task === 'robots') return this.readRobots(kick);
    if (kick.task === 'history') return this.judgeHistory(kick);
    this.readSitemap(kick);
  }

  private judgeHistory({ actor, part, urls }: Kick & { task: 'history' }): void {
    this.stage.send(actor, { type: 'HistoryJudged', part, links: urls.map((url) => this.link(url)) });
  }

  private probe(kick: Kick & { task: 'probe' }): void {
    const { host } = kick;
    const clean = !this.conduct(host).isOut(this.stage.elapsed);
    this.stage.send(kick.actor, { type: 'HostFeedback', host, ok: 0, meanMs: 0, troubles: [], probe: { clean } });
  }

  private readRobots({ actor, host, agent }: Kick & { task: 'robots' }): void {
    const { status, retryMs } = this.conduct(host).robots(this.stage.elapsed);
    const file = robotsForStatus(status, this.stage.web.site(host).robots);
    this.stage.send(actor, {
      type: 'RobotsDone',
      host,
      status,
      ok: status === 200,
      crawlDelayMs: status === 200 ? file.crawlDelayMs(agent) : null,
      ...(status === 200 ? {} : { retryAfterMs: retryMs }),
      sitemaps: [...file.sitemaps],
      error: null,
    });
  }

  private readSitemap(kick: Kick & { task: 'sitemap' }): void {
    const { random, web } = this.stage;
    const chunks = web.site(hostKey(kick.url)).sitemap;
    const end = Math.min(chunks.length, kick.fromChunk + random.int(1, 2));
    for (let chunk = kick.fromChunk; chunk < end; chunk++) {
      const last = chunk === chunks.length - 1;
      const urls = chunks[chunk]!.map((url) => this.link(url));
      const more = !last && chunk === end - 1;
      const rest = { children: [], excluded: null, last, more, error: null };
      this.stage.send(kick.actor, { type: 'SitemapChunk', file: kick.file, chunk, urls, ...rest });
    }
  }

  // ------------------------------------------------------------------------------------------------ lanes

  private startLane(lane: Lane): void {
    const fetcher = this.stage.random.pick([...this.alive]);
    const slotKey = `${lane.host}.${lane.slot.i}`;
    const stored = this.slots.get(slotKey) ?? null;
    const claim = { gen: lane.slot.gen, lane: lane.lane, fetcher };
    const holderAlive = stored !== null && this.alive.has(stored.fetcher);
    const decision = decideSlotClaim(stored, claim, holderAlive, this.stage.mutation.slotOrder ?? compareSlotPairs);
    this.stage.note(`lane ${lane.lane} of ${lane.job} on ${slotKey}: ${decision}`, claim, stored);
    this.checkSlot(slotKey, claim, decision);
    if (decision === 'duplicate') return;
    const run = `run-${++this.runs}`;
    if (decision === 'stale') {
      const unrun = lane.items.map(({ item }) => item);
      const end = { lane: lane.lane, run, reason: 'refused' as const, ranMs: 0, unrun, pages: [] };
      return this.stage.send(lane.actor, { type: 'LaneEnd', ...end });
    }
    this.slots.set(slotKey, { ...claim, st: 'held' });
    const now = this.stage.time.now();
    this.lanes.push({
      lane,
      run,
      fetcher,
      left: [...lane.items],
      done: [],
      forBrowser: [],
      fetching: null,
      startedAt: now,
      nextStartAt: 0,
      spokeAt: now,
      slotKey,
    });
    this.checkTeam(lane.team);
    this.stage.send(lane.actor, { type: 'LaneStarted', lane: lane.lane, run });
  }

  private stepLane(running: RunningLane): void {
    const { time, random } = this.stage;
    if (running.fetching !== null) {
      if (time.now() < running.fetching.until) return time.advance(random.int(0, 50));
      return this.finishPage(running, running.fetching);
    }
    const item = running.left[0];
    const pause = this.pauseNews(running.lane);
    const isStopped = pause !== undefined || this.news.isCancelled(running.lane.job) || !this.isEntitled(running);
    if (item === undefined || isStopped) return this.end(running, pause === undefined ? {} : { pause });
    if (this.isRobotsUnknown(running.lane))
      return this.end(running, { reason: 'penalty', robotsUnreadable: true, retryMs: 5_000 });
    if (time.now() < running.nextStartAt) return time.advance(random.int(0, 50));
    if (this.restsNow(running)) return;
    running.left.shift();
    if (needsBrowser(item) && item.browser !== true) return void running.forBrowser.push(item.item);
    this.ask(running, item);
  }

  private ask(running: RunningLane, item: LaneItem): void {
    const { stage } = this;
    const { lane } = running;
    const ms = stage.random.int(5, 800);
    const refusal = this.conduct(lane.host).refuse(item.url, stage.elapsed);
    const now = stage.time.now();
    running.fetching = { item, until: now + ms, from: now, refusal };
    running.nextStartAt = now + lane.gapMs;
    const id = `${lane.job} ${item.url} ${item.item}`;
    stage.note(`lane ${lane.lane} of ${lane.job} asks for ${item.url}`, item, refusal ?? undefined);
    this.requests.set(id, (this.requests.get(id) ?? 0) + 1);
    this.checkHost(lane.host);
  }

  private finishPage(running: RunningLane, { item, from, refusal }: NonNullable<RunningLane['fetching']>): void {
    const { stage } = this;
    const ms = stage.time.now() - from;
    running.fetching = null;
    running.done.push(refusal === null ? this.result(running.lane, item, ms) : refused(item, refusal, ms));
    this.report(running.lane, item, refusal, ms);
    const retryMs = refusal?.retryMs ?? 1_000;
    if (refusal !== null && stage.random.chance(0.5)) return this.end(running, { reason: 'penalty', retryMs });
    if (stage.random.chance(0.4)) this.flush(running);
  }

  /** Only hosts that may refuse somebody are spoken of: of all others there is nothing to say. */
  private report({ host, team }: Lane, { url }: LaneItem, refusal: Refusal | null, ms: number): void {
    if (!this.conduct(host).isTroubled) return;
    const urlH = this.link(url).h;
    const seen: Omit<HostFeedback, 'type' | 'host'> =
      refusal === null
        ? { ok: 1, meanMs: ms, okUrl: url, troubles: [] }
        : { ok: 0, meanMs: 0, troubles: [{ ...refusal, urlH, url, team }] };
    this.stage.send(actorKey('domain', host), { type: 'HostFeedback', host, ...seen });
  }

  /** Its host is to be left in peace: for a short time it waits, else it goes. */
  private restsNow(running: RunningLane): boolean {
    const restMs = (this.restUntil.get(running.lane.host) ?? 0) - this.stage.elapsed;
    if (restMs <= 0) return false;
    if (restMs > LONGEST_REST_MS || this.stage.time.now() - running.spokeAt > LONGEST_REST_MS)
      this.end(running, { reason: 'penalty', retryMs: Math.min(restMs, LONGEST_REST_MS) });
    else this.stage.time.advance(this.stage.random.int(0, 100));
    return true;
  }

  private isRobotsUnknown({ robotsAgent, host }: Lane): boolean {
    return robotsAgent !== null && this.conduct(host).robots(this.stage.elapsed).status !== 200;
  }

  private flush(running: RunningLane): void {
    const pages = running.done.splice(0);
    running.spokeAt = this.stage.time.now();
    const { lane, run } = running;
    this.stage.send(lane.actor, { type: 'PagesDone', lane: lane.lane, run, pages });
  }

  private end(
    running: RunningLane,
    why: Partial<Pick<LaneEnd, 'reason' | 'pause' | 'retryMs' | 'robotsUnreadable'>>,
  ): void {
    this.lanes.splice(this.lanes.indexOf(running), 1);
    const { lane, run, left, forBrowser, done } = running;
    const unrun = left.map(({ item }) => item);
    const reason = why.reason ?? (unrun.length === 0 ? 'done' : why.pause === undefined ? 'cancel' : 'pause');
    const ranMs = this.stage.time.now() - running.startedAt;
    const { pause, ...rest } = why;
    const end = { ...rest, ...(reason === 'pause' && pause !== undefined ? { pause } : {}), reason };
    this.stage.send(lane.actor, {
      type: 'LaneEnd',
      lane: lane.lane,
      run,
      ranMs,
      unrun,
      browser: forBrowser,
      pages: done,
      ...end,
    });
    if (this.isEntitled(running)) this.slots.get(running.slotKey)!.st = 'free';
  }

  private result({ scope, robotsAgent }: Lane, item: LaneItem, ms: number): PageResult {
    const { web } = this.stage;
    const page = web.page(item.url);
    const target = web.target(page);
    const tried = (this.tries.get(item.url) ?? 0) + 1;
    this.tries.set(item.url, tried);
    if (robotsAgent !== null && !this.isAllowed(page, robotsAgent))
      return { ...nothing(item, ms), outcome: 'robots', rule: null };
    if (page.kind === 'broken') return { ...nothing(item, ms), rule: 'SCRAPE_SITE_ERROR', message: 'it is broken' };
    if (page.flaky >= tried && item.attempt < 3)
      return { ...nothing(item, ms), rule: 'SCRAPE_TIMEOUT', retryable: true, retryAfterMs: 100 };
    const isWide = scope?.allowExternalLinks === true;
    const links = isWide ? [...target.links, ...target.external] : target.links;
    return {
      ...nothing(item, ms),
      outcome: 'ok',
      rule: null,
      message: null,
      statusCode: 200,
      finalUrl: target.url,
      finalH: page.redirectTo === null || scope === null ? null : this.link(target.url).h,
      bytes: textOf(target.url).length,
      inline: storedText(target.url),
      credits: 1,
      engine: item.browser === true ? 'browser' : 'http',
      outlinks: links.map((url) => this.link(url)),
      excluded: isWide || scope === null ? null : this.leftOut(target),
    };
  }

  private isAllowed({ url }: SimPage, agent: string): boolean {
    return parseRobots(this.stage.web.site(new URL(url).host).robots).isAllowed(url, agent);
  }

  private leftOut({ external }: SimPage): PageResult['excluded'] {
    if (external.length === 0) return null;
    const sample = external.map((url) => ({ ...this.link(url), rule: 'external' as const }));
    return { byRule: { external: external.length }, sample };
  }

  private pauseNews({ job, pauseV }: Lane): PauseNews | undefined {
    const news = this.pauses.get(job);
    return news !== undefined && news.v > (pauseV ?? 0) ? news : undefined;
  }

  private conduct(host: string): HostConduct {
    return this.stage.hosts.get(host)!;
  }

  /** A lane whose slot was taken over loses its renewal: it starts no further page. */
  private isEntitled({ lane, slotKey, fetcher }: RunningLane): boolean {
    const slot = this.slots.get(slotKey);
    return slot?.gen === lane.slot.gen && slot.lane === lane.lane && slot.fetcher === fetcher;
  }

  // ------------------------------------------------------------------------------------------------ what must hold

  /** I11: nothing is dispatched by a job that knows itself paused: odd numbers are pauses. */
  private checkPause({ type, pauseV }: Lane | Kick): void {
    if ((pauseV ?? 0) % 2 === 1) this.stage.fail('I11', `${type} was sent under pause ${pauseV}`);
  }

  /** I13: fetchers ignore a verdict that is not newer than the last, so its version grows, also across owners. */
  private checkVerdict(host: string, { v }: HostVerdict): void {
    if (v <= (this.verdicts.get(host) ?? 0)) this.stage.fail('I13', `verdict ${v} on ${host}`);
    this.verdicts.set(host, v);
  }

  /** I5: a slot's pair only grows, and nobody with a greater one is sent away. */
  private checkSlot(slotKey: string, claim: SlotPair, decision: SlotDecision): void {
    const newest = this.newestPair.get(slotKey) ?? { gen: 0, lane: 0 };
    const order = compareSlotPairs(claim, newest);
    if (decision === 'take' && order < 0) this.stage.fail('I5', `${slotKey}: an old lane took the slot`);
    if (decision !== 'take' && order > 0) this.stage.fail('I5', `${slotKey}: a new lane was sent away`);
    if (order > 0) this.newestPair.set(slotKey, { gen: claim.gen, lane: claim.lane });
  }

  /** I5: page requests in flight on each host. */
  private checkHost(host: string): void {
    const { maxConn } = this.conduct(host);
    const live = this.lanes.filter((lane) => lane.lane.host === host && lane.fetching !== null).length;
    if (live > maxConn) this.stage.fail('I5', `${live} requests on ${host}, ${maxConn} allowed`);
  }

  /** In which hosts have been seen. */
  get states(): Set<HostState> {
    return new Set([...this.statesOf.values()].flatMap((states) => [...states]));
  }

  /** I19: of a host that has refused page after page everybody was told. */
  checkNotorious(): void {
    for (const [host, { isNotorious }] of this.stage.hosts) {
      const states = this.statesOf.get(host) ?? new Set();
      const isKnown = ['slowed', 'paused', 'down'].some((state) => states.has(state as HostState));
      if (isNotorious && !isKnown) this.stage.fail('I19', `nobody was told that ${host} refuses page after page`);
    }
  }

  /** I6: places of each team in use. */
  private checkTeam(team: Uuid): void {
    const live = this.lanes.filter((lane) => lane.lane.team === team).length + this.news.scrapesOf(team);
    const { size } = this.stage.teams.get(team)!;
    if (live > size) this.stage.fail('I6', `${live} lanes and scrapes of ${team}, which has ${size} places`);
  }
}

/** Some pages are made by scripts, and no fetcher of this world has a browser for lanes that do not say so. */
function needsBrowser({ item }: LaneItem): boolean {
  return item % 7 === 3;
}

/** A failure without a document. */
function nothing({ item, attempt, depth, url }: LaneItem, ms: number): PageResult {
  return {
    item,
    attempt,
    depth,
    outcome: 'failed',
    rule: null,
    message: null,
    statusCode: 0,
    url,
    finalUrl: url,
    finalH: null,
    retryable: false,
    retryAfterMs: null,
    bytes: 0,
    inline: null,
    blob: null,
    credits: 0,
    engine: 'http',
    ms,
    scopeVersion: 0,
    outlinks: [],
    excluded: null,
  };
}

function refused(item: LaneItem, { status, retryMs }: Refusal, ms: number): PageResult {
  const failure = { rule: 'SCRAPE_SITE_ERROR', statusCode: status, retryable: true, retryAfterMs: retryMs };
  return { ...nothing(item, ms), ...failure };
}
