/**
 * Table effects of a turn: what an actor wants written, in job-model words. The persistence adapter groups the rows
 * of all actors of a drain and runs one set-based statement per kind (docs/design/data-model.md, "Tables of jobs").
 */
import type { HostRecord } from './hosts.js';
import type { Fingerprint, JobNo, Uuid } from './ids.js';
import type { Outcome } from './outcomes.js';
import type { JobStatus } from './jobs/job.js';
import type { WebhookEvent } from './jobs/webhook-spec.js';
import type { PostResult } from './messages/actor.js';

/** Stands for a parent when no page of the job named the URL but a history of earlier scrapes did. No item has this number. */
export const FROM_HISTORY = 0;

/** A URL that may be new to a job. */
export interface Candidate {
  jobNo: JobNo;
  depth: number;
  /** Identity of the URL in its job; assigned by the actor, gaps allowed. */
  item: number;
  host: string;
  url: string;
  h: Fingerprint;
  /** Item of the page that named it, or `FROM_HISTORY`; null for start pages, seeds and sitemaps. */
  parent: number | null;
}

/** Why an undispatched URL is not fetched now; the ledger says it. Those of a host come from the state of the host. */
export const WAIT_RULES = ['retry-later', 'robots-unreadable', 'host-slowed', 'host-paused', 'host-down'] as const;
export type WaitRule = (typeof WAIT_RULES)[number];

/** An undispatched or running URL. `st` 0 ready, 1 in a lane. `browser`: a fetcher without one has handed it back. */
export interface FrontierRow {
  depth: number;
  item: number;
  host: string;
  url: string;
  h: Fingerprint | null;
  parent: number | null;
  /** Failures that count: the third one ends it. */
  attempt: number;
  st: 0 | 1;
  browser: boolean;
  /** How often it was tried. @default 0 */
  tries?: number;
  /** Left of its wait for the next try, ms. A duration: no clock of another process matters. @default null: it does not wait */
  waitMs?: number | null;
}

export interface LaneRow {
  lane: number;
  host: string;
  slot: { i: number; gen: number };
  token: { i: number; gen: number };
  items: { item: number; depth: number }[];
  run: Uuid | null;
}

export type RowOp =
  | {
      op: 'frontier.mark';
      jobNo: JobNo;
      depth: number;
      item: number;
      st: 0 | 1;
      attempt: number;
      browser: boolean;
      /** @default 0 */
      tries?: number;
      /** Not to be tried before so many ms from now. @default null: at any time */
      waitMs?: number | null;
      /** The rule that it waits for. @default null */
      rule?: WaitRule | null;
    }
  | { op: 'frontier.delete'; jobNo: JobNo; depth: number; item: number }
  | ({ op: 'lane.insert'; jobNo: JobNo } & LaneRow)
  | { op: 'lane.started'; jobNo: JobNo; lane: number; run: Uuid }
  | { op: 'lane.delete'; jobNo: JobNo; lane: number }
  | {
      op: 'page.insert';
      jobNo: JobNo;
      /** 1-based place in the result list, gapless. */
      ord: number;
      item: number;
      url: string;
      finalUrl: string;
      statusCode: number;
      depth: number;
      bytes: number;
      blob: string | null;
      /** base64 of the packed document. */
      inline: string | null;
      credits: number;
    }
  | {
      op: 'outcome.insert';
      jobNo: JobNo;
      item: number;
      url: string;
      parent: number | null;
      depth: number;
      outcome: Outcome;
      rule: string | null;
      statusCode: number | null;
      bytes: number | null;
      ms: number | null;
      engine: string | null;
      attempts: number;
    }
  | { op: 'excluded.insert'; jobNo: JobNo; h: Fingerprint; url: string; rule: string; parent: number | null }
  | { op: 'error.insert'; jobNo: JobNo; id: Uuid; url: string; code: string; message: string }
  | {
      op: 'job.update';
      jobNo: JobNo;
      status: JobStatus;
      total: number;
      completed: number;
      credits: number;
      error: string | null;
      warning: string | null;
      /** Seeds of a batch that the actor knows of; while more are recorded the job is not over. 0 for crawls. */
      seeds: number;
      /** Links left out so far, by scope rule. */
      excluded: Partial<Record<string, number>>;
      /** Tokens that models used for the job. @default unchanged */
      tokens?: number;
      /** Hosts of the job that are not treated as their settings allow, worst first. @default none */
      slowHosts?: string[];
      /** Sets finished_at and expires_at (now + result TTL) and fixes the final numbers. */
      finished: boolean;
    }
  /** Fails a job that its actor knows by its id alone, unless it has ended. */
  | { op: 'job.fail'; job: Uuid; error: string }
  /** How a host is treated from now on. */
  | ({ op: 'host.upsert' } & HostRecord)
  /** The receipt of a recorded command: it is not sent again. */
  | { op: 'command.delete'; id: Uuid }
  /** Cumulative per job. `pages`: documents delivered. */
  | { op: 'ledger.upsert'; jobNo: JobNo; team: Uuid; kind: string; keyId: Uuid | null; credits: number; pages: number }
  | {
      op: 'scrape.insert';
      id: Uuid;
      team: Uuid;
      keyId: Uuid | null;
      url: string;
      statusCode: number;
      credits: number;
      ms: number;
      atMs: number;
    }
  /** `final`: no further attempt follows by itself. */
  | ({ op: 'delivery.attempt'; jobNo: JobNo; attempt: number; final: boolean } & PostResult)
  /** The job ended, not always for the last time: this is the number of that event. */
  | { op: 'delivery.end'; jobNo: JobNo; eventNo: number; status: WebhookEvent }
  /** The event is tried once more: its last attempt is not final after all. */
  | { op: 'delivery.reopen'; jobNo: JobNo; eventNo: number; attempt: number };

/** Counters of a job that did not say what its tables hold, and what they were set to. */
export interface MendedCounters {
  job: Uuid;
  inflight: { was: number; is: number };
  ready: { was: number; is: number };
}

/** Pages of one site that a team's scrapes have tracked under one tag, in the order of their histories. */
export interface HistoryRange {
  team: Uuid;
  /** null = the default histories. */
  tag: string | null;
  /** Fingerprint of the `siteKey` that their URLs share. */
  siteH: Fingerprint;
  /** Place of the last page that is known already; null = from the first one on. */
  after: Fingerprint | null;
  limit: number;
}

export interface TrackedPage {
  /** Its place among the histories. */
  urlH: Fingerprint;
  /** Canonical. */
  url: string;
}

/** Memory of a job actor beside its state, rebuilt from tables when it is activated. */
export interface JobMemory {
  lanes: LaneRow[];
  /** Rows of running lanes. */
  running: FrontierRow[];
  /** First rows that are in no living lane, by (depth, item), at most the asked number. */
  ready: FrontierRow[];
  /** All open rows, as far as they were to be counted; absent when `ready` holds whatever is not running. */
  open?: number;
  /** The asked range of histories; fewer than its limit: there are no more. */
  history?: TrackedPage[];
}
