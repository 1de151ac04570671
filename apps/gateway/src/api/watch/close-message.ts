/** The last message of a watch, in the words of each kind of client (docs/api/crawl.md, "WebSocket"). */
import { type Dialect } from './handshake.js';

export const CLOSE = {
  done: 1000,
  goingAway: 1001,
  refused: 1008,
  tooBig: 1009,
  fault: 1011,
  tryLater: 1013,
  unauthorized: 3000,
} as const;

export type Ending =
  | { type: 'completed' }
  | { type: 'cancelled' }
  | { type: 'failed'; error: string }
  /** The watch was not allowed. */
  | { type: 'refused'; code: 1008 | 3000; error: string }
  /** The watch ends before the job: the client goes on by asking for the status. */
  | { type: 'brokenOff'; code: 1001 | 1009 | 1011 | 1013; error: string };

/** The last frame and the close frame of a watch. */
export interface CloseMessage {
  /** A last frame for clients that read frames; null: the reason of the close frame is enough. */
  frame: string | null;
  code: number;
  reason: string;
}

/** Limit of a close frame's reason, in UTF-8. */
const MAX_REASON_BYTES = 123;
const DONE = '{"type":"done"}';

/**
 * A `done` frame would be a second end to all clients but those that never see the first. An `error` frame ends a v2
 * watch for good, so it is kept from watches that are only broken off.
 */
export function closeMessageOf(ending: Ending, dialect: Dialect): CloseMessage {
  switch (ending.type) {
    case 'completed':
      return { frame: dialect === 'frames' ? DONE : null, code: CLOSE.done, reason: DONE };
    case 'cancelled':
      return { frame: null, code: CLOSE.done, reason: DONE };
    case 'failed':
      return dialect === 'v2'
        ? { frame: errorText(ending.error), code: CLOSE.done, reason: DONE }
        : trouble(dialect === 'frames', CLOSE.fault, ending.error);
    case 'refused':
      return trouble(dialect !== 'reason', ending.code, ending.error);
    case 'brokenOff':
      return trouble(dialect === 'frames', ending.code, ending.error);
  }
}

function trouble(hasFrame: boolean, code: number, error: string): CloseMessage {
  return { frame: hasFrame ? errorText(error) : null, code, reason: shortReason(error) };
}

function errorText(error: string): string {
  return JSON.stringify({ type: 'error', error });
}

/** JSON of the error in no more bytes than a close frame has room for. */
function shortReason(error: string): string {
  const characters = Array.from(error.slice(0, MAX_REASON_BYTES));
  let reason = errorText(error);
  while (Buffer.byteLength(reason) > MAX_REASON_BYTES) {
    characters.pop();
    reason = errorText(`${characters.join('')}…`);
  }
  return reason;
}
