/** Messages in actor mailboxes (stream ACT), each with its identity class (docs/design/actors.md, "Messages between actors"). */
import type { ActorKey, Fingerprint, JobNo, Uuid } from '../ids.js';
import type { ErrorCode } from '../errors.js';
import type { ExcludedLinks, Outlink } from '../convert.js';
import type { BatchSpec, CrawlSpec } from '../jobs/crawl-spec.js';
import type { JobKind } from '../jobs/job.js';
import type { JobEnd, WebhookEvent, WebhookSpec } from '../jobs/webhook-spec.js';
import type { HostState, HostTrouble } from '../hosts.js';
import type { Outcome } from '../outcomes.js';
import type { Span } from '../spans.js';
import type { TraceParent } from '../tracing.js';
import type { AgentSpec, ExtractSpec } from '../jobs/extract-spec.js';
import type { ModelBusy, ModelDone } from './model.js';
import type { EngineName, HistoryPart, PauseNews, Token } from './work.js';

// ---- gateway -> job actor: natural key (the job starts once, a cancel is a level)
export type PageJobStart =
  | {
      type: 'Start';
      kind: 'crawl';
      job: Uuid;
      jobNo: JobNo;
      team: Uuid;
      keyId: Uuid | null;
      spec: CrawlSpec;
      createdMs: number;
    }
  | {
      type: 'Start';
      kind: 'batch';
      job: Uuid;
      jobNo: JobNo;
      team: Uuid;
      keyId: Uuid | null;
      spec: BatchSpec;
      /** Seeds 0 … total-1 are in `job_seed`. */
      total: number;
      createdMs: number;
    };

/** A job that works with a model. */
export type ModelJobStart = {
  type: 'Start';
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  keyId: Uuid | null;
  createdMs: number;
} & ({ kind: 'extract'; spec: ExtractSpec } | { kind: 'agent'; spec: AgentSpec });
export type Start = PageJobStart | ModelJobStart;
export interface Cancel {
  type: 'Cancel';
  job: Uuid;
  /** Id of the recorded command, which its receipt names; absent from a parent, which repeats it itself. */
  cmd?: Uuid;
}
/**
 * More seeds of a batch, recorded before the command was: seeds 0 … toOrd-1 are in `job_seed` or were taken from it.
 * Level: the highest `toOrd` says all.
 */
export interface Append {
  type: 'Append';
  job: Uuid;
  /** Id of the recorded command; the actor's receipt names it. */
  cmd: Uuid;
  toOrd: number;
}
/** Level: the newest version says whether a crawl is paused. */
export interface Pause extends PauseNews {
  type: 'Pause';
  job: Uuid;
  /** Id of the recorded command; the actor's receipt names it. */
  cmd: Uuid;
}

// ---- fetcher -> job actor: natural key (lane + item still in flight)
export interface LaneStarted {
  type: 'LaneStarted';
  lane: number;
  run: Uuid;
}

/** One finished item. Exactly one `Outcome`; `outlinks` are already canonical, distinct and in scope. */
export interface PageResult {
  item: number;
  attempt: number;
  depth: number;
  outcome: Outcome;
  /** Error code of `failed`; scope rule or target URL of dropped outcomes; `REVALIDATED` or nothing of `ok`. */
  rule: string | null;
  message: string | null;
  statusCode: number;
  url: string;
  finalUrl: string;
  /** Fingerprint of `finalUrl` when it differs from the item's own, else null. */
  finalH: Fingerprint | null;
  /** The attempt may be repeated by the actor (transport failure, 429, 503). */
  retryable: boolean;
  /** With `retryable`: do not repeat before this many ms. */
  retryAfterMs: number | null;
  /** Uncompressed bytes of the stored JSON. */
  bytes: number;
  /** Exactly one of the two is set for `ok`: the packed document as base64, or the key of its blob. */
  inline: string | null;
  blob: string | null;
  credits: number;
  engine: EngineName | null;
  ms: number;
  scopeVersion: number;
  outlinks: Outlink[];
  excluded: ExcludedLinks | null;
}

export interface PagesDone {
  type: 'PagesDone';
  lane: number;
  run: Uuid;
  pages: PageResult[];
}

/**
 * The lane is over; results that were not flushed ride along. `unrun` items were not started, or handed back: those of
 * `browser` need one, which this fetcher has not.
 */
export interface LaneEnd {
  type: 'LaneEnd';
  lane: number;
  run: Uuid;
  reason: 'done' | 'drain' | 'penalty' | 'refused' | 'cancel' | 'pause';
  /** With `pause`: news that the fetcher has and the job did not have when it dispatched the lane. */
  pause?: PauseNews;
  ranMs: number;
  unrun: number[];
  /** @default none */
  browser?: number[];
  /** With `penalty`: no lane of this host before this many ms from receipt. @default 0 */
  retryMs?: number;
  /** With `penalty`: it is unknown what robots.txt of the host says, so its items wait. @default false */
  robotsUnreadable?: boolean;
  pages: PageResult[];
}

/** One part of a sitemap file. Natural key (file, chunk). */
export interface SitemapChunk {
  type: 'SitemapChunk';
  file: number;
  chunk: number;
  urls: Outlink[];
  /** Child sitemaps of an index. */
  children: string[];
  excluded: ExcludedLinks | null;
  /** No further chunk follows. */
  last: boolean;
  /** More chunks exist but were not read (see `Kick.maxChunks`). */
  more: boolean;
  error: { code: ErrorCode; message: string } | null;
}

/** Answer to `Kick history`: the pages that belong to the crawl. Natural key: where the part begins. */
export interface HistoryJudged {
  type: 'HistoryJudged';
  part: HistoryPart;
  links: Outlink[];
}

/** Answer to `Kick robots`; to the crawl (sitemaps, verdict on the start page) and to the domain (crawl-delay). Level. */
export interface RobotsDone {
  type: 'RobotsDone';
  host: string;
  /** HTTP status of robots.txt, 0 when it could not be fetched. */
  status: number;
  /** The answer states the host's rules. Otherwise the last known delay holds and the file is asked for again. @default true */
  ok?: boolean;
  crawlDelayMs: number | null;
  /** Retry-After in ms of an answer that is not `ok`. @default null */
  retryAfterMs?: number | null;
  sitemaps: string[];
  error: { code: ErrorCode; message: string } | null;
}

// ---- arbitration: level, newest version wins (docs/design/politeness.md, "Grants")
export interface Demand {
  type: 'Demand';
  claimant: string;
  /** Where the Grant goes: an actor, or `gw/<id>` for a gateway (core NATS `grant.<id>`). */
  replyTo: string;
  team: Uuid;
  want: number;
  held: Token[];
  /** Version of the newest Grant that was applied. */
  seenV: number;
  /** Lane time used since the start of the claim, cumulative ms. */
  ranMs: number;
  /** How long the claimant has wanted without holding any token, ms; absent: it does not say (older version). */
  waitedMs?: number;
  v: number;
  /** Domain only: the claimant obeys robots.txt, so crawl-delay counts. */
  robotsAgent: string | null;
  /** Domain only: scheme to ask robots.txt with. */
  origin: string | null;
}

export interface Grant {
  type: 'Grant';
  /** Key of the pool: `domain/<host>` or `team/<id>`. */
  pool: ActorKey;
  claimant: string;
  tokens: Token[];
  /** Lanes that may be run on a token before it is handed back; null = until revoked. */
  uses: number | null;
  /** Indexes to hand back after the running lane. */
  revoke: number[];
  v: number;
  /** Domain only: host policy for the lanes. */
  gapMs: number;
  /** Mean duration of one page on this host, for the size of lanes; null = unknown. */
  meanMs: number | null;
  /** Host rests: no lane before this many ms from receipt. */
  pauseMs: number;
  /** Domain only: how the host is treated. @default open */
  state?: HostState;
  /** Domain only: ms since the rate was last cut for 429s, null = not lately. */
  limitedMs?: number | null;
  /** Domain only: the host was down so long that its URLs are given up. @default false */
  givenUp?: boolean;
  /** Domain only: the host answers some URLs and fails others for long: tries are spread (30 s, 120 s). @default false */
  deaf?: boolean;
}

/** Seen by a fetcher on a host since its last report. Lossy: nothing is repeated. */
export interface HostFeedback {
  type: 'HostFeedback';
  host: string;
  /** Clean answers (any status but 429 and 503) and their mean duration. */
  ok: number;
  meanMs: number;
  /** One of the URLs that answered: what a probe may ask for. Absent for zero data retention and when there is none. */
  okUrl?: string;
  /** At most `MAX_TROUBLES`, in the order in which they were seen. */
  troubles: HostTrouble[];
  /** A probe of a host that is down has ended: whether it was clean. Its answer is not among the others. */
  probe?: { clean: boolean };
}

/** An operator's command: verdicts, votes and pauses of the host are forgotten, its rate is its settings' again. */
export interface HostRelease {
  type: 'HostRelease';
  host: string;
}

/** Credits of one sync scrape. Natural key: scrape id. */
export interface ScrapeUsage {
  type: 'ScrapeUsage';
  id: Uuid;
  team: Uuid;
  keyId: Uuid | null;
  credits: number;
  url: string;
  statusCode: number;
  ms: number;
  atMs: number;
}

// ---- webhooks of a job
/** An event that a receiver may be told of, from the job's actor. Pair: none is missed, none counts twice. */
export type JobEvent =
  | { type: 'JobEvent'; event: 'started'; job: Uuid; jobNo: JobNo; team: Uuid; kind: JobKind; webhook: WebhookSpec }
  /** Pages 1 … uptoOrd are stored. */
  | { type: 'JobEvent'; event: 'pages'; uptoOrd: number }
  /** Something that is neither a page nor the end, after page `uptoOrd`. */
  | { type: 'JobEvent'; event: 'mark'; uptoOrd: number; name: WebhookEvent }
  | ({
      type: 'JobEvent';
      event: 'terminal';
      uptoOrd: number;
      /** To a parent only: pages without a document, and why the first of them has none. */
      lost?: { pages: number; reason: string };
    } & JobEnd);

export interface PostResult {
  eventNo: number;
  /** HTTP status of the receiver, null when there was none. */
  status: number | null;
  /** Why there was no status. */
  error: string | null;
  ms: number;
  /** When the attempt began. */
  atMs: number;
}

/**
 * Results of a run so far, from the dispatcher; without any it says that the run is in work. Natural key (event,
 * attempt).
 */
export interface PostDone {
  type: 'PostDone';
  run: number;
  attempt: number;
  results: PostResult[];
  /** Events of the run that are not reported were not tried, and should not be for so long. The run is not worked on any more. */
  waitMs?: number;
}

/** One more attempt at events that are over, from the gateway. Natural key: `id`. */
export interface Replay {
  type: 'Replay';
  id: Uuid;
  /** `attempt` is the number of the attempt to make, one above the last. */
  groups: { attempt: number; events: Span[] }[];
}

export type DeliveryMessage = JobEvent | PostDone | Replay;
export type JobMessage =
  | PageJobStart
  | Append
  | Pause
  | Cancel
  | LaneStarted
  | PagesDone
  | LaneEnd
  | SitemapChunk
  | HistoryJudged
  | RobotsDone
  | Grant;
/** To `extract` and `agent` actors; `JobEvent` comes from the jobs that fetch pages for them. */
export type ModelJobMessage = ModelJobStart | Cancel | JobEvent | ModelDone | ModelBusy;
export type DomainMessage = Demand | HostFeedback | HostRelease | RobotsDone;
export type TeamMessage = Demand | ScrapeUsage;
export type ActorMessage = JobMessage | ModelJobMessage | DomainMessage | TeamMessage | DeliveryMessage;

/** `evt.job.<job>`: lossy, at most 4/s a job; wakes held status requests, which then read Postgres. */
export interface JobProgress {
  job: Uuid;
  status: string;
  total: number;
  completed: number;
  ord: number;
  /** As in the job's row. @default none */
  slowHosts?: string[];
}

/** Several messages of one worker to one actor in one piece of mail; each keeps its own identity class. */
export interface Bundle {
  type: 'Bundle';
  messages: ActorMessage[];
}

/**
 * Level messages to several actors of one partition in one piece of mail, which is addressed to the first of them.
 * On the wire it is called a `Sack`.
 */
export interface PartitionBundle {
  type: 'Sack';
  letters: Envelope[];
}

/** The contents of a mailbox. */
export type Mail = Envelope<ActorMessage | Bundle | PartitionBundle>;

/** Sender of a message: an actor, or a worker/gateway process. */
export type Sender = ActorKey | `w/${string}` | `gw/${string}`;

export interface Envelope<M = ActorMessage> {
  /** `Nats-Msg-Id`: saves work inside the duplicate window, correctness never depends on it. */
  id: string;
  type: string;
  /** Schema version; readers accept v and v-1. */
  v: number;
  from: Sender;
  to: ActorKey;
  /** Pair sequence for pair-class messages, else null. */
  n: number | null;
  body: M;
  /** Trace of what caused it, when that is recorded. */
  trace?: TraceParent;
}
