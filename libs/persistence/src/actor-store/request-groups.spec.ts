import { describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { RequestGroups } from './request-groups.js';

/** As node-postgres reports what the server has refused. */
const refusal = (code: string): Error => Object.assign(new Error(`refused: ${code}`), { severity: 'ERROR', code });

/** Each transaction takes 5 ms; one with a bad turn fails. */
function groupsOf(
  failure: Error,
  bad: string[] = [],
): { groups: RequestGroups<string, string>; transactions: string[][] } {
  const transactions: string[][] = [];
  const groups = new RequestGroups<string, string>(async (turns) => {
    transactions.push([...turns]);
    await pause(5);
    if (turns.some((turn) => bad.includes(turn))) throw failure;
    return turns.map((turn) => turn.toUpperCase());
  });
  return { groups, transactions };
}

const endsOf = async (ends: Promise<string>[]) => (await Promise.allSettled(ends)).map(({ status }) => status);

describe('what several partitions ask', () => {
  it('that come at once are one transaction, and those that come while it runs are the next', async () => {
    const { groups, transactions } = groupsOf(refusal('22012'));
    const first = [groups.join('a'), groups.join('b')];
    await pause(1);
    const second = [groups.join('c'), groups.join('d')];
    expect(await Promise.all(first)).toEqual(['A', 'B']);
    expect(transactions[0]).toEqual(['a', 'b']);
    expect(await Promise.all(second)).toEqual(['C', 'D']);
    expect(transactions).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    await groups.join('e');
    expect(transactions).toHaveLength(3);
  });

  it('fail alone: the others are written without the one that is refused', async () => {
    const { groups, transactions } = groupsOf(refusal('22012'), ['b']);
    const ends = ['a', 'b', 'c'].map((turn) => groups.join(turn));
    expect(await endsOf(ends)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(transactions).toEqual([['a', 'b', 'c'], ['a'], ['b', 'c'], ['b'], ['c']]);
  });

  it('of 64 that come together cost twelve more transactions when one is refused', async () => {
    const all = Array.from({ length: 64 }, (_, i) => String(i));
    const { groups, transactions } = groupsOf(refusal('22003'), ['37']);
    const ends = await endsOf(all.map((turn) => groups.join(turn)));
    expect(ends.filter((end) => end === 'rejected')).toHaveLength(1);
    expect(transactions).toHaveLength(13);
  });

  it('are not repeated here when their outcome is unknown', async () => {
    const lost = [new Error('Connection terminated unexpectedly'), refusal('57P01'), refusal('08006')];
    for (const failure of lost) {
      const { groups, transactions } = groupsOf(failure, ['b']);
      expect(await endsOf(['a', 'b'].map((turn) => groups.join(turn)))).toEqual(['rejected', 'rejected']);
      expect(transactions).toEqual([['a', 'b']]);
      await groups.join('c');
    }
  });

  it('keeps a pace when much follows each other, and not after a rest', async () => {
    let transactions = 0;
    const groups = new RequestGroups<number, number>(async (asks) => (transactions++, asks), 40);
    const ask = async (forMs: number) => {
      for (const until = performance.now() + forMs; performance.now() < until; await pause(2)) void groups.join(1);
    };
    await ask(400);
    expect(transactions).toBeGreaterThanOrEqual(4);
    expect(transactions).toBeLessThanOrEqual(4 + 400 / 40 + 2);
    await pause(300);
    for (const since = performance.now(), before = transactions; transactions < before + 4;) {
      await groups.join(1);
      expect(performance.now() - since).toBeLessThan(100);
    }
  });

  it('are not all one transaction when there are very many', async () => {
    const { groups, transactions } = groupsOf(refusal('22012'));
    const turns = Array.from({ length: 150 }, (_, i) => String(i));
    await Promise.all(turns.map((turn) => groups.join(turn)));
    expect(transactions.map(({ length }) => length)).toEqual([64, 64, 22]);
    expect(transactions.flat()).toEqual(turns);
  });
});
