/** A page on show, and what actions and pictures need beside it. */
import type { Page } from 'playwright-core';
import type { CaptureRoom } from './capture-room.js';

export interface Stage {
  page: Page;
  /** Fires when the time of the request is up, or its caller has gone. */
  signal: AbortSignal;
  room: CaptureRoom;
  /** Warnings for the reader of the document. */
  warnings: string[];
  /** The page as it is now, as HTML. */
  html(): Promise<string>;
  /** Nothing that the page asked for is under way. */
  isQuiet(): boolean;
  /** Resolves when the page rests, or after `limitMs`. Never rejects. */
  settle(limitMs: number): Promise<void>;
}
