/** `team/<id>`: the team's places for pages in flight over all its jobs and gateways, and the bill of sync scrapes. */
import { parseActorKey, type ActorKey, type Demand, type Grant, type ScrapeUsage, type Uuid } from '@troupe/contracts';
import {
  NOTHING_PLANNED,
  type ActorDef,
  type Activation,
  type Effect,
  type Incoming,
  type TurnContext,
} from '@troupe/actors';
import {
  applyDemand,
  createPool,
  expireClaimants,
  grantFor,
  isPoolIdle,
  POOL_RULES,
  rebalance,
  resizePool,
  type Pool,
  type PoolRules,
} from '@troupe/politeness';
import { grantEffect } from '../pool/grant-effect.js';

export interface TeamState {
  pool: Pool;
  usedAt: number;
  checkAt: number;
  over: boolean;
}

export interface TeamOptions {
  /** Places of a team right now; asked at every turn, so that a change is in force by the next. */
  concurrencyOf(team: Uuid): number;
  rules?: PoolRules;
}

const SILENT_MS = 120_000;
const IDLE_END_MS = 600_000;
/** Also the longest time until a quiet team learns of a changed concurrency. */
const CHECK_MS = 15_000;
const CHECK = 'check';

export function teamActor(options: TeamOptions): ActorDef<TeamState, null> {
  const rules = options.rules ?? POOL_RULES;
  return {
    kind: 'team',
    version: 1,
    vital: [],
    restarts: true,
    init: (key) => ({ pool: createPool(placesOf(key, options)), usedAt: 0, checkAt: 0, over: false }),
    need: () => null,
    remember: () => null,
    plan: () => NOTHING_PLANNED,
    finish: (activation, batch, _answers, ctx) =>
      takeTurn(activation, batch, ctx, placesOf(activation.key, options), rules),
    isTerminal: (state) => state.over,
    fail: () => [],
  };
}

function placesOf(key: ActorKey, { concurrencyOf }: TeamOptions): number {
  return concurrencyOf(parseActorKey(key).id);
}

function takeTurn(
  { key, state }: Activation<TeamState, null>,
  batch: readonly Incoming[],
  ctx: TurnContext,
  concurrency: number,
  rules: PoolRules,
): Effect[] {
  const effects: Effect[] = [];
  const answer = new Set<string>();
  for (const { body } of batch) {
    if (body.type === 'Demand') {
      applyDemand(state.pool, body, ctx, rules);
      answer.add(body.claimant);
      state.usedAt = ctx.now;
    }
    if (body.type === 'ScrapeUsage') effects.push(usageRow(body));
  }
  expireClaimants(state.pool, ctx.now, SILENT_MS);
  resizePool(state.pool, concurrency);
  for (const claimant of rebalance(state.pool, ctx)) answer.add(claimant);
  for (const claimant of answer) effects.push(grantTo(key, state.pool, claimant));
  return [...effects, ...rest(state, ctx.now)];
}

function grantTo(pool: ActorKey, state: Pool, claimant: Demand['claimant']): Effect {
  const grant: Grant = { type: 'Grant', pool, ...grantFor(state, claimant), gapMs: 0, meanMs: null, pauseMs: 0 };
  return grantEffect(state.claimants[claimant]?.replyTo ?? claimant, grant);
}

function usageRow(usage: ScrapeUsage): Effect {
  const { id, team, keyId, url, statusCode, credits, ms, atMs } = usage;
  return { t: 'row', row: { op: 'scrape.insert', id, team, keyId, url, statusCode, credits, ms, atMs } };
}

function rest(state: TeamState, now: number): Effect[] {
  if (isPoolIdle(state.pool) && now - state.usedAt > IDLE_END_MS) {
    state.over = true;
    return [];
  }
  if (state.checkAt > now) return [];
  state.checkAt = now + CHECK_MS;
  return [{ t: 'timer', name: CHECK, inMs: CHECK_MS }];
}
