/** Why an action could not be done, in words for its caller. */
import { isTroupeError, TroupeError, type Action } from '@troupe/contracts';

export class ActionFailure extends Error {}

const MAX_REASON_CHARS = 300;
/** The page's process or its whole browser is gone: no fault of the action. */
const PAGE_LOST = /has been closed|target crashed|page crashed|browser has disconnected/i;
/** The document, the frame or the element went away while it was looked at. */
const GONE =
  /context was destroyed|cannot find context|navigated or closed|not attached|frame (was|has been) detached|frame got detached|promise was collected|unable to adopt/i;

export function isGone(error: unknown): boolean {
  return error instanceof Error && GONE.test(error.message);
}

export function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError';
}

/** Turns the error of an action into the error of its scrape. The loss of the page is passed on as it is. */
export function actionError(index: number, { type }: Action, error: unknown): unknown {
  if (error instanceof Error && PAGE_LOST.test(error.message)) return error;
  return new TroupeError('SCRAPE_ACTION_ERROR', `Action ${index} (${type}) failed: ${reasonOf(error)}`);
}

function reasonOf(error: unknown): string {
  if (isGone(error)) return 'the page or the element went away meanwhile';
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const isOurs = error instanceof ActionFailure || isTroupeError(error);
  // Playwright begins with the name of its method.
  return (isOurs ? line : line.replace(/^\w+\.\w+: /, '')).slice(0, MAX_REASON_CHARS);
}
