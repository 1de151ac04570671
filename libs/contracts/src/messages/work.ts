/** Messages to stateless workers (stream WORK) and the request/reply subjects (docs/design/messages.md). */
import type { ActorKey, Fingerprint, JobNo, Uuid } from '../ids.js';
import type { MapSpec, ScopeSpec } from '../jobs/crawl-spec.js';
import type { JobKind } from '../jobs/job.js';
import type { ScrapeSpec } from '../jobs/scrape-spec.js';
import type { EventMarks, JobEnd, WebhookSpec } from '../jobs/webhook-spec.js';
import type { Span } from '../spans.js';
import type { ErrorWire } from '../errors.js';
import type { ModelTask } from './model.js';

export const WORK_CLASSES = ['http', 'browser', 'kick', 'llm', 'post'] as const;
export type WorkClass = (typeof WORK_CLASSES)[number];
export type WorkPriority = 'hi' | 'lo';

/** A place on a host or in a team, with the fencing generation under which it was granted. */
export interface Token {
  i: number;
  gen: number;
}

/** Whether a job is paused, as of its pause or resume number `v`. */
export interface PauseNews {
  /** 1, 2, … in the order in which the calls were recorded; 0 = never paused. */
  v: number;
  paused: boolean;
}

export interface LaneItem {
  item: number;
  attempt: number;
  url: string;
  depth: number;
  /** Caller's text for a start URL or batch seed, else equal to `url`: becomes `metadata.sourceURL`. */
  sourceUrl: string;
  /** A fetcher without a browser has handed it back: only a browser can show it. @default false */
  browser?: boolean;
  /** Only a history of earlier scrapes names it, nothing that the job has read. @default false */
  fromHistory?: boolean;
}

/** URLs of one job and one host, run one after another by one fetcher on one host slot. */
export interface Lane {
  type: 'Lane';
  lane: number;
  actor: ActorKey;
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  host: string;
  slot: Token;
  /** Wait this long after claiming the slot before the first request (handover, `delay`). */
  notBeforeMs: number;
  /** Least time from start to start within the lane. */
  gapMs: number;
  items: LaneItem[];
  /** null for batches: no discovery, no robots. */
  scope: ScopeSpec | null;
  /** null = robots are not consulted. Otherwise the agent name to match. */
  robotsAgent: string | null;
  spec: ScrapeSpec;
  /** Newest pause or resume that the job knew when it sent this. Newer news send the lane back. @default 0 */
  pauseV?: number;
}

/** Kickoff work of a crawl or of a host: robots.txt, or one sitemap file from one chunk on. */
export type Kick =
  | {
      type: 'Kick';
      task: 'robots';
      actor: ActorKey;
      host: string;
      url: string;
      agent: string;
      /** As in `Lane`; absent when a host asks. */
      pauseV?: number;
    }
  /** One request that finds out whether a host that was down answers again; told to its actor by `HostFeedback.probe`. */
  | { type: 'Kick'; task: 'probe'; actor: ActorKey; host: string; url: string; pauseV?: undefined }
  | {
      type: 'Kick';
      task: 'sitemap';
      actor: ActorKey;
      job: Uuid;
      /** Number of the file inside its job; `SitemapChunk` answers with it. */
      file: number;
      url: string;
      level: number;
      fromChunk: number;
      maxChunks: number;
      scope: ScopeSpec;
      headers: Record<string, string>;
      agent: string;
      /** As in `Lane`. */
      pauseV?: number;
    }
  /** Which of these pages, which earlier scrapes have tracked, belong to a crawl with patterns. Told by `HistoryJudged`. */
  | {
      type: 'Kick';
      task: 'history';
      actor: ActorKey;
      job: Uuid;
      part: HistoryPart;
      /** Canonical. */
      urls: string[];
      scope: ScopeSpec;
      /** As in `Lane`. */
      pauseV?: number;
    };

/** A part of the histories that a job goes through: what comes after `after` up to `upto`, null from and to the end. */
export interface HistoryPart {
  after: Fingerprint | null;
  upto: Fingerprint | null;
  isLast: boolean;
}

/** One attempt at each of several events of a job: a run. Its pages are read where they are stored. */
export interface Post {
  type: 'Post';
  /** Number of the run inside its actor. */
  run: number;
  actor: ActorKey;
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  kind: JobKind;
  webhook: Pick<WebhookSpec, 'url' | 'headers' | 'metadata'>;
  /** From 1. */
  attempt: number;
  /** Numbers of the events (see `START_EVENT`). */
  events: Span[];
  /** Counts of pages at which the job has ended so far (see `placeOf`). */
  ends: number[];
  /** The newest of those ends; earlier ones were completions. */
  end: JobEnd | null;
  /** @default none of them is anything else */
  marks?: EventMarks;
  /** Events up to this number are too old to be told of: they are reported without a post. @default none */
  staleUpTo?: number;
}

export type WorkMessage = Lane | Kick | Post | ModelTask;

/** `rpc.fetch.http`, `rpc.fetch.browser`: a sync scrape. Reply: `FetchReply` header, body = document JSON bytes. */
export interface FetchRequest {
  id: Uuid;
  team: Uuid;
  url: string;
  sourceUrl: string;
  spec: ScrapeSpec;
  deadlineMs: number;
  metadata: Record<string, unknown>;
  /** Keys of the only hosts that the page and its redirects may be of; `www.` makes no difference. @default any */
  onlyHosts?: string[];
  /** The fetcher that hands the page over, and with it what others wait for. @default nothing waits */
  flight?: string;
}

export type FetchReply =
  | {
      ok: true;
      statusCode: number;
      finalUrl: string;
      engine: EngineName;
      ms: number;
      credits: number;
      warning?: string;
    }
  | { ok: false; error: ErrorWire };

/** `rpc.map` */
export interface MapRequest {
  id: Uuid;
  team: Uuid;
  spec: MapSpec;
  deadlineMs: number;
}

/** The body of a good reply: the links, one JSON `MapLink` a line. */
export type MapReply = { ok: true; warning?: string } | { ok: false; error: ErrorWire };

/** `rpc.robots`: may these pages be asked for? */
export interface RobotsRequest {
  /** null = the fetcher's own name. */
  agent: string | null;
  /** Absolute http(s) URLs. */
  urls: string[];
  deadlineMs: number;
}

/** One verdict per URL, in order. A host whose rules cannot be read in time allows nothing. */
export interface RobotsReply {
  allowed: boolean[];
}

export type EngineName = 'http' | 'got' | 'browser';
