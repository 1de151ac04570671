import { describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { ApiError } from '../errors/api-error.js';
import { HeavyReads } from './heavy-reads.js';

/** A read that ends when it is told to. */
function reading() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { work: () => ended, end: () => end() };
}

describe('reads of lists', () => {
  it('run so many at a time, and the next one as soon as one ends, however that ended', async () => {
    const reads = new HeavyReads(2, 1_000);
    let running = 0;
    let most = 0;
    const work = async (n: number) => {
      most = Math.max(most, ++running);
      await pause(2);
      running--;
      if (n % 3 === 0) throw new Error(`read ${n}`);
    };
    const ends = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => reads.run(() => work(n))));
    expect(most).toBe(2);
    expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(7);
  });

  it('that find no place in time are refused with a code and a time', async () => {
    const reads = new HeavyReads(1, 20);
    const first = reading();
    const held = reads.run(first.work);
    const refused = await reads.run(() => Promise.resolve()).catch((error: unknown) => error as ApiError);
    expect(refused).toMatchObject({ status: 503, code: 'SERVER_BUSY', retryAfterS: 1 });
    first.end();
    await held;
    expect(await reads.run(() => Promise.resolve('read'))).toBe('read');
  });

  it('are refused at once when very many wait', async () => {
    const reads = new HeavyReads(1, 10_000);
    const first = reading();
    const waiting = Array.from({ length: 101 }, () => reads.run(first.work));
    await expect(reads.run(first.work)).rejects.toThrow(ApiError);
    first.end();
    await Promise.all(waiting);
  });
});
