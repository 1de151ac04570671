/** The receiver of a job's progress, and the events that there are (docs/api/webhooks.md). */
import { uuidOf, type Uuid } from '../ids.js';
import type { JobKind, JobStatus } from './job.js';

export const WEBHOOK_EVENTS = ['started', 'page', 'action', 'completed', 'failed', 'cancelled'] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

const PAGE_EVENTS: readonly WebhookEvent[] = ['started', 'page', 'completed', 'failed', 'cancelled'];

/** The events of each kind of job. */
export const WEBHOOK_EVENTS_OF: Record<JobKind, readonly WebhookEvent[]> = {
  crawl: PAGE_EVENTS,
  batch: PAGE_EVENTS,
  extract: ['started', 'completed', 'failed'],
  agent: ['started', 'action', 'completed', 'failed', 'cancelled'],
};

/** The events for a caller that names none: all but `cancelled`, which is sent only to those that ask for it. */
export function defaultWebhookEvents(kind: JobKind): readonly WebhookEvent[] {
  return WEBHOOK_EVENTS_OF[kind].filter((event) => event !== 'cancelled');
}

/** The event between start and end that may come many times: a page of most jobs, an action of an agent. */
export function repeatedEvent(kind: JobKind): 'page' | 'action' {
  return kind === 'agent' ? 'action' : 'page';
}

export interface WebhookSpec {
  /** Absolute, http or https. */
  url: string;
  /** Sent with every delivery; the names that a delivery owns are overridden. */
  headers: Record<string, string>;
  /** The caller's metadata as JSON text: `jsonb` reorders keys, and a retry must repeat the same bytes. */
  metadata: string;
  events: readonly WebhookEvent[];
}

/** First word of an event's full name (`crawl.page`). */
export const WEBHOOK_SUBJECTS: Record<JobKind, string> = {
  crawl: 'crawl',
  batch: 'batch_scrape',
  extract: 'extract',
  agent: 'agent',
};

/** Whether a word of a list means an event: its full name, or the last one or two parts of it. */
export function meansEvent(word: string, fullName: string): boolean {
  const parts = fullName.split('.');
  return [parts.length, 2, 1].some((count) => word === parts.slice(-count).join('.'));
}

/**
 * Events of a job are numbered in their order: 0 is its start, its pages follow by ordinal, then comes its end. A completed
 * batch that is appended to goes on with further pages and another end. So an event's number follows from the counts of
 * pages at which the job has ended so far, and of those at which there was something else to tell.
 */
export const START_EVENT = 0;

/** How a job ended, as its last event tells it. */
export interface JobEnd {
  status: Exclude<JobStatus, 'scraping'>;
  error: string | null;
}

/**
 * Events between pages that are no end of the job, by their place among the ends: such an event is numbered as an end is.
 * Absent: there is none.
 */
export type EventMarks = Readonly<Record<number, WebhookEvent>>;

/** All that says what the events of a job are. */
export interface EventLog {
  kind: JobKind;
  /** Counts of pages at the ends of the job so far, and at its marks, in their order. */
  ends: readonly number[];
  /** The newest end; earlier ones were completions. */
  end: JobEnd | null;
  marks?: EventMarks;
}

export type EventPlace =
  | { what: 'start' }
  | { what: 'page'; ord: number }
  | { what: 'end'; nth: number }
  | { what: 'mark'; event: WebhookEvent };

/** Number of the nth end, from 0. @param ends counts of pages at the ends of the job so far, in their order */
export function endEventOf(ends: readonly number[], nth: number): number {
  return ends[nth]! + 1 + nth;
}

/** Where an event is, given all ends and marks that came before it. */
export function placeOf(eventNo: number, ends: readonly number[], marks: EventMarks = {}): EventPlace {
  if (eventNo === START_EVENT) return { what: 'start' };
  const later = ends.findIndex((_, nth) => endEventOf(ends, nth) >= eventNo);
  if (later !== -1 && endEventOf(ends, later) === eventNo) {
    const event = marks[later];
    return event === undefined ? { what: 'end', nth: later } : { what: 'mark', event };
  }
  return { what: 'page', ord: eventNo - (later === -1 ? ends.length : later) };
}

/** The name of an event. */
export function eventAt({ kind, ends, end, marks }: EventLog, eventNo: number): WebhookEvent {
  const place = placeOf(eventNo, ends, marks);
  switch (place.what) {
    case 'start':
      return 'started';
    case 'page':
      return repeatedEvent(kind);
    case 'mark':
      return place.event;
    case 'end': {
      const newest = ends.findLastIndex((_, nth) => marks?.[nth] === undefined);
      return place.nth === newest && end !== null ? end.status : 'completed';
    }
  }
}

/** The key by which a receiver tells repeats: UUIDv5 of (job, event number), the same after any crash. */
export function webhookIdOf(job: Uuid, eventNo: number): Uuid {
  return uuidOf(job, String(eventNo));
}

/** Whether a receiver took an event: any 2xx. */
export function isDelivered({ status }: { status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300;
}
