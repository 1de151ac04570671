import { describe, expect, it } from '@jest/globals';
import { TimeSlice } from './time-slice.js';

function spin(ms: number): void {
  for (const endsAt = performance.now() + ms; performance.now() < endsAt;);
}

describe('a time slice', () => {
  it('is over after its time and lets others in before the next', async () => {
    const slice = new TimeSlice(5);
    expect(slice.isOver).toBe(false);
    spin(6);
    expect(slice.isOver).toBe(true);
    let others = 0;
    setImmediate(() => others++);
    await slice.next();
    expect({ others, isOver: slice.isOver }).toEqual({ others: 1, isOver: false });
  });

  it('does not add up with the slices of other works', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const work = async () => {
      const slice = new TimeSlice(5);
      for (let n = 0; n < 4; n++) {
        spin(5);
        await slice.next();
      }
    };
    await Promise.all([work(), work(), work()]);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(8);
  });
});
