/**
 * `domain/<host>` decides which job gets the next slot of a host, and how gently the host is treated
 * (docs/design/politeness.md). Arbitration only: the fetcher proves its right by compare-and-set on the slot when it
 * connects. Its verdicts reach jobs in their Grants, fetchers by `tell`, and people by the host's row.
 */
import {
  parseActorKey,
  type ActorKey,
  type Demand,
  type Grant,
  type HostFeedback,
  type HostRecord,
  type HostSetting,
  type HostState,
  type RobotsDone,
  type WorkMessage,
} from '@troupe/contracts';
import {
  NOTHING_PLANNED,
  type ActorDef,
  type Activation,
  type Effect,
  type Incoming,
  type TurnContext,
} from '@troupe/actors';
import {
  advanceClock,
  applyDemand,
  applyFeedback,
  applyRobotsDelay,
  configureHost,
  createHostPolicy,
  createPool,
  createWakingClock,
  expireClaimants,
  grantFor,
  hostLimits,
  hostPlateau,
  hostRecord,
  hostVerdict,
  isPoolIdle,
  nextChangeMs,
  POOL_RULES,
  rebalance,
  releaseHost,
  resizePool,
  resumeHost,
  settleHost,
  takeProbe,
  type HostConfig,
  type HostLimits,
  type HostPolicy,
  type Moment,
  type Pool,
  type PoolRules,
  type WakingClock,
} from '@troupe/politeness';
import { grantEffect } from '../pool/grant-effect.js';
import {
  createRobotsWatch,
  isAwaited,
  isUnreadable,
  noteAnswer,
  noteAsker,
  robotsDueMs,
  takeQuestion,
  type RobotsWatch,
} from './robots-watch.js';

/** Times are ms of `clock`. */
export interface HostActorState {
  host: string;
  clock: WakingClock;
  pool: Pool;
  policy: HostPolicy;
  robots: RobotsWatch;
  usedAt: number;
  /** Time of the next check for silent claimants and idleness. */
  checkAt: number;
  /** Due times of the timers that are set. */
  dueAt: Record<string, number>;
  /** Limits as last told to the claimants. */
  granted: Pick<HostLimits, 'gapMs' | 'state' | 'givenUp' | 'deaf'> & { untilAt: number };
  /** The verdict that the fetchers were last told. */
  told: { at: number; state: HostState; untilAt: number; gapMs: number };
  /** What an earlier activation had learned, and when that one ended by the wall clock. */
  kept: { plateau: NonNullable<HostRecord['plateau']>; endedMs: number } | null;
  endedMs: number;
  over: boolean;
}

export interface HostOptions {
  maxConn: number;
  gapMs: number;
  /** Time without a clean answer after which the URLs of a host that is down are given up. @default 30 min */
  giveUpMs?: number;
  /** Longest crawl-delay of robots.txt; a longer one counts as this. @default 60 s */
  maxCrawlDelayMs?: number;
  /** An operator may set that robots.txt's crawl-delay does not count. @default false */
  allowIgnoreRobots?: boolean;
  /** The operator's setting for the host right now; asked at every turn. @default none */
  settingOf?(host: string): HostSetting | null;
  rules?: PoolRules;
}

const SILENT_MS = 120_000;
const IDLE_END_MS = 600_000;
/** The rest of a verdict is told and written again this often. */
const CHECK_MS = 30_000;
/** The same while a host is held: it must be free soon after the operator says so. */
const HELD_CHECK_MS = 3_000;
const TELL_MS = 1_000;
/** A gap that differs by less is not news. */
const GAP_NEWS = 0.05;
const MEMORY_MS = 3_600_000;
const CHECK = 'check';
const ROBOTS = 'robots';
const CHANGE = 'change';
const TELL = 'tell';
/** Generations of an owner lie above those of the one before by as much. */
const EPOCH_STRIDE = 2 ** 32;

export function hostActor(options: HostOptions): ActorDef<HostActorState, null> {
  return {
    kind: 'domain',
    version: 1,
    vital: [],
    restarts: true,
    init: (key, before) => initial(parseActorKey(key).id, options, before),
    need: () => null,
    remember: () => null,
    plan: () => NOTHING_PLANNED,
    finish: (activation, batch, _answers, ctx) => new HostTurn(activation, ctx, options).run(batch),
    isTerminal: (state) => state.over,
    fail: () => [],
  };
}

function initial(host: string, options: HostOptions, before?: Partial<HostActorState>): HostActorState {
  const config = configOf(host, options);
  const state: HostActorState = {
    host,
    clock: createWakingClock(),
    pool: createPool(config.maxConn),
    policy: createHostPolicy(config),
    robots: createRobotsWatch(),
    usedAt: 0,
    checkAt: 0,
    dueAt: {},
    granted: { gapMs: config.gapMs, state: 'open', givenUp: false, deaf: false, untilAt: 0 },
    told: { at: -CHECK_MS, state: 'open', untilAt: 0, gapMs: 0 },
    kept: null,
    endedMs: 0,
    over: false,
  };
  if (before?.clock === undefined) return state;
  const plateau = hostPlateau(before.policy!);
  state.kept = plateau === null ? null : { plateau, endedMs: before.endedMs! };
  applyRobotsDelay(state.policy, before.policy!.robotsDelayMs);
  return state;
}

// eslint-disable-next-line complexity -- one default a field
function configOf(host: string, options: HostOptions): HostConfig {
  const setting = options.settingOf?.(host) ?? null;
  const delay = setting?.crawlDelay;
  const isOwnDelay = typeof delay === 'number' && (delay > 0 || options.allowIgnoreRobots === true);
  return {
    maxConn: setting?.maxConn ?? options.maxConn,
    gapMs: setting?.gapMs ?? options.gapMs,
    maxRate: setting?.maxRate ?? null,
    giveUpMs: setting?.giveUpMin === undefined ? (options.giveUpMs ?? 1_800_000) : setting.giveUpMin * 60_000,
    hold: setting?.hold ?? false,
    crawlDelayMs: isOwnDelay ? delay * 1000 : null,
    maxCrawlDelayMs: options.maxCrawlDelayMs ?? 60_000,
  };
}

class HostTurn {
  private readonly key: ActorKey;
  private readonly state: HostActorState;
  private readonly moment: Moment;
  private readonly effects: Effect[] = [];
  /** Claimants that get a Grant in this turn. */
  private readonly answer = new Set<string>();

  constructor(
    activation: Activation<HostActorState, null>,
    private readonly ctx: TurnContext,
    private readonly options: HostOptions,
  ) {
    this.key = activation.key;
    this.state = activation.state;
    this.adoptOldState();
    const epoch = Math.floor(ctx.nextGen() / EPOCH_STRIDE);
    this.moment = { now: advanceClock(this.state.clock, ctx.now, epoch), wallMs: ctx.wallMs };
  }

  run(batch: readonly Incoming[]): Effect[] {
    const { state, ctx } = this;
    configureHost(state.policy, configOf(state.host, this.options));
    this.recall();
    for (const { body } of batch) this.apply(body);
    expireClaimants(state.pool, ctx.now, SILENT_MS);
    this.askRobots();
    this.probe();
    const isNews = settleHost(state.policy, this.moment);
    this.grant();
    if (this.hasEnded()) return this.effects;
    this.tell();
    const isChecked = this.check();
    if (isNews || (isChecked && state.policy.state !== 'open')) this.record(state.policy.state);
    this.setTimers();
    return this.effects;
  }

  /** Takes over a state of a version without verdicts: only the held tokens are still true. */
  private adoptOldState(): void {
    const { state } = this;
    if ((state as Partial<HostActorState>).clock !== undefined) return;
    Object.assign(state, { ...initial(state.host, this.options), pool: state.pool });
  }

  /** Recalls the limit that an earlier job has found. */
  private recall(): void {
    const { state, moment } = this;
    if (state.kept === null) return;
    const ageMs = moment.wallMs - state.kept.endedMs;
    if (ageMs < MEMORY_MS) resumeHost(state.policy, state.kept.plateau, moment);
    state.kept = null;
  }

  private apply(body: Incoming['body']): void {
    switch (body.type) {
      case 'Demand':
        return this.demand(body);
      case 'HostFeedback':
        return this.feedback(body);
      case 'HostRelease':
        return releaseHost(this.state.policy, this.moment.now);
      case 'RobotsDone':
        return this.robotsDone(body);
      case 'Timer':
        delete this.state.dueAt[body.name];
        return;
      // The rest is for other actors.
      default:
    }
  }

  private demand(demand: Demand): void {
    const { state, ctx } = this;
    state.usedAt = this.moment.now;
    applyDemand(state.pool, demand, ctx, this.options.rules ?? POOL_RULES);
    this.answer.add(demand.claimant);
    noteAsker(state.robots, demand);
  }

  /** The actor's own probes do not keep a host from being forgotten. */
  private feedback(feedback: HostFeedback): void {
    // Fetchers of the version before have counts instead of troubles, which say nothing here.
    const { ok, troubles = [] } = feedback as Omit<HostFeedback, 'troubles'> & Partial<HostFeedback>;
    if (ok + troubles.length > 0) this.state.usedAt = this.moment.now;
    applyFeedback(this.state.policy, { ...feedback, troubles }, this.moment);
  }

  /** Takes the crawl-delay over. Without a good answer the last known one holds. */
  private robotsDone(done: RobotsDone): void {
    noteAnswer(this.state.robots, done, this.moment.now);
    if (done.ok !== false || done.crawlDelayMs !== null) applyRobotsDelay(this.state.policy, done.crawlDelayMs);
  }

  private askRobots(): void {
    const { host, robots, pool } = this.state;
    if (isPoolIdle(pool)) return;
    const question = takeQuestion(robots, this.moment.now);
    if (question === null) return;
    const url = `${this.origin}/robots.txt`;
    this.kick('robots', { type: 'Kick', task: 'robots', actor: this.key, host, url, agent: question.agent });
  }

  private probe(): void {
    const { host, policy } = this.state;
    const probe = takeProbe(policy, this.moment.now);
    if (probe === null) return;
    const url = probe.url ?? `${this.origin}/`;
    this.kick('probe', { type: 'Kick', task: 'probe', actor: this.key, host, url });
  }

  private get origin(): string {
    const { host, robots } = this.state;
    return `${robots.origin?.startsWith('https:') ? 'https' : 'http'}://${host}`;
  }

  private kick(name: string, msg: WorkMessage): void {
    const id = `${name}.${this.state.host}.${this.ctx.nextGen()}`;
    this.effects.push({ t: 'work', cls: 'kick', prio: 'hi', id, msg });
  }

  private grant(): void {
    const { state, ctx } = this;
    const { now } = this.moment;
    const limits = hostLimits(state.policy, now);
    this.announce(limits);
    if (!isAwaited(state.robots, now)) {
      const most = isUnreadable(state.robots) ? 1 : limits.maxConn;
      resizePool(state.pool, Math.min(most, limits.maxConn));
      for (const claimant of rebalance(state.pool, ctx)) this.answer.add(claimant);
    }
    for (const claimant of this.answer) {
      const replyTo = state.pool.claimants[claimant]?.replyTo ?? claimant;
      this.effects.push(grantEffect(replyTo, this.grantOf(claimant, limits)));
    }
  }

  private grantOf(claimant: string, limits: HostLimits): Grant {
    const { gapMs, meanMs, pauseMs, state, limitedMs, givenUp, deaf } = limits;
    return {
      type: 'Grant',
      pool: this.key,
      ...grantFor(this.state.pool, claimant),
      gapMs,
      meanMs,
      pauseMs,
      state,
      limitedMs,
      ...(givenUp ? { givenUp } : {}),
      ...(deaf ? { deaf } : {}),
    };
  }

  /** A new verdict reaches all jobs, not only those whose tokens changed. */
  private announce({ gapMs, state, givenUp, deaf, pauseMs }: HostLimits): void {
    const { granted, pool } = this.state;
    const untilAt = endOf(state, pauseMs, this.moment.now);
    const isSame =
      granted.state === state && granted.givenUp === givenUp && granted.deaf === deaf && granted.untilAt === untilAt;
    if (isSame && isNear(gapMs, granted.gapMs)) return;
    this.state.granted = { gapMs, state, givenUp, deaf, untilAt };
    for (const claimant of Object.values(pool.claimants)) claimant.dirty = true;
  }

  /**
   * Tells fetchers of a change of state at once, of the rest at most once a second, and of all again while the host is
   * not open.
   */
  private tell(): void {
    const { told, policy } = this.state;
    const { now } = this.moment;
    const verdict = hostVerdict(policy, this.ctx.nextGen(), now);
    const untilAt = endOf(verdict.state, verdict.restMs, now);
    const isUrgent = verdict.state !== told.state || untilAt !== told.untilAt;
    const isNews = isUrgent || !isNear(verdict.gapMs, told.gapMs);
    const isStale = verdict.state !== 'open' && now - told.at >= CHECK_MS;
    if (!isNews && !isStale) return;
    const restMs = TELL_MS - (now - told.at);
    if (!isUrgent && restMs > 0) return this.timer(TELL, restMs);
    this.state.told = { at: now, state: verdict.state, untilAt, gapMs: verdict.gapMs };
    this.effects.push({ t: 'tell', host: this.state.host, verdict });
  }

  private record(shown: HostState): void {
    const row = hostRecord(this.state.policy, this.state.host, this.moment);
    this.effects.push({ t: 'row', row: { op: 'host.upsert', ...row, state: shown } });
  }

  /** Forgets a host that no job has used for ten minutes. */
  private hasEnded(): boolean {
    const { state, moment } = this;
    if (!isPoolIdle(state.pool) || moment.now - state.usedAt <= IDLE_END_MS) return false;
    state.over = true;
    state.endedMs = moment.wallMs;
    if (state.policy.state === 'open') return true;
    this.record('open');
    const verdict = { v: this.ctx.nextGen(), state: 'open' as const, restMs: 0, gapMs: 0, share: 1 };
    this.effects.push({ t: 'tell', host: state.host, verdict });
    return true;
  }

  private check(): boolean {
    const { state, moment } = this;
    const inMs = state.policy.state === 'held' ? HELD_CHECK_MS : CHECK_MS;
    const restMs = state.checkAt - moment.now;
    if (restMs > 0 && restMs <= inMs) return false;
    state.checkAt = moment.now + inMs;
    this.effects.push({ t: 'timer', name: CHECK, inMs });
    return true;
  }

  private setTimers(): void {
    const { policy, robots, pool } = this.state;
    this.timer(CHANGE, nextChangeMs(policy, this.moment.now));
    this.timer(ROBOTS, isPoolIdle(pool) ? null : robotsDueMs(robots, this.moment.now));
  }

  /** null leaves a set timer as it is: when it fires out of date it does nothing. */
  private timer(name: string, inMs: number | null): void {
    if (inMs === null) return;
    const at = this.moment.now + inMs;
    if (this.state.dueAt[name] === at) return;
    this.state.dueAt[name] = at;
    this.effects.push({ t: 'timer', name, inMs });
  }
}

/** On the host's clock; 0: none is known. */
function endOf(state: HostState, restMs: number, now: number): number {
  return state === 'held' || restMs === 0 ? 0 : Math.round(now + restMs);
}

function isNear(gapMs: number, toldMs: number): boolean {
  return Math.abs(gapMs - toldMs) <= GAP_NEWS * Math.max(gapMs, toldMs);
}
