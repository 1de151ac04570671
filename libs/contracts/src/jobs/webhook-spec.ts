/** Who wants to hear of a job's progress, and the events there are to hear of (docs/api/webhooks.md). */
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

/** What a caller hears of who names no events: all but `cancelled`, which only those get who ask for it. */
export function defaultWebhookEvents(kind: JobKind): readonly WebhookEvent[] {
  return WEBHOOK_EVENTS_OF[kind].filter((event) => event !== 'cancelled');
}

/** The event between start and end that there may be many of: a page of most jobs, an action of an agent. */
export function manifoldEvent(kind: JobKind): 'page' | 'action' {
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
 * pages at which the job has ended so far.
 */
export const START_EVENT = 0;

/** How a job ended, as its last event tells it. */
export interface JobEnd {
  status: Exclude<JobStatus, 'scraping'>;
  error: string | null;
}

export type EventPlace = { what: 'start' } | { what: 'page'; ord: number } | { what: 'end'; nth: number };

/** Number of the nth end, from 0. @param ends counts of pages at the ends of the job so far, in their order */
export function endEventOf(ends: readonly number[], nth: number): number {
  return ends[nth]! + 1 + nth;
}

/** What an event is, given all ends that came before it. */
export function placeOf(eventNo: number, ends: readonly number[]): EventPlace {
  if (eventNo === START_EVENT) return { what: 'start' };
  const later = ends.findIndex((_, nth) => endEventOf(ends, nth) >= eventNo);
  if (later !== -1 && endEventOf(ends, later) === eventNo) return { what: 'end', nth: later };
  return { what: 'page', ord: eventNo - (later === -1 ? ends.length : later) };
}

/** The key by which a receiver tells repeats: UUIDv5 of (job, event number), the same after any crash. */
export function webhookIdOf(job: Uuid, eventNo: number): Uuid {
  return uuidOf(job, String(eventNo));
}

/** Whether a receiver took an event: any 2xx. */
export function isDelivered({ status }: { status: number | null }): boolean {
  return status !== null && status >= 200 && status < 300;
}
