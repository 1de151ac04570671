import { expect, it } from '@jest/globals';
import { setImmediate as nextRound } from 'node:timers/promises';
import { inSlices, takeTurn } from './turns.js';

it('gives one turn a round, in the order of asking', async () => {
  let rounds = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await nextRound();
      rounds++;
    }
  })();
  const taken: [string, number][] = [];
  await Promise.all(['a', 'b', 'c'].map((name) => takeTurn().then(() => taken.push([name, rounds]))));
  isOver = true;
  await counting;
  expect(taken.map(([name]) => name)).toEqual(['a', 'b', 'c']);
  expect(new Set(taken.map(([, round]) => round)).size).toBe(3);
});

it('lets others run during long work', async () => {
  let rounds = 0;
  const timer = setInterval(() => rounds++, 1);
  function* work(): Generator<void, string, void> {
    const endMs = performance.now() + 5_000;
    while (rounds < 4 && performance.now() < endMs) yield;
    return 'done';
  }
  expect(await inSlices(work())).toBe('done');
  clearInterval(timer);
  expect(rounds).toBe(4);
});
