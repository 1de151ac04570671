import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timeoutSignal } from './timeout-signal.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
const never = new AbortController().signal;

describe('a timeout', () => {
  it('comes, although no reference to it is held and garbage is collected', async () => {
    let ended = 0;
    const started = performance.now();
    for (let i = 0; i < 50; i++) AbortSignal.any([never, timeoutSignal(150)]).addEventListener('abort', () => ended++);
    await sleep(20);
    collectGarbage();
    await sleep(5);
    collectGarbage();
    while (ended < 50 && performance.now() - started < 5000) await sleep(10);
    expect(ended).toBe(50);
    expect(performance.now() - started).toBeGreaterThanOrEqual(145);
  });

  it('says that it is one', async () => {
    const signal = timeoutSignal(1);
    expect(signal.aborted).toBe(false);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    expect(() => signal.throwIfAborted()).toThrow(expect.objectContaining({ name: 'TimeoutError' }));
  });
});
