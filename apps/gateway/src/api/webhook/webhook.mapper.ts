import {
  defaultWebhookEvents,
  meansEvent,
  WEBHOOK_EVENTS_OF,
  WEBHOOK_SUBJECTS,
  type JobKind,
  type WebhookEvent,
  type WebhookSpec,
} from '@troupe/contracts';
import type { WebhookInput } from './webhook.field.js';

/** The webhook of any version's body -> the model. */
export function webhookSpecFrom(input: WebhookInput | undefined, kind: JobKind): WebhookSpec | null {
  if (input === undefined) return null;
  const { url, headers, metadata, events } = typeof input === 'string' ? { url: input } : input;
  return {
    url: new URL(url).href,
    headers: headers ?? {},
    metadata: JSON.stringify(metadata ?? {}),
    events: wantedEvents(events ?? [], kind),
  };
}

/** A list may name events of several kinds of job; none at all means the usual ones. */
function wantedEvents(names: readonly string[], kind: JobKind): readonly WebhookEvent[] {
  if (names.length === 0) return defaultWebhookEvents(kind);
  const subject = WEBHOOK_SUBJECTS[kind];
  return WEBHOOK_EVENTS_OF[kind].filter((event) => names.some((name) => meansEvent(name, `${subject}.${event}`)));
}
