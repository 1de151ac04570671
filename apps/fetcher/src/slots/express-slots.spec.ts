import { beforeEach, describe, expect, it } from '@jest/globals';
import type { SlotHold } from '@troupe/messaging';
import { ExpressSlots } from './express-slots.js';

const signal = new AbortController().signal;

describe('express places', () => {
  let gapMs: number;
  let places: number;
  let asked: number[];
  let open: number;
  let slots: ExpressSlots;

  beforeEach(() => {
    gapMs = 0;
    places = 4;
    asked = [];
    open = 0;
    slots = new ExpressSlots({
      board: {
        claimExpress: async (_host, count) => {
          asked.push(count);
          open++;
          return {} as SlotHold;
        },
        release: async () => void open--,
      },
      penalties: { expressPlaces: () => places, gapMs: () => gapMs },
      instance: 'me',
      log: { warn: () => undefined },
    });
  });

  it('are as many as the host is allowed now', async () => {
    await slots.acquire('a.test', 1000, signal);
    places = 1;
    await slots.acquire('a.test', 1000, signal);
    expect(asked).toEqual([4, 1]);
  });

  it('of a slowed host are handed out with its gap between them', async () => {
    gapMs = 60;
    const startedAt = performance.now();
    await Promise.all([1, 2, 3].map(() => slots.acquire('a.test', 1000, signal)));
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(115);
    gapMs = 0;
    await slots.acquire('a.test', 1000, signal);
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  it('are given back by those whose turn is too late', async () => {
    gapMs = 500;
    await slots.acquire('a.test', 1000, signal);
    await expect(slots.acquire('a.test', 30, signal)).rejects.toMatchObject({ code: 'CONCURRENCY_QUEUE_TIMEOUT' });
    expect(open).toBe(1);
  });
});
