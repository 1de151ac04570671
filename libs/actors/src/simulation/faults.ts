import type { ActorKey } from '@troupe/contracts';
import type { TurnHead, TurnWrites } from '../ports.js';

/** Where a simulated process may die. The simulation throws `CrashError` there and forgets the process. */
export class CrashError extends Error {
  constructor(where: string) {
    super(`simulated crash: ${where}`);
    this.name = 'CrashError';
  }
}

/** Thrown when an invariant does not hold. */
export class InvariantError extends Error {
  constructor(
    readonly invariant: string,
    detail: string,
  ) {
    super(`${invariant}: ${detail}`);
    this.name = 'InvariantError';
  }
}

/** Each may throw. */
export interface FaultPoints {
  /** Called before whatever the store is asked outside of turns. */
  beforeRead(part: number | null): void;
  beforeCommit(part: number): void;
  /** The turn is decided, and nothing of it is written. */
  beforeWrite(head: TurnHead, writes: TurnWrites): void;
  /** All of it is written, and the process does not hear of it. */
  afterCommit(part: number): void;
  /** An actor is to be ended by the store alone. */
  beforeGrave(key: ActorKey): void;
  beforePublish(): void;
}

export const NO_FAULTS: FaultPoints = {
  beforeRead: () => {},
  beforeCommit: () => {},
  beforeWrite: () => {},
  afterCommit: () => {},
  beforeGrave: () => {},
  beforePublish: () => {},
};
