/**
 * Tells a process that is gone from one that only stands still. Each listens on a subject of its own; when none does, NATS
 * says so at once. A process that stands still keeps its connection, and one that has lost it comes back within a
 * second: so only repeated absence counts.
 */
import { NoRespondersError, RequestError, type Subscription } from '@nats-io/nats-core';
import { presenceSubject } from '@troupe/contracts';
import type { NatsLink } from './nats-link.js';

/** Questions in a row to which NATS must find no listener. */
export const ABSENCES = 3;
/** Time between two of them; also the longest wait for an answer. */
export const ASK_EVERY_MS = 500;

export type Asking = Pick<NatsLink, 'nc' | 'isUp'>;

/** Makes this process known under `id`, until the subscription is ended. */
export function announcePresence(link: Asking, id: string): Subscription {
  return link.nc.subscribe(presenceSubject(id), { callback: (error, msg) => void (error ?? msg.respond()) });
}

/** True when no process is connected under `id` right now. A process that does not answer in time is not absent. */
export async function isAbsent(link: Asking, id: string, waitMs = ASK_EVERY_MS): Promise<boolean> {
  if (!link.isUp()) return false;
  try {
    await link.nc.request(presenceSubject(id), undefined, { timeout: waitMs });
    return false;
  } catch (error) {
    return isNobodyThere(error);
  }
}

function isNobodyThere(error: unknown): boolean {
  return error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders());
}
