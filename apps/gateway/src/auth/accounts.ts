/** API keys to teams, with a short memory so that a sync scrape does not ask Postgres. */
import { randomBytes } from 'node:crypto';
import { hashApiKey, type AccountRepository, type KeyOwner } from '@troupe/persistence';
import { LRUCache } from 'lru-cache';
import { ApiError } from '../errors/api-error.js';
import { type Caller } from './caller.js';

const CACHE_MS = 30_000;
/** Unknown keys are forgotten sooner: somebody may just be creating this one. */
const UNKNOWN_CACHE_MS = 2_000;
const MAX_CACHED = 10_000;
/** Owner of everything when no keys are asked for. */
const DEFAULT_TEAM = 'default';

export interface AccountsOptions {
  authMode: 'keys' | 'none';
  /** `team:key` pairs. */
  bootstrapKeys: readonly string[];
  /** Of teams that are made here. */
  concurrency: number;
}

type Accounted = Pick<AccountRepository, 'findKey' | 'ensureTeamWithKey'>;

export class Accounts {
  /** Hash of a key -> its caller, or false for a key nobody has. */
  private readonly cache = new LRUCache<string, Caller | false>({ max: MAX_CACHED, ttl: CACHE_MS });
  private nobody: Caller | null = null;

  constructor(
    private readonly accounts: Accounted,
    private readonly options: AccountsOptions,
  ) {}

  get needsKey(): boolean {
    return this.options.authMode === 'keys';
  }

  /** Makes the bootstrap keys, and the default team when no keys are asked for. */
  async prepare(): Promise<void> {
    for (const pair of this.options.bootstrapKeys) await this.makeKey(pair);
    if (this.needsKey) return;
    this.nobody = await this.makeDefaultTeam();
  }

  /** null = no key was asked for. @throws ApiError 401 */
  identify(key: string | null): Caller | Promise<Caller> {
    if (key === null) return this.defaultCaller();
    const hash = hashApiKey(key);
    const known = this.cache.get(hash.toString('base64'));
    return known === undefined ? this.lookUp(hash) : accept(known);
  }

  private async lookUp(hash: Buffer): Promise<Caller> {
    const found = await this.accounts.findKey(hash);
    const caller = found !== null && callerOf(found);
    this.cache.set(hash.toString('base64'), caller, { ttl: caller ? CACHE_MS : UNKNOWN_CACHE_MS });
    return accept(caller);
  }

  private defaultCaller(): Caller {
    if (!this.nobody) throw new Error('accounts were used before they were prepared');
    return this.nobody;
  }

  /** A team comes with a key; nobody ever learns this one. */
  private async makeDefaultTeam(): Promise<Caller> {
    const key = randomBytes(32).toString('hex');
    await this.accounts.ensureTeamWithKey(DEFAULT_TEAM, key, this.options.concurrency);
    const owner = await this.accounts.findKey(hashApiKey(key));
    if (!owner) throw new Error('the default team could not be made');
    return { ...callerOf(owner), keyId: null };
  }

  private async makeKey(pair: string): Promise<void> {
    const colon = pair.indexOf(':');
    if (colon < 1 || colon === pair.length - 1)
      throw new Error('TROUPE_BOOTSTRAP_KEYS: every entry must read team:key');
    await this.accounts.ensureTeamWithKey(pair.slice(0, colon), pair.slice(colon + 1), this.options.concurrency);
  }
}

function callerOf({ teamId, teamName, keyId, concurrency, flags }: KeyOwner): Caller {
  return { team: teamId, teamName, keyId, concurrency, flags };
}

function accept(caller: Caller | false): Caller {
  if (!caller) throw new ApiError(401, 'Unauthorized: Invalid token');
  return caller;
}
