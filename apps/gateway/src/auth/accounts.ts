/** API keys to teams, with a short memory so that a sync scrape does not ask Postgres. */
import { Inject, Injectable, Optional, type OnModuleInit } from '@nestjs/common';
import { AccountRepository, hashApiKey, type TeamAccount } from '@troupe/persistence';
import { type Uuid } from '@troupe/contracts';
import { type TroupeConfig } from '@troupe/config';
import { type Logger } from '@troupe/observability';
import { CONFIG, LOG } from '@troupe/service';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../errors/api-error.js';
import { type Caller } from './caller.js';

/** A revoked key, or new settings of a team, are known everywhere within this time (docs/api/own.md promises 30 s). */
const CACHE_MS = 20_000;
/** Unknown keys are forgotten sooner: the key may be created at this moment. */
const UNKNOWN_CACHE_MS = 2_000;
const MAX_CACHED = 10_000;
/** Owner of everything when no keys are asked for. */
const DEFAULT_TEAM = 'default';
/** Stands in for the hash of a key; no hash is this short. */
const NO_KEY = '';

/** `teamConcurrency` is that of teams without a number of their own. */
export type AccountSettings = Pick<TroupeConfig, 'authMode' | 'troupeBootstrapKeys' | 'teamConcurrency'>;

type Accounted = Pick<AccountRepository, 'findKey' | 'markUsed' | 'ensureTeam' | 'ensureTeamWithKey'>;

@Injectable()
export class Accounts implements OnModuleInit {
  /** Hash of a key -> its caller, or false for an unknown key. */
  private readonly cache: LRUCache<string, Caller | false>;

  /** @param now monotonic milliseconds */
  constructor(
    @Inject(AccountRepository) private readonly accounts: Accounted,
    @Inject(CONFIG) private readonly settings: AccountSettings,
    @Inject(LOG) private readonly log: Pick<Logger, 'warn'>,
    @Optional() now: () => number = () => performance.now(),
  ) {
    const perf = { now };
    this.cache = new LRUCache({ max: MAX_CACHED, ttl: CACHE_MS, ttlResolution: 0, perf });
  }

  get needsKey(): boolean {
    return this.settings.authMode === 'keys';
  }

  /** Makes the bootstrap keys, and the default team when no keys are asked for. */
  async onModuleInit(): Promise<void> {
    for (const pair of this.settings.troupeBootstrapKeys) await this.makeKey(pair);
    if (!this.needsKey) await this.lookUpDefault();
  }

  /** null = no key was asked for. @throws ApiError 401 */
  identify(key: string | null): Caller | Promise<Caller> {
    if (key === null) return this.cache.get(NO_KEY) || this.lookUpDefault();
    const hash = hashApiKey(key);
    const known = this.cache.get(hash.toString('base64'));
    return known === undefined ? this.lookUp(hash) : accept(known);
  }

  /** Forgets all callers, because settings or keys have changed. Other gateways learn of it within 30 s. */
  forget(): void {
    this.cache.clear();
  }

  private async lookUp(hash: Buffer): Promise<Caller> {
    const found = await this.accounts.findKey(hash);
    const caller = found !== null && this.callerOf(found, found.keyId);
    const ttl = found === null ? UNKNOWN_CACHE_MS : Math.floor(Math.min(CACHE_MS, found.expiresInMs ?? CACHE_MS));
    if (ttl >= 1) this.cache.set(hash.toString('base64'), caller, { ttl });
    if (found !== null) this.markUsed(found.keyId);
    return accept(caller);
  }

  private async lookUpDefault(): Promise<Caller> {
    const caller = this.callerOf(await this.accounts.ensureTeam(DEFAULT_TEAM), null);
    this.cache.set(NO_KEY, caller);
    return caller;
  }

  private callerOf(account: TeamAccount, keyId: Uuid | null): Caller {
    const { teamId, teamName, concurrency, creditsLimit, hasModel, flags } = account;
    return {
      team: teamId,
      teamName,
      keyId,
      concurrency: concurrency ?? this.settings.teamConcurrency,
      creditsLimit,
      hasModel,
      flags,
    };
  }

  /** For the list of keys only. No request waits for it. */
  private markUsed(keyId: Uuid): void {
    this.accounts
      .markUsed(keyId)
      .catch((error: unknown) => this.log.warn({ err: error, keyId }, 'the last use of an API key was not recorded'));
  }

  private async makeKey(pair: string): Promise<void> {
    const colon = pair.indexOf(':');
    if (colon < 1 || colon === pair.length - 1)
      throw new Error('TROUPE_BOOTSTRAP_KEYS: every entry must read team:key');
    await this.accounts.ensureTeamWithKey(pair.slice(0, colon), pair.slice(colon + 1));
  }
}

function accept(caller: Caller | false): Caller {
  if (!caller) throw new ApiError(401, 'Unauthorized: Invalid token');
  return caller;
}
