/**
 * Places in a team's concurrency for sync scrapes.
 *
 * This replica is one claimant of the pool `team/<id>` and keeps granted tokens warm, so that a scrape usually takes
 * one without any message. Waiters are served first in, first out. Loss of any message is healed by repetition:
 * Demand and Grant are level messages (docs/design/politeness.md, "Grants").
 */
import { Inject, Injectable, Optional, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  actorKey,
  gatewayGrantSubject,
  inSpan,
  TroupeError,
  type Envelope,
  type Grant,
  type Token,
  type Tracer,
  type Uuid,
} from '@troupe/contracts';
import { ActorBus } from '@troupe/messaging';
import { type Logger } from '@troupe/observability';
import {
  applyGrant,
  createClaim,
  demandFor,
  dropIdleTokens,
  returnToken,
  setWant,
  takeToken,
  type Claim,
} from '@troupe/politeness';
import { INSTANCE, LOG, TRACER } from '@troupe/service';
import { NatsListener } from '../infra/nats-listener.js';
import { type Listener, type Publisher } from './ports.js';

/** A token in use. `release` is idempotent. */
export interface TokenLease {
  /** The scrape had to wait. */
  limited: boolean;
  queuedMs: number;
  release(): void;
}

const TICK_MS = 500;
/** An unmet Demand is repeated: any message may have been lost. */
const REPEAT_MS = 2_000;
/** A claimant that is silent for about a minute loses its tokens. */
const HEARTBEAT_MS = 15_000;
/** How long unused tokens are kept while no other holder wants them. */
const IDLE_MS = 60_000;
const CONTENDED_IDLE_MS = 500;
const MAX_WAITERS = 10_000;
/** A shorter wait is the time to the pool and back, not a lack of places. */
const HOP_MS = 250;

interface Waiter {
  give(token: Token): void;
}

interface Wish {
  sinceMs: number;
  waitMs: number;
  signal: AbortSignal;
}

interface TeamState {
  claim: Claim;
  waiters: Set<Waiter>;
  inUse: number;
  /** Tokens worth keeping: the most that were needed lately, or only those needed now while others compete. */
  warm: number;
  warmMs: number;
  /** Tokens that the pool believes to be held: those of the newest Demand, or granted since. */
  knownHeld: number;
  knownWant: number;
  sentMs: number;
  sending: boolean;
  outdated: boolean;
}

@Injectable()
export class TeamTokens implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly teams = new Map<Uuid, TeamState>();
  private readonly self: `gw/${string}`;
  private timer: NodeJS.Timeout | null = null;
  private messages = 0;

  /** @param instance the claimant is `gw/<instance>` @param now monotonic milliseconds */
  constructor(
    @Inject(ActorBus) private readonly publisher: Publisher,
    @Inject(NatsListener) private readonly listener: Listener,
    @Inject(INSTANCE) private readonly instance: string,
    @Inject(LOG) private readonly log: Pick<Logger, 'warn'>,
    @Inject(TRACER) private readonly tracer: Tracer,
    @Optional() private readonly now: () => number = () => Math.round(performance.now()),
  ) {
    this.self = `gw/${instance}`;
  }

  onApplicationBootstrap(): void {
    this.listener.listen<Grant>(gatewayGrantSubject(this.instance), (grant) => this.onGrant(grant));
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.timer.unref();
  }

  /** Hands every idle token back, so that the pool need not wait for this replica's silence. */
  async onApplicationShutdown(): Promise<void> {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    const holders = [...this.teams].filter(([, state]) => state.claim.held.length > 0);
    for (const [, state] of holders) state.warm = 0;
    await Promise.all(holders.map(([team, state]) => this.demand(team, state)));
  }

  /**
   * A place in the team, at once when a warm token is at hand. Rejects with `CONCURRENCY_QUEUE_TIMEOUT` after `waitMs`,
   * and with the signal's reason when the caller gives up.
   */
  acquire(team: Uuid, waitMs: number, signal: AbortSignal): Promise<TokenLease> {
    return inSpan(this.tracer, ['wait for team', this.tracer.active()], () => this.place(team, waitMs, signal));
  }

  private place(team: Uuid, waitMs: number, signal: AbortSignal): Promise<TokenLease> {
    const state = this.stateOf(team);
    const sinceMs = this.now();
    const token = state.waiters.size === 0 ? takeToken(state.claim, sinceMs) : null;
    if (token) return Promise.resolve(this.lease(team, state, token, sinceMs));
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    if (state.waiters.size >= MAX_WAITERS) return Promise.reject(queueTimeout(0));
    return this.enqueue(team, state, { sinceMs, waitMs, signal });
  }

  /** Scrapes of a team on this replica: with a token, and waiting for one. */
  activity(team: Uuid): { active: number; waiting: number } {
    const state = this.teams.get(team);
    return { active: state?.inUse ?? 0, waiting: state?.waiters.size ?? 0 };
  }

  onGrant(grant: Grant): void {
    const team = grant.pool.slice('team/'.length);
    const state = this.teams.get(team);
    if (!state || grant.claimant !== this.self) return;
    applyGrant(state.claim, grant, this.now());
    state.knownHeld = Math.max(state.knownHeld, state.claim.held.length);
    if (isContended(state)) state.warm = 0;
    this.serveWaiters(team, state);
    this.tell(team, state);
  }

  private enqueue(team: Uuid, state: TeamState, { sinceMs, waitMs, signal }: Wish): Promise<TokenLease> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        state.waiters.delete(waiter);
      };
      const waiter: Waiter = {
        give: (token) => {
          leave();
          resolve(this.lease(team, state, token, sinceMs));
        },
      };
      const giveUp = (reason: Error) => {
        leave();
        this.tell(team, state);
        reject(reason);
      };
      const onAbort = () => giveUp(signal.reason as Error);
      const timer = setTimeout(() => giveUp(queueTimeout(waitMs)), waitMs);
      signal.addEventListener('abort', onAbort, { once: true });
      state.waiters.add(waiter);
      this.tell(team, state);
    });
  }

  private lease(team: Uuid, state: TeamState, token: Token, sinceMs: number): TokenLease {
    const startedMs = this.now();
    const queuedMs = startedMs - sinceMs;
    let isOut = true;
    state.inUse++;
    const release = () => {
      if (!isOut) return;
      isOut = false;
      state.inUse--;
      returnToken(state.claim, token, this.now() - startedMs, this.now());
      this.serveWaiters(team, state);
      this.tell(team, state);
    };
    return { limited: queuedMs > HOP_MS, queuedMs, release };
  }

  private serveWaiters(team: Uuid, state: TeamState): void {
    for (const waiter of state.waiters) {
      const token = takeToken(state.claim, this.now());
      if (!token) return;
      waiter.give(token);
    }
  }

  /** Sends a Demand when the pool should know of a change at once. */
  private tell(team: Uuid, state: TeamState): void {
    this.updateWant(state);
    if (state.claim.want !== state.knownWant || state.claim.held.length < state.knownHeld)
      void this.demand(team, state);
  }

  private updateWant(state: TeamState): void {
    const now = this.now();
    const need = needOf(state);
    const isCooling = now - state.warmMs < IDLE_MS && !isContended(state);
    if (need >= state.warm || !isCooling) {
      state.warm = need;
      state.warmMs = now;
    }
    setWant(state.claim, state.warm);
  }

  private tick(): void {
    const now = this.now();
    for (const [team, state] of this.teams) {
      this.updateWant(state);
      dropIdleTokens(state.claim, now, CONTENDED_IDLE_MS);
      const { held, want } = state.claim;
      const silentMs = now - state.sentMs;
      const isDue = (want > held.length && silentMs >= REPEAT_MS) || (held.length > 0 && silentMs >= HEARTBEAT_MS);
      if (isDue) void this.demand(team, state);
      else this.tell(team, state);
    }
  }

  /** Sends one Demand at a time. Changes while one is on its way are told by the next. */
  private async demand(team: Uuid, state: TeamState): Promise<void> {
    if (state.sending) {
      state.outdated = true;
      return;
    }
    state.sending = true;
    try {
      do {
        state.outdated = false;
        await this.publisher.publishActor(this.nextDemand(team, state));
      } while (state.outdated);
    } catch (error) {
      this.log.warn({ err: error, team }, 'a demand for team tokens was not sent; it will be repeated');
    } finally {
      state.sending = false;
    }
  }

  private nextDemand(team: Uuid, state: TeamState): Envelope {
    this.updateWant(state);
    state.sentMs = this.now();
    const wish = demandFor(state.claim, state.sentMs);
    state.knownHeld = wish.held.length;
    state.knownWant = wish.want;
    return {
      id: `d.${this.instance}.${++this.messages}`,
      type: 'Demand',
      v: 1,
      from: this.self,
      to: actorKey('team', team),
      n: null,
      body: { type: 'Demand', claimant: this.self, replyTo: this.self, team, ...wish, robotsAgent: null, origin: null },
    };
  }

  private stateOf(team: Uuid): TeamState {
    let state = this.teams.get(team);
    if (!state) {
      const counters = { inUse: 0, warm: 0, warmMs: 0, knownHeld: 0, knownWant: 0, sentMs: -REPEAT_MS };
      state = { claim: createClaim(), waiters: new Set(), sending: false, outdated: false, ...counters };
      this.teams.set(team, state);
    }
    return state;
  }
}

function needOf(state: TeamState): number {
  return state.inUse + state.waiters.size;
}

/** The pool grants single uses while more is wanted than it has. */
function isContended(state: TeamState): boolean {
  return state.claim.uses !== null;
}

function queueTimeout(waitMs: number): TroupeError {
  return new TroupeError(
    'CONCURRENCY_QUEUE_TIMEOUT',
    `The request waited ${Math.round(waitMs)} ms for a place in the team's concurrency and got none. Raise the timeout or send fewer requests at once.`,
    { retryable: true },
  );
}
