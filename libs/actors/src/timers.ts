/**
 * Timers of one partition, in memory. The table is the truth: this holds those due within the horizon, and every
 * own write. A timer is identified by (actor, name); setting it again moves it.
 */
import type { ActorKey } from '@troupe/contracts';

interface Entry {
  key: ActorKey;
  name: string;
  at: number;
}

export class TimerHeap {
  private readonly heap: Entry[] = [];
  private readonly current = new Map<string, number>();

  set(key: ActorKey, name: string, at: number): void {
    const id = `${key} ${name}`;
    if (this.current.get(id) === at) return;
    this.current.set(id, at);
    this.push({ key, name, at });
  }

  clear(key: ActorKey, name: string): void {
    this.current.delete(`${key} ${name}`);
  }

  /** When the earliest timer is due, or null. */
  nextAt(): number | null {
    this.dropStale();
    return this.heap[0]?.at ?? null;
  }

  /** Removes and returns what is due at `now`. */
  takeDue(now: number, max: number): { key: ActorKey; name: string }[] {
    const due: { key: ActorKey; name: string }[] = [];
    for (;;) {
      this.dropStale();
      const top = this.heap[0];
      if (top === undefined || top.at > now || due.length >= max) return due;
      this.pop();
      this.current.delete(`${top.key} ${top.name}`);
      due.push({ key: top.key, name: top.name });
    }
  }

  /** Moved and cleared timers leave their old entry behind; it is skipped when it comes up. */
  private dropStale(): void {
    for (
      let top = this.heap[0];
      top !== undefined && this.current.get(`${top.key} ${top.name}`) !== top.at;
      top = this.heap[0]
    ) {
      this.pop();
    }
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]!.at <= entry.at) break;
      heap[i] = heap[parent]!;
      i = parent;
    }
    heap[i] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++;
      if (heap[child]!.at >= last.at) break;
      heap[i] = heap[child]!;
      i = child;
    }
    heap[i] = last;
  }
}
