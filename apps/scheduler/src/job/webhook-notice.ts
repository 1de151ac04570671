/**
 * What a job tells its delivery actor, in the turn that makes it true: that it began, how many pages are stored, how it
 * ended. Nothing at all without a webhook.
 */
import type { Effect } from '@troupe/actors';
import { actorKey, type JobEvent, type WebhookSpec } from '@troupe/contracts';
import type { JobMemory, JobState } from './job.state.js';

/** A burst of pages is told of together. */
const TELL_EVERY_MS = 250;

/** @param ended the job ended in this turn */
export function tellDelivery(state: JobState, memory: JobMemory, now: number, ended: boolean): Effect[] {
  const webhook = webhookOf(state);
  if (webhook === null) return [];
  const events: JobEvent[] = [];
  if (state.told < 0) {
    const { job, jobNo, team, kind } = state;
    events.push({ type: 'JobEvent', event: 'started', job, jobNo, team, kind, webhook });
    state.told = 0;
  }
  if (ended && state.status !== 'scraping') {
    events.push({ type: 'JobEvent', event: 'terminal', uptoOrd: state.ord, status: state.status, error: state.error });
    state.told = state.ord;
  } else if (hasUntoldPages(state) && memory.tellAt <= now) {
    events.push({ type: 'JobEvent', event: 'pages', uptoOrd: state.ord });
    state.told = state.ord;
    memory.tellAt = now + TELL_EVERY_MS;
  }
  return events.map((msg) => ({ t: 'send', to: actorKey('delivery', state.job), cls: 'pair', msg }));
}

export function hasUntoldPages(state: JobState): boolean {
  return webhookOf(state) !== null && state.ord > state.told;
}

/** Jobs that began under a version without webhooks have no such key. */
function webhookOf(state: JobState): WebhookSpec | null {
  return state.spec?.webhook ?? null;
}
