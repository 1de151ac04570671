/** Time as a dependency, so that the simulation owns it. */
export interface Clock {
  /** Milliseconds of a monotonic clock; only differences mean anything, and only in this process. */
  now(): number;
  /** Milliseconds since 1970, for what is shown to people. */
  wall(): number;
  sleep(ms: number): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wall: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Log of the runtime; the shape of pino, without depending on it. */
export interface RuntimeLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
