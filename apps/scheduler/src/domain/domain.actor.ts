/**
 * `domain/<host>`: who gets the next slot of a host, and how gently it is treated (design/politeness.md). Arbitration
 * only: the fetcher proves its right by compare-and-set on the slot when it connects.
 */
import { parseActorKey, type ActorKey, type Demand, type Grant, type RobotsDone } from '@troupe/contracts';
import type { ActorDef, Activation, Effect, Incoming, TurnContext } from '@troupe/actors';
import {
  applyDemand,
  applyFeedback,
  applyRobotsDelay,
  createHostPolicy,
  createPool,
  expireClaimants,
  grantFor,
  hostLimits,
  isPoolIdle,
  POOL_RULES,
  rebalance,
  resizePool,
  type HostLimits,
  type HostPolicy,
  type Pool,
  type PoolRules,
} from '@troupe/politeness';
import { grantEffect } from '../pool/grant-effect.js';

/** `unknown`: nobody asked for it. `asked`: grants to claimants that obey robots wait for the answer. */
type RobotsState =
  { st: 'unknown' } | { st: 'asked'; askedAt: number; agent: string; origin: string } | { st: 'known'; at: number };

export interface DomainState {
  host: string;
  pool: Pool;
  policy: HostPolicy;
  robots: RobotsState;
  usedAt: number;
  /** When silent claimants and idleness are looked at next. */
  checkAt: number;
  /** Limits as last told to the claimants. */
  told: { gapMs: number; paused: boolean };
  over: boolean;
}

export interface DomainOptions {
  maxConn: number;
  gapMs: number;
  rules?: PoolRules;
}

const SILENT_MS = 120_000;
const IDLE_END_MS = 600_000;
const ROBOTS_PATIENCE_MS = 15_000;
const ROBOTS_FRESH_MS = 24 * 3_600_000;
const CHECK_MS = 30_000;
const CHECK = 'check';
const ROBOTS = 'robots';

export function domainActor(options: DomainOptions): ActorDef<DomainState, null> {
  const rules = options.rules ?? POOL_RULES;
  return {
    kind: 'domain',
    version: 1,
    vital: [],
    restarts: true,
    init: (key) => initial(parseActorKey(key).id, options),
    need: () => null,
    remember: () => null,
    plan: () => ({ admit: [], seeds: null }),
    finish: (activation, batch, _answers, ctx) => new DomainTurn(activation, ctx, rules).run(batch),
    isTerminal: (state) => state.over,
    fail: () => [],
  };
}

function initial(host: string, options: DomainOptions): DomainState {
  return {
    host,
    pool: createPool(options.maxConn),
    policy: createHostPolicy(options),
    robots: { st: 'unknown' },
    usedAt: 0,
    checkAt: 0,
    told: { gapMs: options.gapMs, paused: false },
    over: false,
  };
}

class DomainTurn {
  private readonly key: ActorKey;
  private readonly state: DomainState;
  private readonly effects: Effect[] = [];
  /** Claimants that get a Grant in this turn. */
  private readonly answer = new Set<string>();

  constructor(
    activation: Activation<DomainState, null>,
    private readonly ctx: TurnContext,
    private readonly rules: PoolRules,
  ) {
    this.key = activation.key;
    this.state = activation.state;
  }

  run(batch: readonly Incoming[]): Effect[] {
    const { state, ctx } = this;
    for (const { body } of batch) this.apply(body);
    expireClaimants(state.pool, ctx.now, SILENT_MS);
    this.grant();
    this.rest();
    return this.effects;
  }

  private apply(body: Incoming['body']): void {
    const { state, ctx } = this;
    switch (body.type) {
      case 'Demand':
        return this.demand(body);
      case 'HostFeedback':
        state.usedAt = ctx.now;
        return applyFeedback(state.policy, body, ctx.now);
      case 'RobotsDone':
        return this.robotsDone(body);
    }
  }

  private demand(demand: Demand): void {
    const { state, ctx } = this;
    state.usedAt = ctx.now;
    applyDemand(state.pool, demand, ctx, this.rules);
    this.answer.add(demand.claimant);
    if (demand.robotsAgent !== null && demand.want > 0) this.askRobots(demand.robotsAgent, demand.origin);
  }

  private askRobots(agent: string, origin: string | null): void {
    const { state, ctx } = this;
    const { robots } = state;
    if (robots.st === 'known' && ctx.now - robots.at < ROBOTS_FRESH_MS) return;
    if (robots.st === 'asked' && ctx.now - robots.askedAt < ROBOTS_PATIENCE_MS) return;
    const asked = { st: 'asked' as const, askedAt: ctx.now, agent, origin: origin ?? `http://${state.host}` };
    state.robots = asked;
    this.effects.push({
      t: 'work',
      cls: 'kick',
      prio: 'hi',
      id: `robots.${state.host}.${ctx.now}`,
      msg: {
        type: 'Kick',
        task: 'robots',
        actor: this.key,
        host: state.host,
        url: robotsUrl(state.host, asked.origin),
        agent,
      },
    });
  }

  private robotsDone(done: RobotsDone): void {
    this.state.robots = { st: 'known', at: this.ctx.now };
    applyRobotsDelay(this.state.policy, done.crawlDelayMs);
  }

  /** While robots.txt is on its way nothing is granted: the crawl-delay may be in it. */
  private grant(): void {
    const { state, ctx } = this;
    const waiting = state.robots.st === 'asked' && ctx.now - state.robots.askedAt < ROBOTS_PATIENCE_MS;
    const limits = hostLimits(state.policy, ctx.now);
    this.announce(limits);
    if (!waiting) {
      resizePool(state.pool, limits.maxConn);
      for (const claimant of rebalance(state.pool, ctx)) this.answer.add(claimant);
    }
    for (const claimant of this.answer) {
      const replyTo = state.pool.claimants[claimant]?.replyTo ?? claimant;
      const grant: Grant = {
        type: 'Grant',
        pool: this.key,
        ...grantFor(state.pool, claimant),
        gapMs: limits.gapMs,
        meanMs: limits.meanMs,
        pauseMs: limits.pauseMs,
      };
      this.effects.push(grantEffect(replyTo, grant));
    }
  }

  /** A new gap or penalty reaches everybody, not only those whose tokens changed. */
  private announce(limits: HostLimits): void {
    const { state } = this;
    const paused = limits.pauseMs > 0;
    if (state.told.gapMs === limits.gapMs && state.told.paused === paused) return;
    state.told = { gapMs: limits.gapMs, paused };
    for (const claimant of Object.values(state.pool.claimants)) claimant.dirty = true;
  }

  /** Forgets a host that nobody has used for ten minutes; otherwise looks again before long. */
  private rest(): void {
    const { state, ctx } = this;
    if (isPoolIdle(state.pool) && ctx.now - state.usedAt > IDLE_END_MS) {
      state.over = true;
      return;
    }
    if (state.robots.st === 'asked') this.effects.push({ t: 'timer', name: ROBOTS, inMs: ROBOTS_PATIENCE_MS });
    if (state.checkAt > ctx.now) return;
    state.checkAt = ctx.now + CHECK_MS;
    this.effects.push({ t: 'timer', name: CHECK, inMs: CHECK_MS });
  }
}

function robotsUrl(host: string, origin: string): string {
  const scheme = origin.startsWith('https:') ? 'https' : 'http';
  return `${scheme}://${host}/robots.txt`;
}
