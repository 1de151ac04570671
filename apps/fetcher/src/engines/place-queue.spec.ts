import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PlaceQueue, type Places } from './place-queue.js';

const never = new AbortController().signal;

let load: number;

/** @param count who enter one after the other; tells how many are in */
function crowd(places: Omit<Places, 'readLoad'>, count: number): { queue: PlaceQueue; inside: () => number } {
  const queue = new PlaceQueue({ ...places, readLoad: () => load });
  let inside = 0;
  for (let i = 0; i < count; i++) void queue.enter(never).then(() => inside++);
  return { queue, inside: () => inside };
}

describe('a queue for places', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    load = 0.5;
  });
  afterEach(() => void jest.useRealTimers());

  it('lets in as many as there are places, and the next when one leaves', async () => {
    const { queue, inside } = crowd({ least: 2, most: 2 }, 3);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(inside()).toBe(2);
    queue.leave();
    await jest.advanceTimersByTimeAsync(0);
    expect([inside(), queue.taken]).toEqual([3, 2]);
    queue.leave();
    queue.leave();
    expect(queue.taken).toBe(0);
  });

  it('opens one place after the other while processors are idle and somebody waits', async () => {
    const { inside } = crowd({ least: 1, most: 3 }, 5);
    await jest.advanceTimersByTimeAsync(999);
    expect(inside()).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(inside()).toBe(2);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(inside()).toBe(3);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(inside()).toBe(3);
  });

  it('opens none while they are busy, or for nobody', async () => {
    load = 0.85;
    const busy = crowd({ least: 1, most: 3 }, 2);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(busy.inside()).toBe(1);
    load = 0.1;
    const alone = crowd({ least: 1, most: 3 }, 1);
    await jest.advanceTimersByTimeAsync(10_000);
    void alone.queue.enter(never);
    expect([alone.queue.taken, alone.inside()]).toEqual([1, 1]);
  });

  it('closes them one by one when all processors are busy, once they are left', async () => {
    const { queue, inside } = crowd({ least: 1, most: 3 }, 6);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(inside()).toBe(3);
    load = 0.99;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(queue.taken).toBe(3);
    queue.leave();
    await jest.advanceTimersByTimeAsync(0);
    expect([inside(), queue.taken]).toEqual([3, 2]);
    queue.leave();
    await jest.advanceTimersByTimeAsync(0);
    expect([inside(), queue.taken]).toEqual([4, 2]);
    await jest.advanceTimersByTimeAsync(5_000);
    queue.leave();
    queue.leave();
    await jest.advanceTimersByTimeAsync(0);
    expect([inside(), queue.taken]).toEqual([5, 1]);
  });

  it('begins with the least again after everybody has left, and looks no more meanwhile', async () => {
    const { queue, inside } = crowd({ least: 1, most: 2 }, 2);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(inside()).toBe(2);
    queue.leave();
    queue.leave();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(jest.getTimerCount()).toBe(0);
    void queue.enter(never);
    void queue.enter(never);
    expect(queue.taken).toBe(1);
  });

  it('forgets who has given up waiting', async () => {
    const { queue, inside } = crowd({ least: 1, most: 1 }, 1);
    const patience = new AbortController();
    const waiting = queue.enter(patience.signal);
    void queue.enter(never);
    patience.abort(new Error('no more time'));
    await expect(waiting).rejects.toThrow('no more time');
    await expect(queue.enter(patience.signal)).rejects.toThrow('no more time');
    queue.leave();
    expect([queue.taken, inside()]).toEqual([1, 1]);
    queue.leave();
    expect(queue.taken).toBe(0);
  });
});
