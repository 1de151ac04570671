import { describe, expect, it } from '@jest/globals';
import { type Caller } from '../auth/caller.js';
import { AccountService } from './account.service.js';
import { TeamActivity, type Activity } from './team-activity.js';

const CALLER: Caller = {
  team: 't',
  teamName: 'a',
  keyId: null,
  concurrency: 4,
  creditsLimit: 100,
  hasModel: false,
  flags: {},
};

function serviceWith({ used = 0, openPages = 0, activePages = 0, calls = { active: 0, waiting: 0 }, billing = true }) {
  const usage = {
    usedIn: () => Promise.resolve(used),
    byMonth: () =>
      Promise.resolve({
        rows: [{ month: new Date('2026-02-01T00:00:00Z'), keyName: 'ci', credits: 420, key: ['1', 'ci'] }],
        hasMore: false,
      }),
    inWork: () => Promise.resolve({ openPages, activePages }),
    latestSuccess: () => Promise.resolve(null),
  };
  return new AccountService(usage, { of: () => Promise.resolve(calls) }, { billing });
}

describe('AccountService', () => {
  it('tells what is left of the month’s credits, never less than nothing', async () => {
    expect(await serviceWith({ used: 20 }).credits(CALLER)).toMatchObject({ remaining: 80, plan: 100 });
    expect(await serviceWith({ used: 120 }).credits(CALLER)).toMatchObject({ remaining: 0, plan: 100 });
  });

  it('knows no end of credits without billing or without a limit', async () => {
    const unlimited = { remaining: null, plan: null, periodStart: null, periodEnd: null };
    expect(await serviceWith({ billing: false }).credits(CALLER)).toEqual(unlimited);
    expect(await serviceWith({}).credits({ ...CALLER, creditsLimit: null })).toEqual(unlimited);
  });

  it('gives each month its first and last moment', async () => {
    const history = await serviceWith({}).history(CALLER, true, { after: null, skip: 0, limit: 10 });
    expect(history.rows).toMatchObject([
      {
        start: new Date('2026-02-01T00:00:00Z'),
        end: new Date('2026-03-01T00:00:00Z'),
        keyName: 'ci',
        credits: 420,
      },
    ]);
  });

  it('counts the pages of jobs and single scrapes together', async () => {
    const service = serviceWith({ openPages: 7, activePages: 2, calls: { active: 1, waiting: 3 } });
    expect(await service.queue(CALLER)).toEqual({ active: 3, waiting: 8, max: 4, latestSuccess: null });
    expect(await service.concurrency(CALLER)).toEqual({ active: 3, max: 4 });
  });
});

describe('TeamActivity', () => {
  const activityWith = (answers: Activity[]) =>
    new TeamActivity(
      { answer: () => () => undefined, ask: () => Promise.resolve(answers) },
      { activity: () => ({ active: 1, waiting: 0 }) },
      { list: () => [] },
    );

  it('is the sum over all gateways, and this one’s own when no gateway answers', async () => {
    expect(await activityWith([1, 2].map((n) => ({ active: n, waiting: n }))).of('t')).toEqual({
      active: 3,
      waiting: 3,
    });
    expect(await activityWith([]).of('t')).toEqual({ active: 1, waiting: 0 });
  });
});
