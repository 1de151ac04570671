/**
 * Puts ready URLs into lanes. A lane needs a unit of budget per URL, a slot of its host and a token of its team; the
 * job asks for host slots first and only for as many team tokens as it can use (docs/design/politeness.md, "Grants").
 */
import { FROM_HISTORY, type ActorKey, type BatchSpec, type CrawlSpec } from '@troupe/contracts';
import type { FrontierRow, Lane, Token } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { canonicalize } from '@troupe/frontier';
import { dropIdleTokens, laneSize, returnToken, takeableTokens, takeToken, type Claim } from '@troupe/politeness';
import { remainingBudget } from './admission.js';
import { plainOn, plainReady, readyOn, takeReady } from './frontier-window.js';
import {
  isAtRest,
  scopeOf,
  SEED_ITEM,
  UNKNOWN_HOST,
  type JobMemory,
  type JobState,
  type LiveLane,
} from './job.state.js';
import { poolOfHost, poolOfTeam, type Pools } from './pools.js';

/** No LaneStarted within this time: the same lane is published again, with growing patience. */
export const QUEUE_PATIENCE_MS = 60_000;
/** Beyond the timeout of the running item. */
const LANE_GRACE_MS = 30_000;
/** Weight of the newest lane in the known pace of its host. */
const PACE_WEIGHT = 0.2;
const IDLE_SLOT_MS = 250;
const IDLE_TOKEN_MS = 500;
/** Hosts with a claim at once; bounds the state of jobs over thousands of hosts. */
const MAX_CLAIMED_HOSTS = 150;
/**
 * Hosts claimed beyond the tokens when these are scarce: as many as may have their turn before an idle slot goes back.
 */
const CLAIMED_AHEAD = 24;
const MAX_WANT = 256;
/** More lanes than most hosts get. */
const MANY_LANES = 64;
/** Limit of all URLs of a lane after the first. With the wishes of its job the lane has to fit into one message. */
const MAX_LANE_URL_CHARS = 20_000;
/** Pages that a browser shows in two seconds. */
const BROWSER_PAGES_PER_LANE = 2;

/** The host of a new lane, its class of fetcher, its slot and its token. */
interface LaneStart {
  host: string;
  cls: LiveLane['cls'];
  slot: Token;
  token: Token;
}

export class Dispatch {
  /** Pools whose holdings changed in this turn. */
  private readonly changed = new Set<ActorKey>();

  constructor(
    private readonly key: ActorKey,
    private readonly state: JobState,
    private readonly memory: JobMemory,
    private readonly pools: Pools,
    private readonly now: number,
    private readonly robotsAgent: string | null,
  ) {}

  /** Lanes that may start now, then the Demands that follow. */
  run(): Effect[] {
    const lanes = this.fillLanes();
    this.returnIdle();
    return [...lanes, ...this.demands()];
  }

  /** Pools are silent while nothing changes, and know of fetching only: a job learns from its lanes how long its pages take. */
  learnPace({ row, left }: LiveLane, ranMs: number): void {
    const pages = row.items.length - left.size;
    const view = this.memory.hosts.get(row.host);
    if (pages === 0 || view === undefined) return;
    const ms = Math.max(0, ranMs / pages - view.gapMs);
    view.paceMs = view.paceMs === null ? ms : view.paceMs + (ms - view.paceMs) * PACE_WEIGHT;
  }

  /** A lane is over: its slot and token are free for the next one, or handed back when `lost`. */
  endLane(lane: LiveLane, ranMs: number, lost: boolean): void {
    const { row } = lane;
    const { state, memory } = this;
    memory.lanes.delete(row.lane);
    const live = (memory.lanesByHost.get(row.host) ?? 1) - 1;
    if (live <= 0) memory.lanesByHost.delete(row.host);
    else memory.lanesByHost.set(row.host, live);
    const claim = state.hosts[row.host];
    if (claim !== undefined) this.giveBack(poolOfHost(row.host), claim, row.slot, ranMs, lost);
    this.giveBack(poolOfTeam(state), state.tokens, row.token, ranMs, lost);
  }

  /** A token whose lane was lost is not used again under the same generation. */
  private giveBack(pool: ActorKey, claim: Claim, token: Token, ranMs: number, lost: boolean): void {
    const held = claim.held.find(({ i, gen }) => i === token.i && gen === token.gen);
    if (held !== undefined && lost) held.revoked = true;
    if (returnToken(claim, token, ranMs, this.now)) this.changed.add(pool);
  }

  /** Notes that the pool expects an answer, because tokens were handed back. */
  touch(pool: ActorKey): void {
    this.changed.add(pool);
  }

  private maxLanes(): number {
    const spec = this.state.spec!;
    if ('delayMs' in spec && spec.delayMs > 0) return 1;
    return spec.maxConcurrency ?? MAX_WANT;
  }

  private fillLanes(): Effect[] {
    const { state, memory } = this;
    const effects: Effect[] = [];
    if (!mayDispatch(state) || memory.nextStartAt > this.now) return effects;
    for (const host of [...memory.window.keys()]) {
      const view = memory.hosts.get(host);
      // Slots outlive an owner of this job, its knowledge of their gaps does not. So the host's actor is asked first.
      if (view === undefined || isAtRest(view, this.now)) continue;
      while (memory.lanes.size < this.maxLanes() && remainingBudget(state) > 0 && readyOn(memory, host) > 0) {
        const lane = this.tryLane(host);
        if (lane === null) break;
        effects.push(...lane);
      }
      if (memory.lanes.size >= this.maxLanes() || remainingBudget(state) === 0) break;
    }
    return effects;
  }

  private tryLane(host: string): Effect[] | null {
    const claim = this.state.hosts[host];
    if (claim === undefined || takeableTokens(this.state.tokens) === 0) return null;
    const cls = this.classOf(host, claim);
    if (cls === null) return null;
    const slot = takeToken(claim, this.now);
    if (slot === null) return null;
    const token = takeToken(this.state.tokens, this.now)!;
    return this.startLane({ host, cls, slot, token }, this.pagesPerLane(host, cls, claim.held.length));
  }

  /**
   * The class of fetchers whose turn it is on a host; null: ready rows wait until fetchers with a browser have taken
   * earlier lanes.
   */
  private classOf(host: string, claim: Claim): LiveLane['cls'] | null {
    const plain = this.isBrowserHost(host) ? 0 : plainOn(this.memory, host);
    if (readyOn(this.memory, host) > plain && this.mayQueueForBrowser(host, claim, plain)) return 'browser';
    return plain > 0 ? 'http' : null;
  }

  private isBrowserHost(host: string): boolean {
    return this.memory.browserNeed.isOfWholeHost(host, this.state.spec!.scrape);
  }

  /**
   * Fetchers with a browser may be few, or none for the moment. Lanes that wait for one hold places of their host and
   * their team: about half of them while a fetcher without one has something to do, and never the only place of a host.
   */
  private mayQueueForBrowser(host: string, claim: Claim, plain: number): boolean {
    const { memory, state } = this;
    const waiting = [...memory.lanes.values()].filter(({ cls, row }) => cls === 'browser' && row.run === null);
    const onHost = waiting.filter(({ row }) => row.host === host).length;
    const isRoomOnHost = plain === 0 || 2 * (onHost + 1) <= claim.held.length;
    return isRoomOnHost && (plainReady(memory) === 0 || 2 * waiting.length < state.tokens.held.length);
  }

  /** Enough pages for two seconds, but no more than a fair part for each lane that the host can have at once. */
  private pagesPerLane(host: string, cls: LiveLane['cls'], slots: number): number {
    const spec = this.state.spec!;
    if ('delayMs' in spec && spec.delayMs > 0) return 1;
    const ready = readyOn(this.memory, host);
    const share = Math.ceil(ready / Math.max(1, Math.min(slots, this.tokensPerHost())));
    const most = cls === 'browser' ? BROWSER_PAGES_PER_LANE : Infinity;
    return Math.max(1, Math.min(this.twoSeconds(host, ready), share, most, remainingBudget(this.state)));
  }

  /**
   * Pages of two seconds. Earlier lanes of the job are the best measure. A lane gets more pages than the pool's measure
   * allows only when enough are ready for all lanes that may still come: a crawl that holds one slot when links come
   * must not give them all to one lane.
   */
  private twoSeconds(host: string, ready: number): number {
    const { paceMs, meanMs, gapMs } = this.memory.hosts.get(host) ?? UNKNOWN_HOST;
    const size = laneSize(meanMs, gapMs);
    if (paceMs === null) return size;
    const deep = Math.floor(ready / (2 * Math.min(this.maxLanes(), MANY_LANES)));
    return Math.min(laneSize(paceMs, gapMs), Math.max(size, deep));
  }

  private startLane({ host, cls, slot, token }: LaneStart, pages: number): Effect[] {
    const { state, memory } = this;
    const takesAll = this.isBrowserHost(host);
    const fits = roomForUrls();
    const isWanted = (row: FrontierRow) => (takesAll || row.browser === (cls === 'browser')) && fits(row);
    const rows = takeReady(memory, host, pages, isWanted).map((row) => ({ ...row, st: 1 as const }));
    const lane = state.nextLane++;
    state.ready -= rows.length;
    state.inflight += rows.length;
    for (const row of rows) memory.inflight.set(row.item, { row, lane });
    const live: LiveLane = {
      row: { lane, host, slot, token, items: rows.map(({ item, depth }) => ({ item, depth })), run: null },
      left: new Set(rows.map((row) => row.item)),
      deadlineAt: this.now + QUEUE_PATIENCE_MS,
      publishes: 1,
      cls,
      didWithout: false,
    };
    memory.lanes.set(lane, live);
    memory.lanesByHost.set(host, (memory.lanesByHost.get(host) ?? 0) + 1);
    return [
      { t: 'row', row: { op: 'lane.insert', jobNo: state.jobNo, ...live.row } },
      ...rows.map(({ depth, item, attempt, browser, tries }): Effect => ({
        t: 'row',
        row: { op: 'frontier.mark', jobNo: state.jobNo, depth, item, st: 1, attempt, browser, tries },
      })),
      this.work(live),
    ];
  }

  /**
   * The lane as work; the same lane again when no fetcher started it. Perhaps no fetcher has a browser any more: every
   * second time fetchers without one are asked, which do what they can or hand it back.
   */
  work(live: LiveLane): Effect {
    const { row } = live;
    const rows = row.items.flatMap(({ item }) => this.memory.inflight.get(item)?.row ?? []);
    return {
      t: 'work',
      cls: live.publishes % 2 === 0 ? 'http' : live.cls,
      prio: 'lo',
      id: `${this.state.job}.${row.lane}.${live.publishes}`,
      msg: this.laneMessage(live, rows),
    };
  }

  private laneMessage(live: LiveLane, rows: FrontierRow[]): Lane {
    const { state, memory } = this;
    const view = memory.hosts.get(live.row.host);
    return {
      type: 'Lane',
      lane: live.row.lane,
      actor: this.key,
      job: state.job,
      jobNo: state.jobNo,
      team: state.team,
      host: live.row.host,
      slot: live.row.slot,
      notBeforeMs: 0,
      gapMs: view?.gapMs ?? 0,
      items: rows.map((row) => ({
        item: row.item,
        attempt: row.attempt + 1,
        url: fetchUrlOf(row.url),
        depth: row.depth,
        sourceUrl: this.sourceUrlOf(row),
        ...(row.browser ? { browser: true } : {}),
        ...(row.parent === FROM_HISTORY ? { fromHistory: true } : {}),
      })),
      scope: scopeOf(state),
      robotsAgent: this.robotsAgent,
      spec: (state.spec as CrawlSpec | BatchSpec).scrape,
      pauseV: state.pauseV,
    };
  }

  private sourceUrlOf(row: FrontierRow): string {
    const { state } = this;
    return state.kind === 'crawl' && row.item === SEED_ITEM ? (state.spec as CrawlSpec).url : row.url;
  }

  /** Time after which a started lane counts as lost unless something is heard of it. */
  patienceOf(live: LiveLane): number {
    const gapMs = this.memory.hosts.get(live.row.host)?.gapMs ?? 0;
    return this.state.spec!.scrape.timeoutMs + gapMs + LANE_GRACE_MS;
  }

  /**
   * When idle slots and tokens that other jobs wait for must go back. No job holds a slot while it waits for a token,
   * or the reverse.
   */
  idleDeadlines(): number[] {
    const { state } = this;
    const idle = (claim: Claim, patienceMs: number) =>
      claim.uses === null ? [] : claim.held.filter((held) => !held.running).map((held) => held.idleAt + patienceMs);
    return [
      ...idle(state.tokens, IDLE_TOKEN_MS),
      ...Object.values(state.hosts).flatMap((claim) => idle(claim, IDLE_SLOT_MS)),
    ];
  }

  private returnIdle(): void {
    const { state } = this;
    if (dropIdleTokens(state.tokens, this.now, IDLE_TOKEN_MS)) this.changed.add(poolOfTeam(state));
    for (const [host, claim] of Object.entries(state.hosts)) {
      if (dropIdleTokens(claim, this.now, IDLE_SLOT_MS)) this.changed.add(poolOfHost(host));
    }
  }

  private demands(): Effect[] {
    const { state, memory, pools } = this;
    const running = mayDispatch(state);
    const budget = running ? remainingBudget(state) : 0;
    if (running) this.claimHosts();
    const effects: Effect[] = [];
    let usable = memory.lanes.size;
    for (const [host, claim] of Object.entries(state.hosts)) {
      const pool = poolOfHost(host);
      const live = memory.lanesByHost.get(host) ?? 0;
      const more = Math.min(readyOn(memory, host), budget);
      const want = Math.min(this.maxLanes(), Math.max(live, Math.min(live + more, this.lanesPerHost())));
      effects.push(...pools.demand(pool, want, this.changed.has(pool)));
      usable += Math.min(Math.max(0, claim.held.length - live), more);
      const isDone = live === 0 && more === 0 && !memory.waitingOn.has(host);
      if (isDone && memory.released.has(pool)) pools.forget(pool);
    }
    // One token ahead of the first slot saves a round trip when a job begins; where tokens are scarce it would keep them
    // from those that have a slot.
    const ahead = budget > 0 && state.ready > 0 && state.tokens.uses === null ? 1 : 0;
    const want = Math.min(this.maxLanes(), Math.max(usable, ahead));
    return [...effects, ...pools.demand(poolOfTeam(state), want, this.changed.has(poolOfTeam(state)))];
  }

  /** Many hosts share what a job can use at all: then one lane with all its URLs serves a host better than several. */
  private lanesPerHost(): number {
    return Math.max(1, Math.floor(MAX_WANT / Math.max(1, this.memory.window.size)));
  }

  /**
   * A fair part of all tokens, or of the idle ones: the last of many hosts are not cut into pieces while others are
   * visited.
   */
  private tokensPerHost(): number {
    const { lanesByHost, window } = this.memory;
    const { tokens } = this.state;
    const ofAll = tokens.held.length / Math.max(1, window.size, lanesByHost.size);
    const ofIdle = takeableTokens(tokens) / Math.max(1, window.size);
    return Math.floor(Math.max(ofAll, ofIdle));
  }

  private claimHosts(): void {
    const { state, memory, pools } = this;
    if (remainingBudget(state) === 0) return;
    const { held, want, uses } = state.tokens;
    const isScarce = held.length < want || uses !== null;
    const most = isScarce ? Math.min(MAX_CLAIMED_HOSTS, held.length + CLAIMED_AHEAD) : MAX_CLAIMED_HOSTS;
    let claimed = Object.keys(state.hosts).length;
    for (const host of memory.window.keys()) {
      if (claimed >= most) return;
      if (state.hosts[host] !== undefined) continue;
      pools.hostClaim(host);
      claimed += 1;
    }
  }
}

function mayDispatch(state: JobState): boolean {
  return state.phase === 'running' && !state.paused;
}

/** Batch seeds keep the caller's text; what is fetched is its canonical form. */
export function fetchUrlOf(text: string): string {
  return canonicalize(text) ?? canonicalize(`http://${text}`) ?? text;
}

/** Tells for one row after the other whether its URL still fits into a lane. The first one always does. */
function roomForUrls(): (row: FrontierRow) => boolean {
  let left = MAX_LANE_URL_CHARS;
  return ({ url }) => {
    if (left < MAX_LANE_URL_CHARS && url.length > left) left = 0;
    else left -= url.length;
    return left !== 0;
  };
}
