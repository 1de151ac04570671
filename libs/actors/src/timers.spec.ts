import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { TimerHeap } from './timers.js';

describe('timers of a partition', () => {
  it('come up in the order in which they are due, at most as many as asked for', () => {
    const heap = new TimerHeap();
    for (const at of [50, 10, 40, 20, 30]) heap.set('crawl/a', `t${at}`, at);
    expect(heap.nextAt()).toBe(10);
    expect(heap.takeDue(9, 10)).toEqual([]);
    expect(heap.takeDue(40, 2).map(({ name }) => name)).toEqual(['t10', 't20']);
    expect(heap.takeDue(40, 10).map(({ name }) => name)).toEqual(['t30', 't40']);
    expect(heap.nextAt()).toBe(50);
  });

  it('are moved by setting them again, to earlier and to later', () => {
    const heap = new TimerHeap();
    heap.set('crawl/a', 'tick', 100);
    heap.set('crawl/a', 'tick', 50);
    expect(heap.nextAt()).toBe(50);
    heap.set('crawl/a', 'tick', 200);
    expect(heap.nextAt()).toBe(200);
    expect(heap.takeDue(199, 10)).toEqual([]);
    expect(heap.takeDue(200, 10)).toHaveLength(1);
    expect(heap.takeDue(10_000, 10)).toEqual([]);
  });

  it('are told apart by actor and name, and cleared ones do not fire', () => {
    const heap = new TimerHeap();
    heap.set('crawl/a', 'tick', 10);
    heap.set('crawl/b', 'tick', 10);
    heap.set('crawl/a', 'check', 10);
    heap.clear('crawl/a', 'tick');
    heap.clear('crawl/c', 'tick');
    expect(heap.takeDue(10, 10)).toEqual(
      expect.arrayContaining([
        { key: 'crawl/b', name: 'tick' },
        { key: 'crawl/a', name: 'check' },
      ]),
    );
    expect(heap.nextAt()).toBeNull();
  });

  it('behave as a plain list would under any operations', () => {
    const names = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const steps = fc.array(
      fc.oneof(
        fc.record({ op: fc.constant('set' as const), name: names, at: fc.nat({ max: 30 }) }),
        fc.record({ op: fc.constant('clear' as const), name: names, at: fc.constant(0) }),
        fc.record({ op: fc.constant('take' as const), name: fc.constant(''), at: fc.nat({ max: 30 }) }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, (operations) => {
        const heap = new TimerHeap();
        const model = new Map<string, number>();
        for (const { op, name, at } of operations) {
          if (op === 'set') {
            heap.set('crawl/a', name, at);
            model.set(name, at);
          } else if (op === 'clear') {
            heap.clear('crawl/a', name);
            model.delete(name);
          } else {
            const due = [...model].filter(([, dueAt]) => dueAt <= at);
            const taken = heap.takeDue(at, 100).map((timer) => timer.name);
            expect([...taken].sort()).toEqual(due.map(([dueName]) => dueName).sort());
            expect(taken.map((takenName) => model.get(takenName))).toEqual(
              due.map(([, dueAt]) => dueAt).sort((a, b) => a - b),
            );
            for (const [dueName] of due) model.delete(dueName);
          }
          expect(heap.nextAt()).toBe(model.size === 0 ? null : Math.min(...model.values()));
        }
      }),
      { numRuns: 200 },
    );
  });
});
