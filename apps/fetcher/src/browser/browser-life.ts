/** When browsers have served long enough, and what is told of them. */

export interface FleetSandbox {
  isOn: boolean;
  /** A browser that does not start with it does not start. */
  isRequired: boolean;
}

/** Why a browser opens nothing more. `lost`: it ended by itself. */
export const RETIRE_REASONS = ['pages', 'age', 'memory', 'hung', 'lost'] as const;
export type RetireReason = (typeof RETIRE_REASONS)[number];

/** Told what becomes of browsers. */
export interface BrowserObserver {
  launched(): void;
  retired(reason: RetireReason): void;
  /** The tab of a page, or its browser, crashed. */
  crashed(): void;
  /** A browser did not start with its sandbox, and from now on they start without. */
  unsandboxed(why: string): void;
}

/** When a browser has served long enough. */
export interface BrowserLimits {
  pages: number;
  ageMs: number;
  memoryBytes: number;
  /** With so much it endangers the machine: it ends at once, and its pages with it. */
  fatalBytes: number;
}

/** A program that shows pages, and who uses it. */
export interface Program {
  readonly executablePath: string;
  isSandboxed: boolean;
  /** Pages on show. */
  busy: number;
  /** When a page was last shown or closed, monotonic. */
  usedAt: number;
}
