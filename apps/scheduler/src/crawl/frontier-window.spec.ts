import { describe, expect, it } from '@jest/globals';
import type { FrontierRow } from '@troupe/contracts';
import {
  bringBack,
  needsRefill,
  nextBack,
  pushReady,
  readyOn,
  refill,
  takeAny,
  takeReady,
  takesNewRows,
  WINDOW_ROWS,
} from './frontier-window.js';
import { emptyState, JobMemory } from './job.state.js';

const rowOf = (item: number, host = 'a.test'): FrontierRow => ({
  depth: 1,
  item,
  host,
  url: `http://${host}/${item}`,
  h: null,
  parent: 0,
  attempt: 0,
  st: 0,
  browser: false,
});
const rowsOf = (count: number) => Array.from({ length: count }, (_, item) => rowOf(item));

/** A table of rows, and the window of a job over it. */
class Frontier {
  readonly state = emptyState('crawl');
  readonly memory = new JobMemory();

  discover(count: number): void {
    for (const row of rowsOf(count)) {
      const isKept = takesNewRows(this.state, this.memory);
      this.state.ready++;
      if (isKept) pushReady(this.memory, row);
    }
  }

  take(most: number): FrontierRow[] {
    const taken = takeReady(this.memory, 'a.test', most, () => true);
    this.state.ready -= taken.length;
    return taken;
  }
}

describe('the window of a frontier', () => {
  it('keeps what is discovered while it has room, however fast it comes', () => {
    const frontier = new Frontier();
    frontier.discover(3 * WINDOW_ROWS);
    expect(frontier.memory.windowSize).toBe(WINDOW_ROWS);
    expect(frontier.state.ready).toBe(3 * WINDOW_ROWS);
  });

  it('takes nothing behind rows that it does not hold', () => {
    const frontier = new Frontier();
    frontier.discover(WINDOW_ROWS + 1);
    frontier.take(10);
    frontier.discover(5);
    expect(frontier.memory.windowSize).toBe(WINDOW_ROWS - 10);
  });

  it('is read again when it is half empty and the table has more', () => {
    const frontier = new Frontier();
    frontier.discover(WINDOW_ROWS + 1);
    frontier.take(WINDOW_ROWS / 2);
    expect(needsRefill(frontier.state, frontier.memory)).toBe(false);
    frontier.take(1);
    expect(needsRefill(frontier.state, frontier.memory)).toBe(true);
    refill(frontier.memory, rowsOf(frontier.state.ready), 0);
    expect(takesNewRows(frontier.state, frontier.memory)).toBe(true);
  });

  it('gives rows in their order, passing over those that are not wanted', () => {
    const frontier = new Frontier();
    frontier.discover(6);
    const isOdd = ({ item }: FrontierRow) => item % 2 === 1;
    expect(takeReady(frontier.memory, 'a.test', 2, isOdd).map(({ item }) => item)).toEqual([1, 3]);
    expect(frontier.take(9).map(({ item }) => item)).toEqual([0, 2, 4, 5]);
    expect(frontier.memory.window.size).toBe(0);
  });

  it('counts rows that wait as known, and lets no row stand behind them', () => {
    const { memory, state } = new Frontier();
    state.ready = 3;
    refill(memory, [{ ...rowOf(1), waitMs: 500 }, { ...rowOf(2), waitMs: 100 }, rowOf(3)], 1_000);
    expect(readyOn(memory, 'a.test')).toBe(1);
    expect(takesNewRows(state, memory)).toBe(true);
    expect(nextBack(memory)).toBe(1_100);
    bringBack(memory, 1_100);
    expect(takeReady(memory, 'a.test', 9, () => true).map(({ item }) => item)).toEqual([2, 3]);
    expect(takeAny(memory, 'a.test', 9).map(({ item }) => item)).toEqual([1]);
    expect(nextBack(memory)).toBeNull();
  });

  it('lets hosts take turns', () => {
    const { memory } = new Frontier();
    for (const host of ['a.test', 'a.test', 'b.test']) pushReady(memory, rowOf(0, host));
    takeReady(memory, 'a.test', 1, () => true);
    expect([...memory.window.keys()]).toEqual(['b.test', 'a.test']);
  });
});
