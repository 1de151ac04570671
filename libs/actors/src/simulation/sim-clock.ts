import type { Clock } from '../clock.js';

/** Virtual time: moves only when the simulation says so. */
export class SimClock implements Clock {
  private ms = 1_000_000;

  now(): number {
    return this.ms;
  }

  wall(): number {
    return this.ms;
  }

  advance(ms: number): void {
    this.ms += ms;
  }

  sleep(ms: number): Promise<void> {
    this.advance(ms);
    return Promise.resolve();
  }
}
