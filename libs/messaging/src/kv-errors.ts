import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';

/** The compare of a compare-and-set failed: the key has another revision than the one given. */
export function isRevisionConflict(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  return (
    error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown
  );
}
