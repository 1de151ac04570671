/** Where a simulated process may die. The simulation throws `CrashError` there and forgets the process. */
export class CrashError extends Error {
  constructor(where: string) {
    super(`simulated crash: ${where}`);
    this.name = 'CrashError';
  }
}

/** Thrown when an invariant of design/failure-matrix.md does not hold. */
export class InvariantError extends Error {
  constructor(
    readonly invariant: string,
    detail: string,
  ) {
    super(`${invariant}: ${detail}`);
    this.name = 'InvariantError';
  }
}

export interface FaultPoints {
  beforeCommit(part: number): void;
  afterCommit(part: number): void;
  beforePublish(): void;
}

export const NO_FAULTS: FaultPoints = { beforeCommit: () => {}, afterCommit: () => {}, beforePublish: () => {} };
