/** Places that are taken and given back in the order of asking. */

export class Gate {
  private used = 0;
  private readonly queue: { weight: number; enter(): void }[] = [];

  constructor(private readonly capacity: number) {}

  /** Runs `work` when there is room for its weight. Work that is heavier than the whole gate has it for itself. */
  async pass<T>(work: () => Promise<T>, weight = 1): Promise<T> {
    const share = Math.min(weight, this.capacity);
    if (this.queue.length > 0 || this.used + share > this.capacity) {
      await new Promise<void>((enter) => this.queue.push({ weight: share, enter }));
    } else this.used += share;
    try {
      return await work();
    } finally {
      this.used -= share;
      this.admit();
    }
  }

  get isIdle(): boolean {
    return this.used === 0 && this.queue.length === 0;
  }

  private admit(): void {
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (this.used + next.weight > this.capacity) return;
      this.queue.shift();
      this.used += next.weight;
      next.enter();
    }
  }
}

/** One gate per key, forgotten once it is empty. */
export class KeyedGates {
  private readonly gates = new Map<string, Gate>();

  constructor(private readonly capacity: number) {}

  async pass<T>(key: string, work: () => Promise<T>, weight = 1): Promise<T> {
    let gate = this.gates.get(key);
    if (gate === undefined) this.gates.set(key, (gate = new Gate(this.capacity)));
    try {
      return await gate.pass(work, weight);
    } finally {
      if (gate.isIdle) this.gates.delete(key);
    }
  }
}
