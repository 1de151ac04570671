import type { Clock } from '../clock.js';

/** Virtual time: moves only when the simulation says so. */
export class SimClock implements Clock {
  constructor(private ms = 1_000_000) {}

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

/** Virtual time in which many wait at once: a sleeper is woken by the caller that moves it. */
export class SharedClock extends SimClock {
  private sleepers: { at: number; wake: () => void }[] = [];

  override sleep(ms: number): Promise<void> {
    return new Promise((wake) => void this.sleepers.push({ at: this.now() + Math.max(0, ms), wake }));
  }

  /** Moves time on. Sleepers whose time has come by then wake in its order. */
  override advance(ms: number): void {
    super.advance(ms);
    const due = this.sleepers.filter(({ at }) => at <= this.now());
    if (due.length === 0) return;
    this.sleepers = this.sleepers.filter(({ at }) => at > this.now());
    for (const { wake } of due.sort((a, b) => a.at - b.at)) wake();
  }
}

export interface ClockDrift {
  /** Offset of its monotonic reading, ms. */
  offsetMs: number;
  /** Its seconds in a second: 0.95 … 1.05. */
  speed: number;
  /** Offset of its wall clock, ms. */
  wallOffsetMs: number;
}

/** The clock of one process: counts from elsewhere, at a speed of its own, and its wall is set now and then. */
export class ProcessClock implements Clock {
  private readonly bornAt: number;

  constructor(
    private readonly time: SimClock,
    private readonly drift: ClockDrift,
  ) {
    this.bornAt = time.now();
  }

  now(): number {
    return this.drift.offsetMs + (this.time.now() - this.bornAt) * this.drift.speed;
  }

  wall(): number {
    return Math.round(this.time.wall() + this.drift.wallOffsetMs);
  }

  setWall(byMs: number): void {
    this.drift.wallOffsetMs += byMs;
  }

  sleep(ms: number): Promise<void> {
    return this.time.sleep(ms / this.drift.speed);
  }
}
