import { describe, expect, it } from '@jest/globals';
import { hashApiKey, type KeyOwner } from '@troupe/persistence';
import { Accounts, type AccountSettings } from './accounts.js';

const OWNER: KeyOwner = {
  keyId: 'k1',
  teamId: 't1',
  teamName: 'acme',
  concurrency: null,
  creditsLimit: null,
  hasModel: true,
  flags: { ignoreRobots: true },
  expiresInMs: null,
};

class FakeAccounts {
  readonly keys = new Map<string, KeyOwner>();
  readonly teams: string[] = [];
  readonly used: string[] = [];
  lookUps = 0;

  findKey(hash: Buffer): Promise<KeyOwner | null> {
    this.lookUps++;
    return Promise.resolve(this.keys.get(hash.toString('hex')) ?? null);
  }

  markUsed(keyId: string): Promise<void> {
    this.used.push(keyId);
    return Promise.resolve();
  }

  ensureTeam(name: string): Promise<KeyOwner> {
    this.teams.push(name);
    return Promise.resolve({ ...OWNER, teamName: name });
  }

  ensureTeamWithKey(name: string, key: string): Promise<{ teamId: string; keyId: string }> {
    this.keys.set(hashApiKey(key).toString('hex'), { ...OWNER, teamName: name });
    return Promise.resolve({ teamId: 't1', keyId: 'k1' });
  }
}

function accountsWith(settings: Partial<AccountSettings> = {}) {
  const store = new FakeAccounts();
  const log = { warn: () => undefined };
  const clock = { ms: 1_000 };
  const defaults: AccountSettings = { authMode: 'keys', troupeBootstrapKeys: ['acme:k'], teamConcurrency: 7 };
  return { store, clock, accounts: new Accounts(store, { ...defaults, ...settings }, log, () => clock.ms) };
}

describe('Accounts', () => {
  it('gives a team without a number of its own the default concurrency', async () => {
    const { store, accounts } = accountsWith();
    await accounts.onModuleInit();
    expect(await accounts.identify('k')).toMatchObject({ concurrency: 7, flags: { ignoreRobots: true } });
    store.keys.set(hashApiKey('own').toString('hex'), { ...OWNER, concurrency: 2 });
    expect(await accounts.identify('own')).toMatchObject({ concurrency: 2 });
  });

  it('asks the database once for a key in use, and again within 30 s, so that a revoked one is refused by then', async () => {
    const { store, clock, accounts } = accountsWith();
    await accounts.onModuleInit();
    await accounts.identify('k');
    await accounts.identify('k');
    expect(store.lookUps).toBe(1);
    store.keys.clear();
    clock.ms += 30_000;
    await expect(accounts.identify('k')).rejects.toMatchObject({ status: 401 });
  });

  it('forgets a key when it expires', async () => {
    const { store, clock, accounts } = accountsWith();
    store.keys.set(hashApiKey('short').toString('hex'), { ...OWNER, expiresInMs: 1_500.4 });
    await accounts.identify('short');
    store.keys.clear();
    clock.ms += 1_501;
    await expect(accounts.identify('short')).rejects.toMatchObject({ status: 401 });
  });

  it('notes that a key was used', async () => {
    const { store, accounts } = accountsWith();
    await accounts.onModuleInit();
    await accounts.identify('k');
    expect(store.used).toEqual(['k1']);
  });

  it('lets every caller in as the team "default" when no keys are asked for, without making a key', async () => {
    const { store, accounts } = accountsWith({ authMode: 'none', troupeBootstrapKeys: [] });
    await accounts.onModuleInit();
    expect(await accounts.identify(null)).toMatchObject({ teamName: 'default', keyId: null });
    expect([...store.keys]).toEqual([]);
    expect(store.teams).toEqual(['default']);
  });
});
