import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { Gate, KeyedGates } from './gate.js';

/** Work that ends when it is told to. */
function held(log: string[], name: string): { work: () => Promise<void>; end: () => void } {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<void> => {
    log.push(name);
    await ended;
  };
  return { work, end: () => end() };
}

describe('a gate', () => {
  it('lets so many in at a time, in the order of their coming', async () => {
    const log: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => held(log, name));
    const gate = new Gate(2);
    const all = [a!, b!, c!].map(({ work }) => gate.pass(work));
    await setImmediate();
    expect(log).toEqual(['a', 'b']);
    b!.end();
    await setImmediate();
    expect(log).toEqual(['a', 'b', 'c']);
    a!.end();
    c!.end();
    await Promise.all(all);
    expect(gate.isIdle).toBe(true);
  });

  it('keeps what is light behind what is heavy and came first, and lets in what is heavier than itself alone', async () => {
    const log: string[] = [];
    const [a, b, c] = ['a', 'b', 'c'].map((name) => held(log, name));
    const gate = new Gate(10);
    const all = [gate.pass(a!.work, 5), gate.pass(b!.work, 500), gate.pass(c!.work, 1)];
    await setImmediate();
    expect(log).toEqual(['a']);
    a!.end();
    await setImmediate();
    expect(log).toEqual(['a', 'b']);
    b!.end();
    await setImmediate();
    expect(log).toEqual(['a', 'b', 'c']);
    c!.end();
    await Promise.all(all);
  });

  it('gives the place back when the work fails', async () => {
    const gates = new KeyedGates(1);
    await expect(gates.pass('h', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(gates.pass('h', () => Promise.resolve(1))).resolves.toBe(1);
  });
});
