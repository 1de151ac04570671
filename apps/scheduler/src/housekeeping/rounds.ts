/** What one replica does for all, now and then: whichever holds the first partition. Safe when two believe they do. */
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';

export const LEADER_PARTITION = 0;

/** Each looks itself whether its turn has come. */
export interface Chore {
  everyMs: number;
  /** Never rejects. */
  round(): Promise<void>;
}

export class Rounds implements OnApplicationBootstrap, OnModuleDestroy {
  private timers: NodeJS.Timeout[] = [];

  constructor(private readonly chores: readonly Chore[]) {}

  onApplicationBootstrap(): void {
    this.timers = this.chores.map((chore) => setInterval(() => void chore.round(), chore.everyMs));
  }

  onModuleDestroy(): void {
    this.timers.forEach(clearInterval);
  }
}
