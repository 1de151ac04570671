import { setTimeout as sleep } from 'node:timers/promises';
import { isTroupeError } from '@troupe/contracts';

const TRIES = 5;
const RETRY_MS = 500;

/** Publishes again while the stream does not answer. @throws the last error, or the first that no repeat can help */
export async function publishWithRetry<M>(bus: { publishActor(mail: M): Promise<void> }, mail: M): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await bus.publishActor(mail);
    } catch (error) {
      if (tries >= TRIES || !isTroupeError(error) || !error.retryable) throw error;
      await sleep(RETRY_MS * tries);
    }
  }
}
