import type { NatsContext } from '@troupe/messaging';

/** Fires when the caller gives up; never for callers that cannot say so. */
export function callerOf(context: NatsContext): AbortSignal {
  return context.signal ?? new AbortController().signal;
}
