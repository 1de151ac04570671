/**
 * State of a crawl or batch: the part that must survive, small enough to be written in every turn. Large sets live in
 * tables. `JobMemory` is kept beside the state and rebuilt from the tables.
 */
import type {
  BatchSpec,
  CrawlSpec,
  Fingerprint,
  FrontierRow,
  HostState,
  PageJobKind,
  PageJobStart,
  JobNo,
  JobStatus,
  LaneRow,
  MendedCounters,
  Outcome,
  ScopeSpec,
  TrackedPage,
  Uuid,
} from '@troupe/contracts';
import type { Claim } from '@troupe/politeness';
import { createClaim } from '@troupe/politeness';
import { FingerprintSet } from '@troupe/frontier';
import { BrowserNeed } from './browser-need.js';
import { trimmedSpec } from './trimmed-spec.js';
import type { PendingSitemap } from './sitemap-window.js';

/**
 * - `idle`: no Start yet. `running`: pages may start.
 * - `closing`: the client sees a terminal status; slots and tokens are being handed back. `over`: terminal.
 */
export type Phase = 'idle' | 'running' | 'closing' | 'over';

/** One sitemap file that is being read. */
export interface OpenSitemap {
  url: string;
  level: number;
  /** Next chunk expected. */
  next: number;
  /** The file was not announced (`/sitemap.xml`), so its absence is no error. */
  guessed: boolean;
  /** No room for more candidates: asked for again when the frontier has shrunk. */
  waiting: boolean;
  /** Children of chunk `next` that were taken in: it is an index, and is read on when they have been read. Absent: all at once. */
  taken?: number;
}

/** A host is not treated as its settings allow. */
export type SlowState = Exclude<HostState, 'open'>;

/** A job's record of such a host. Times by the wall clock, in ms. */
export interface SlowHost {
  /** null: as its settings allow, for the moment. */
  state: SlowState | null;
  since: number;
  /** Spent in each state until `since`. */
  ms: Partial<Record<SlowState, number>>;
  /** The job's own newest trouble there, like `429 at https://…`; absent: it had none. */
  trouble?: string;
}

export interface JobState {
  /** It was cancelled before its start came. @default false */
  cancelled?: boolean;
  phase: Phase;
  kind: PageJobKind;
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  keyId: Uuid | null;
  createdMs: number;
  spec: CrawlSpec | BatchSpec | null;
  /**
   * The parts of the spec's scope that the redirect of the start page has changed (see `scopeOf`); null for batches.
   */
  scope: Pick<ScopeSpec, 'base' | 'version'> | null;
  limit: number;
  /** Seeds of a batch: the next one to move into the frontier, and how many there are. */
  seeds: { next: number; total: number };
  /** No lane and no kickoff work starts; running ones go on. */
  paused: boolean;
  /** Number of the newest pause or resume that is known. */
  pauseV: number;
  nextItem: number;
  nextLane: number;
  nextFile: number;
  /** Admitted URLs; equals ready + inflight + the sum of `outcomes`. */
  discovered: number;
  ready: number;
  inflight: number;
  /** Items that used up a unit of the limit. */
  counted: number;
  /** Stored documents = ordinal of the newest one. */
  ord: number;
  credits: number;
  /** Highest total ever shown; never shrinks while running. */
  shownTotal: number;
  outcomes: Partial<Record<Outcome, number>>;
  excluded: Partial<Record<string, number>>;
  excludedKept: number;
  /** Candidates were left out because the spare cap was reached. */
  truncated: boolean;
  /**
   * No URL is admitted any more: the most that may end without using up a unit of the limit have done so. @default
   * false
   */
  full?: boolean;
  robotsKnown: boolean;
  /** Sitemaps of robots.txt that were taken in; it is read again for the others. @default 0 */
  robotsTaken?: number;
  openSitemaps: Record<string, OpenSitemap>;
  pendingSitemaps: PendingSitemap[];
  sitemapsSeen: number;
  /** Why the start page gave no document; decides between completed and failed. */
  startError: string | null;
  status: JobStatus;
  error: string | null;
  hosts: Record<string, Claim>;
  tokens: Claim;
  /** Versions of Demands grow over the whole job, so that a claim that is made anew is never taken for an old one. */
  demandV: number;
  /** Why the first page without a document has none, in a job that fetches pages for another job. */
  lostReason?: string;
  /** Position in the histories that were read, and whether it is their end; absent: none were read. */
  history?: { after: Fingerprint | null; isOver: boolean };
  /** Newest ordinal that the listener was told of; -1 = not even the start. Unused without a listener. */
  told: number;
  /** Hosts that are or were slowed, paused, held or down while the job ran; absent: none. */
  slow?: Record<string, SlowHost>;
}

/** Scope after re-basing on the start page's redirect; null for batches. */
export function scopeOf({ spec, scope }: JobState): ScopeSpec | null {
  return scope === null ? null : { ...(spec as CrawlSpec).scope, ...scope };
}

export const SEED_ITEM = 1;
/** Number of a job that has not begun. */
export const UNKNOWN_JOB: JobNo = '0';
/** Work of histories that a fetcher was asked for, among the kicks. */
export const HISTORY_KICK = 'history';

export function emptyState(kind: PageJobKind): JobState {
  return {
    phase: 'idle',
    kind,
    job: '',
    jobNo: UNKNOWN_JOB,
    team: '',
    keyId: null,
    createdMs: 0,
    spec: null,
    scope: null,
    limit: 0,
    seeds: { next: 0, total: 0 },
    paused: false,
    pauseV: 0,
    nextItem: SEED_ITEM,
    nextLane: 1,
    nextFile: 1,
    discovered: 0,
    ready: 0,
    inflight: 0,
    counted: 0,
    ord: 0,
    credits: 0,
    shownTotal: 0,
    outcomes: {},
    excluded: {},
    excludedKept: 0,
    truncated: false,
    robotsKnown: false,
    openSitemaps: {},
    pendingSitemaps: [],
    sitemapsSeen: 0,
    startError: null,
    status: 'scraping',
    error: null,
    hosts: {},
    tokens: createClaim(),
    demandV: 0,
    told: -1,
  };
}

/** @param isLost the job fails at once, and its options are not kept */
export function begin(state: JobState, start: PageJobStart, isLost = false): void {
  state.phase = 'running';
  state.job = start.job;
  state.jobNo = start.jobNo;
  state.team = start.team;
  state.keyId = start.keyId;
  state.createdMs = start.createdMs;
  state.spec = isLost ? trimmedSpec(start.spec) : start.spec;
  if (start.kind === 'crawl') {
    const { base, version } = start.spec.scope;
    state.scope = { base, version };
    state.limit = start.spec.limit;
    return;
  }
  // Seeds may have been appended before this came.
  state.seeds.total = Math.max(start.total, state.seeds.total);
  state.limit = state.seeds.total;
}

/** A lane in flight. */
export interface LiveLane {
  row: LaneRow;
  /** Items without a result yet, in running order. */
  left: Set<number>;
  /** Without a message until then the lane is published again (queued) or given up (started). */
  deadlineAt: number;
  publishes: number;
  /** Class of fetchers that it is for. */
  cls: 'http' | 'browser';
  /** One of its pages was read without a browser. */
  didWithout: boolean;
}

/** When a level message to a pool is due again. */
export interface Repeat {
  at: number;
  waitMs: number;
}

/** The known state of a host besides the claim on its slots. */
export interface HostView {
  /** Its pool has told the job to rest until then. */
  pauseUntil: number;
  /** A lane of this job met only trouble: none starts before this time, whatever the pool says. */
  holdUntil: number;
  state: HostState;
  /** When its rate was last cut for 429s; null: not lately. */
  limitedAt: number | null;
  /** Its ready rows will not be fetched any more. */
  givenUp: boolean;
  /** It answers some URLs and fails others, for long. */
  deaf: boolean;
  gapMs: number;
  /** Mean time in ms to fetch a page of it, as its pool has heard; null: unknown. */
  meanMs: number | null;
  /**
   * Mean time in ms of a page in lanes of this job, with its conversion and without the gap; null before the first lane
   * has ended.
   */
  paceMs: number | null;
}

export const UNKNOWN_HOST: Readonly<HostView> = {
  pauseUntil: 0,
  holdUntil: 0,
  state: 'open',
  limitedAt: null,
  givenUp: false,
  deaf: false,
  gapMs: 0,
  meanMs: null,
  paceMs: null,
};

/** No lane may start there now. */
export function isAtRest(view: Readonly<HostView> | undefined, now: number): boolean {
  if (view === undefined) return false;
  return view.state === 'down' || view.state === 'held' || view.pauseUntil > now || view.holdUntil > now;
}

export class JobMemory {
  /** Undispatched rows by host, each in frontier order; hosts in round-robin order. */
  readonly window = new Map<string, FrontierRow[]>();
  windowSize = 0;
  /** All open rows are known, here or by number. */
  isCounted = false;
  /** Counters that were wrong when this was loaded, until they are reported. */
  mended: MendedCounters | null = null;
  /**
   * Ready rows that wait for their next try, by item, and when that may be. They are not in the window, so no other row
   * waits behind them.
   */
  readonly waiting = new Map<number, { row: FrontierRow; until: number }>();
  /** Number of them by host. */
  readonly waitingOn = new Map<string, number>();
  /** Number of them that only a fetcher with a browser may have, by host. */
  readonly browserRows = new Map<string, number>();
  readonly browserNeed = new BrowserNeed();
  readonly inflight = new Map<number, { row: FrontierRow; lane: number }>();
  readonly lanes = new Map<number, LiveLane>();
  readonly lanesByHost = new Map<string, number>();
  readonly known = new FingerprintSet();
  /** Links left out whose rows were written; empty after a change of owner. */
  readonly leftOut = new FingerprintSet();
  readonly hosts = new Map<string, HostView>();
  readonly repeats = new Map<string, Repeat>();
  /** Kickoff work without an answer yet, by `robots` or file number. */
  readonly kicks = new Map<string, { at: number; tries: number }>();
  /** Pages of the histories that were read for this turn. */
  history: readonly TrackedPage[] | null = null;
  /** Start of the newest page, for `delay`. */
  nextStartAt = 0;
  progressAt = 0;
  progressDue = false;
  /** When the delivery actor may be told of pages again. */
  tellAt = 0;
  tickAt: number | null = null;
  /** Pools that have confirmed that nothing is held or wished for any more. */
  readonly released = new Set<string>();
  /** When the job began to close, null before. */
  closingSince: number | null = null;
}
