import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BlobGatherer } from './blob-gatherer.js';

const HOUR = '2026112110';
const bytes = (length: number) => new Uint8Array(length);

describe('puts at about the same time', () => {
  let stored: { length: number; hour: string }[];
  let failures: number;
  let gatherer: BlobGatherer;

  beforeEach(() => {
    jest.useFakeTimers();
    stored = [];
    failures = 0;
    gatherer = new BlobGatherer({
      put: async ({ length }, hour) => {
        if (failures-- > 0) throw new Error('disk full');
        stored.push({ length, hour });
        return `${hour}/${stored.length}`;
      },
    });
  });
  afterEach(() => void jest.useRealTimers());

  it('share a blob', async () => {
    const keys = Promise.all([gatherer.put(bytes(3), HOUR), gatherer.put(bytes(4), HOUR)]);
    await jest.advanceTimersByTimeAsync(1);
    expect(await keys).toEqual([`${HOUR}/1@0-3`, `${HOUR}/1@3-7`]);
  });

  it('wait after another one for what comes meanwhile, and after a rest do not wait', async () => {
    void gatherer.put(bytes(1), HOUR);
    await jest.advanceTimersByTimeAsync(1);
    void gatherer.put(bytes(2), HOUR);
    await jest.advanceTimersByTimeAsync(30);
    void gatherer.put(bytes(3), HOUR);
    expect(stored.map(({ length }) => length)).toEqual([1]);
    await jest.advanceTimersByTimeAsync(20);
    expect(stored.map(({ length }) => length)).toEqual([1, 5]);
    await jest.advanceTimersByTimeAsync(1_000);
    void gatherer.put(bytes(4), HOUR);
    await jest.advanceTimersByTimeAsync(1);
    expect(stored.map(({ length }) => length)).toEqual([1, 5, 4]);
  });

  it('of different hours do not', async () => {
    const keys = Promise.all([gatherer.put(bytes(3), HOUR), gatherer.put(bytes(4), '2026112111')]);
    await jest.advanceTimersByTimeAsync(50);
    await keys;
    expect(stored).toEqual([
      { length: 3, hour: HOUR },
      { length: 4, hour: '2026112111' },
    ]);
  });

  it('do not wait for more than a megabyte', async () => {
    await Promise.all([gatherer.put(bytes(600_000), HOUR), gatherer.put(bytes(600_000), HOUR)]);
    expect(stored).toHaveLength(1);
  });

  it('fail together, and later ones do not', async () => {
    failures = 1;
    const results = Promise.allSettled([gatherer.put(bytes(3), HOUR), gatherer.put(bytes(4), HOUR)]);
    await jest.advanceTimersByTimeAsync(50);
    expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const later = gatherer.put(bytes(5), HOUR);
    await jest.advanceTimersByTimeAsync(50);
    expect(await later).toBe(`${HOUR}/1`);
  });
});
