/**
 * A job's events, sent in the turn that makes them true: its beginning, the number of stored pages, its end. A client's
 * job tells its delivery actor, if there is a webhook; a job that fetches pages for another one tells that one.
 */
import type { Effect } from '@troupe/actors';
import { actorKey, type ActorKey, type JobEvent, type WebhookEvent, type WebhookSpec } from '@troupe/contracts';
import type { JobMemory, JobState } from './job.state.js';

/** The pages of this time are told of together. */
const TELL_EVERY_MS = 250;

/**
 * @param ended the job ended in this turn
 * @param news of this turn, for the listener of a client's job
 */
export function tellListener(
  state: JobState,
  memory: JobMemory,
  now: number,
  ended: boolean,
  news: readonly WebhookEvent[] = [],
): Effect[] {
  const listener = listenerOf(state);
  if (listener === null) return [];
  const events: JobEvent[] = [];
  if (state.told < 0) {
    events.push(...startOf(state));
    state.told = 0;
  }
  if (!isChild(state)) events.push(...news.map((name) => markOf(state, name)));
  if (ended && state.status !== 'scraping') {
    events.push(endOf(state));
    state.told = state.ord;
  } else if (hasUntoldPages(state) && memory.tellAt <= now) {
    events.push({ type: 'JobEvent', event: 'pages', uptoOrd: state.ord });
    state.told = state.ord;
    memory.tellAt = now + TELL_EVERY_MS;
  }
  return events.map((msg) => ({ t: 'send', to: listener, cls: 'pair', msg }));
}

export function hasUntoldPages(state: JobState): boolean {
  return listenerOf(state) !== null && state.ord > state.told;
}

/** Whether the job fetches pages for another one, which pays for them. */
export function isChild(state: JobState): boolean {
  return state.spec?.parent !== undefined;
}

function listenerOf(state: JobState): ActorKey | null {
  if (state.spec?.parent !== undefined) return state.spec.parent;
  return webhookOf(state) === null ? null : actorKey('delivery', state.job);
}

/** A parent knows its children: it has started them. */
function startOf(state: JobState): JobEvent[] {
  const webhook = webhookOf(state);
  if (isChild(state) || webhook === null) return [];
  const { job, jobNo, team, kind } = state;
  return [{ type: 'JobEvent', event: 'started', job, jobNo, team, kind, webhook }];
}

function markOf({ ord }: JobState, name: WebhookEvent): JobEvent {
  return { type: 'JobEvent', event: 'mark', uptoOrd: ord, name };
}

function endOf(state: JobState): JobEvent {
  const status = state.status === 'scraping' ? 'completed' : state.status;
  const end = { type: 'JobEvent', event: 'terminal', uptoOrd: state.ord, status, error: state.error } as const;
  const pages = (state.outcomes.failed ?? 0) + (state.outcomes.robots ?? 0);
  return !isChild(state) || pages === 0 ? end : { ...end, lost: { pages, reason: state.lostReason ?? 'unknown' } };
}

/** Jobs that began under a version without webhooks have no such key. */
function webhookOf(state: JobState): WebhookSpec | null {
  return state.spec?.webhook ?? null;
}
