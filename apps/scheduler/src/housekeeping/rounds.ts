/**
 * Chores that one replica does for all now and then: the one that holds the first partition. They are safe when two
 * replicas believe to hold it.
 */
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';

export const LEADER_PARTITION = 0;

/** Each chore decides itself whether its turn has come. */
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
