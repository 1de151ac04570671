/** Limits of a browser's life, and the observer of browsers. */

export interface FleetSandbox {
  isOn: boolean;
  /** True: a browser that fails to start with it is not started without. */
  isRequired: boolean;
}

/** Why a browser opens nothing more. `lost`: it ended by itself. */
export const RETIRE_REASONS = ['pages', 'age', 'memory', 'hung', 'lost'] as const;
export type RetireReason = (typeof RETIRE_REASONS)[number];

/** Told of the starts and ends of browsers. */
export interface BrowserObserver {
  launched(): void;
  retired(reason: RetireReason): void;
  /** The tab of a page, or its browser, crashed. */
  crashed(): void;
  /** A browser did not start with its sandbox. From now on browsers start without. */
  unsandboxed(why: string): void;
}

/** Limits after which a browser is retired. */
export interface BrowserLimits {
  pages: number;
  ageMs: number;
  memoryBytes: number;
  /** Above this it endangers the machine, and is ended at once with its pages. */
  fatalBytes: number;
}

/** A browser program, and its use. */
export interface Program {
  readonly executablePath: string;
  isSandboxed: boolean;
  /** Pages on show. */
  busy: number;
  /** When a page was last shown or closed, monotonic. */
  usedAt: number;
}

/** Thrown when a tab's renderer or its browser has died under a page. */
export class TabLost extends Error {
  /** @param cause what the page failed with */
  constructor(cause?: unknown) {
    super('the tab or its browser has crashed', { cause });
  }
}
