import { afterEach, describe, expect, it } from '@jest/globals';
import { CompileThread } from './compile-thread.js';
import type { CompileTask } from './compile.worker.js';

const pattern = (text: string): CompileTask => ({ kind: 'pattern', text });
const schema = (value: object): CompileTask => ({ kind: 'schema', text: JSON.stringify(value) });
/** Takes seconds: each range is folded code point by code point. */
const ENDLESS = schema({ type: 'string', pattern: `(?i)[${'b-\u{10ffff}'.repeat(2_000)}]` });

const threads: CompileThread[] = [];
const thread = (): CompileThread => {
  const made = new CompileThread();
  threads.push(made);
  return made;
};

afterEach(async () => {
  await Promise.all(threads.splice(0).map((made) => made.onApplicationShutdown()));
});

describe('the thread that compiles for strangers', () => {
  it('tells what is wrong with which task', async () => {
    const tasks = [
      pattern('^/a'),
      schema({ type: 'object' }),
      pattern('(?=a)'),
      schema({ type: 'nothing' }),
      schema({ type: 'object' }),
    ];
    const asked = thread();
    const problems = await asked.check('a', tasks);
    expect(problems).toEqual([
      { index: 2, message: expect.stringContaining('look-around') },
      { index: 3, message: expect.stringContaining('does not compile') },
    ]);
    expect(await asked.check('b', tasks)).toEqual(problems);
  });

  it('ends with a request that takes too long, names the task, and serves the next one', async () => {
    const asked = thread();
    await asked.check('warm', [pattern('a')]);
    const startedAt = performance.now();
    expect(await asked.check('a', [pattern('b'), ENDLESS, pattern('c')])).toEqual([
      { index: 1, message: 'Compiling this took longer than 500 ms' },
    ]);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(await asked.check('b', [pattern('d')])).toEqual([]);
  });

  it('serves other teams before a second request of a team that takes long, however many it sends', async () => {
    const asked = thread();
    await asked.check('warm', [pattern('a')]);
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const long = [1, 2].map((n) => asked.check('greedy', [ENDLESS]).then(note(`greedy ${n}`)));
    await asked.check('modest', [pattern('b')]).then(note('modest 1'));
    await asked.check('modest', [pattern('c')]).then(note('modest 2'));
    await Promise.all(long);
    expect(order).toEqual(['greedy 1', 'modest 1', 'modest 2', 'greedy 2']);
  });

  it('keeps no endless queue for a team', async () => {
    const asked = thread();
    const all = Array.from({ length: 80 }, () => asked.check('a', [pattern('a')]).catch((error: unknown) => error));
    const answers = await Promise.all(all);
    const refused = answers.filter((answer) => answer instanceof Error);
    expect(refused.length).toBeGreaterThan(20);
    expect(refused.length).toBeLessThan(40);
    expect(refused[0]).toMatchObject({ status: 429, retryAfterS: 5 });
    expect(await asked.check('a', [pattern('a')])).toEqual([]);
  });
});
