/**
 * State of a job's deliveries: a cursor over numbered events, and only those events by number that are out or failed.
 */
import type { EventMarks, JobEnd, JobKind, JobNo, Span, Uuid, WebhookSpec } from '@troupe/contracts';

/** Events handed to the dispatcher in one message. */
export interface Run {
  attempt: number;
  /** Without a result yet. */
  events: Span[];
  /** Times this was handed over without a word from the dispatcher since. */
  sends: number;
  /** Times in a row that a dispatcher handed it back because the receiver had no place for it. @default 0 */
  waits?: number;
  /** The operator or the team asked for it: its events are posted whatever their age. */
  isReplay?: true;
}

/** Failed events that are to be handed over. */
export type Due = Pick<Run, 'attempt' | 'events' | 'isReplay'>;

/** Age of events: those up to `upto` were known at `at` at the latest. */
export interface AgeMark {
  upto: number;
  at: number;
  /** Further events join a mark for a while. */
  since: number;
}

/** Events that failed about the same time and are tried again together. */
export interface RetryGroup {
  attempt: number;
  events: Span[];
  /** Further failures join until then; their timer was set for the first. */
  openUntil: number;
}

export interface DeliveryState {
  /** `idle`: not told of the job yet. `over`: every event is delivered or dead; a replay opens it again. */
  phase: 'idle' | 'open' | 'over';
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  kind: JobKind;
  webhook: WebhookSpec | null;
  /** Pages that are stored. */
  known: number;
  /** First event that was not handed over yet. */
  next: number;
  /** Counts of pages at which the job has ended (once, or more often when it is a batch that was appended to), and at its marks. */
  ends: number[];
  /** The newest of those ends; the others were completions. */
  end: JobEnd | null;
  /** Entries of `ends` that are marks and no ends. Absent in states of earlier releases. @default none */
  marks?: EventMarks;
  /** By number, like the next two. Numbers are used once in the life of the actor. */
  runs: Record<string, Run>;
  retries: Record<string, RetryGroup>;
  /** Failed events whose time has come. */
  due: Due[];
  nextNo: number;
  /** The oldest first. Absent in states of earlier releases. */
  ages?: AgeMark[];
  /** Newest replay commands, to recognise a repeated one. */
  replays: Uuid[];
}

export function emptyDelivery(): DeliveryState {
  return {
    phase: 'idle',
    job: '',
    jobNo: '0',
    team: '',
    kind: 'crawl',
    webhook: null,
    known: 0,
    next: 0,
    ends: [],
    end: null,
    runs: {},
    retries: {},
    due: [],
    nextNo: 1,
    replays: [],
  };
}
