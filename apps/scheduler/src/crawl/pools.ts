/** The job as a claimant: host slots and team tokens, asked for by level-triggered Demands (docs/design/politeness.md, "Grants"). */
import { actorKey, type ActorKey, type Demand, type Grant } from '@troupe/contracts';
import type { Effect } from '@troupe/actors';
import { applyGrant, createClaim, demandFor, setWant, spread, type Claim, type ClaimRules } from '@troupe/politeness';
import { UNKNOWN_HOST, type HostView, type JobMemory, type JobState } from './job.state.js';

const UNMET_MS = 2_000;
const UNMET_MAX_MS = 30_000;
/** Holders and waiters send a Demand at least so often: pools forget silent claimants. */
const KEEP_ALIVE_MS = 30_000;

export function poolOfHost(host: string): ActorKey {
  return actorKey('domain', host);
}

export function poolOfTeam(state: JobState): ActorKey {
  return actorKey('team', state.team);
}

export class Pools {
  constructor(
    private readonly key: ActorKey,
    private readonly state: JobState,
    private readonly memory: JobMemory,
    private readonly now: number,
    private readonly rules: ClaimRules,
    private readonly robotsAgent: string | null,
  ) {}

  claimOf(pool: ActorKey): Claim | undefined {
    return pool === poolOfTeam(this.state) ? this.state.tokens : this.state.hosts[pool.slice('domain/'.length)];
  }

  hostClaim(host: string): Claim {
    const existing = this.state.hosts[host];
    if (existing !== undefined) return existing;
    const claim = createClaim();
    claim.v = this.state.demandV;
    this.state.hosts[host] = claim;
    return claim;
  }

  /** True when tokens were handed back because of it: the pool is waiting for a Demand. */
  onGrant(grant: Grant): boolean {
    const claim = this.claimOf(grant.pool);
    if (claim === undefined) return false;
    const isEmpty = claim.want === 0 && claim.held.length === 0 && grant.tokens.length === 0;
    if (isEmpty && grant.v >= claim.seenV) this.memory.released.add(grant.pool);
    const isNews = grant.v > claim.seenV || (grant.v === claim.seenV && this.isForgotten(grant.pool));
    const handedBack = applyGrant(claim, grant, this.now, this.rules);
    if (isNews) this.note(grant, claim);
    return handedBack;
  }

  /** True: this owner of the job does not know the host yet. An earlier owner may have heard the same Grant. */
  private isForgotten(pool: ActorKey): boolean {
    return pool !== poolOfTeam(this.state) && !this.memory.hosts.has(pool.slice('domain/'.length));
  }

  private note(grant: Grant, claim: Claim): void {
    if (grant.pool !== poolOfTeam(this.state)) {
      const host = grant.pool.slice('domain/'.length);
      this.memory.hosts.set(host, this.viewOf(grant, this.memory.hosts.get(host) ?? UNKNOWN_HOST));
    }
    const repeat = this.memory.repeats.get(grant.pool);
    if (repeat !== undefined && claim.held.length >= claim.want) repeat.at = this.now + KEEP_ALIVE_MS;
  }

  /** A host that is open again is not held any longer, whatever trouble a lane has met before. */
  private viewOf(grant: Grant, { paceMs, holdUntil, state: before }: Readonly<HostView>): HostView {
    const { gapMs, meanMs, pauseMs, state = 'open', limitedMs = null, givenUp = false, deaf = false } = grant;
    return {
      gapMs,
      meanMs,
      paceMs,
      pauseUntil: this.now + pauseMs,
      holdUntil: state === 'open' && before !== 'open' ? 0 : holdUntil,
      state,
      limitedAt: limitedMs === null ? null : this.now - limitedMs,
      givenUp,
      deaf,
    };
  }

  /** Sets the wish; answers with a Demand when it changed, when holdings changed, or when it is time to repeat. */
  demand(pool: ActorKey, want: number, changed: boolean): Effect[] {
    const claim = this.claimOf(pool)!;
    const news = setWant(claim, want) || changed;
    if (news) this.memory.released.delete(pool);
    const repeat = this.memory.repeats.get(pool);
    if (!news && repeat !== undefined && repeat.at > this.now) return [];
    const waitMs = news || repeat === undefined ? UNMET_MS : Math.min(UNMET_MAX_MS, repeat.waitMs * 2);
    const msg = this.demandMessage(pool, claim);
    this.memory.repeats.set(pool, { at: this.now + spread(waitMs, this.key, msg.v), waitMs });
    return [{ t: 'send', to: pool, cls: 'level', msg }];
  }

  forget(pool: ActorKey): void {
    const host = pool.slice('domain/'.length);
    this.memory.repeats.delete(pool);
    delete this.state.hosts[host];
    // The job is no longer told of this host. When it comes back to it, it asks anew.
    const view = this.memory.hosts.get(host);
    if (view !== undefined) Object.assign(view, { state: 'open', givenUp: false, deaf: false, limitedAt: null });
  }

  private demandMessage(pool: ActorKey, claim: Claim): Demand {
    claim.v = Math.max(claim.v, this.state.demandV);
    const wish = demandFor(claim, this.now);
    this.state.demandV = wish.v;
    return {
      type: 'Demand',
      claimant: this.key,
      replyTo: this.key,
      team: this.state.team,
      ...wish,
      robotsAgent: pool === poolOfTeam(this.state) ? null : this.robotsAgent,
      origin: this.state.scope === null ? null : new URL(this.state.scope.base).origin,
    };
  }
}
