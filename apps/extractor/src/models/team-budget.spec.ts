import { describe, expect, it } from '@jest/globals';
import { TeamBudget } from './team-budget.js';

function usageTable() {
  const sums = new Map<string, number>();
  const writes: number[] = [];
  return {
    writes,
    add: (team: string, tokens: number) => {
      writes.push(tokens);
      sums.set(team, (sums.get(team) ?? 0) + tokens);
      return Promise.resolve(sums.get(team)!);
    },
    today: (team: string) => Promise.resolve(sums.get(team) ?? 0),
  };
}

const failed: unknown[] = [];
const onProblem = (error: unknown) => void failed.push(error);

describe('the budget of a team', () => {
  it('lets it ask until its day is used up, and others go on', async () => {
    const budget = new TeamBudget({ usage: usageTable(), perDay: 100, onProblem });
    await budget.check('a');
    budget.spend('a', { prompt: 90, answer: 10 });
    await expect(budget.check('a')).rejects.toThrow('LLM_TEAM_TOKENS_PER_DAY');
    await budget.check('b');
    await budget.write();
    await expect(budget.check('a')).rejects.toMatchObject({ retryable: false });
  });

  it('sees what other extractors have written', async () => {
    const usage = usageTable();
    await usage.add('a', 100);
    await expect(new TeamBudget({ usage, perDay: 100, onProblem }).check('a')).rejects.toThrow('100 tokens');
  });

  it('is written once for many calls, and counted also without a limit', async () => {
    const usage = usageTable();
    const budget = new TeamBudget({ usage, perDay: 0, onProblem });
    for (let n = 0; n < 5; n++) budget.spend('a', { prompt: 1, answer: 1 });
    await budget.check('a');
    await budget.write();
    expect(usage.writes).toEqual([10]);
  });

  it('is written later when it cannot be written now', async () => {
    const usage = usageTable();
    const { add } = usage;
    usage.add = () => Promise.reject(new Error('no database'));
    const budget = new TeamBudget({ usage, perDay: 100, onProblem });
    budget.spend('a', { prompt: 50, answer: 0 });
    await budget.write();
    expect(failed).toHaveLength(1);
    usage.add = add;
    await budget.write();
    expect(usage.writes).toEqual([50]);
  });
});
