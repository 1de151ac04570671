/**
 * Questions to the extractor: work that needs a language model. One page at once over request/reply, steps of extract
 * and agent jobs over the queue `work.llm`.
 */
import type { ErrorWire } from '../errors.js';
import { uuidOf, type ActorKey, type JobNo, type Uuid } from '../ids.js';
import type { PageDocument } from '../jobs/document.js';
import type { AgentSpec, ExtractSpec } from '../jobs/extract-spec.js';
import type { JsonSchema, ModelFormat, ModelPart } from '../jobs/model-spec.js';
import type { PageJobKind } from '../jobs/job.js';
import type { Span } from '../spans.js';

/** `rpc.model.page`. Body: JSON of `PageTexts`. */
export interface PageModelRequest {
  id: Uuid;
  team: Uuid;
  /** Final URL of the page. */
  url: string;
  title: string | null;
  /** Formats that a model writes. */
  formats: ModelFormat[];
  /** Name what changed since `PageTexts.previous`; null: not asked. */
  changes: { prompt: string | null; schema: JsonSchema | null } | null;
  /** For the whole request, waiting for the provider included. */
  deadlineMs: number;
  /** Nothing of the page or of the answer may be kept or logged. */
  zeroRetention: boolean;
}

/** Text of the page after its selection (tags, main content). */
export interface PageTexts {
  markdown: string;
  /** Text of the newest earlier scrape; absent unless changes are asked. */
  previous?: string;
  /** Cleaned HTML, for writing selectors; absent unless a format may learn. */
  html?: string;
}

/** Parts of a document that a model wrote. */
export type ModelParts = Pick<PageDocument, 'json' | 'summary' | 'answer' | 'highlights'>;

export type PageModelReply =
  | {
      ok: true;
      parts: ModelParts;
      /** Value of `changeTracking.json`; absent unless it was asked for and made. */
      changes?: unknown;
      /** Tokens of all calls, failed ones included. */
      tokens: number;
      /** Told with the page: trimmed input, normalised values, a format that failed. */
      warnings: string[];
      /** Formats (or `changes`) that could not be made, with the reason. */
      failures: { what: ModelPart; error: ErrorWire }[];
    }
  | { ok: false; error: ErrorWire };

/** `rpc.model.crawl` */
export interface CrawlOptionsRequest {
  id: Uuid;
  team: Uuid;
  /** Where the crawl will start. */
  url: string;
  prompt: string;
  deadlineMs: number;
}

/** Options that a sentence asks for; what it does not speak of is absent. Patterns compile. */
export interface CrawlWishes {
  includePaths?: string[];
  excludePaths?: string[];
  maxDiscoveryDepth?: number;
  crawlEntireDomain?: boolean;
  allowExternalLinks?: boolean;
  allowSubdomains?: boolean;
  sitemap?: 'include' | 'skip' | 'only';
  ignoreQueryParameters?: boolean;
  deduplicateSimilarURLs?: boolean;
  /** Whole seconds. */
  delay?: number;
  limit?: number;
}

export type CrawlOptionsReply =
  { ok: true; wishes: CrawlWishes; tokens: number; warning?: string } | { ok: false; error: ErrorWire };

/** A job that fetches pages for another one. Its id follows from its parent's and its place, so it starts once. */
export interface ChildJob {
  job: Uuid;
  jobNo: JobNo;
  kind: PageJobKind;
}

/** Id of a job's nth child, from 0: a second start finds the one that was started. */
export function childJobOf(parent: Uuid, nth: number): Uuid {
  return uuidOf(parent, `child/${nth}`);
}

export const PLAN_STEP = 'plan';
export const MERGE_STEP = 'merge';

/** Step names sort like the pages they stand for: by the child's place in the plan, then by ordinal. */
export function pageStep(child: number, ord: number): string {
  return `page/${String(child).padStart(3, '0')}/${String(ord).padStart(7, '0')}`;
}

/** Place of the child and first ordinal that `pageStep` was made of; null for other steps. */
export function parsePageStep(step: string): { child: number; ord: number } | null {
  const parts = /^page\/(\d{3,})\/(\d{7,})$/.exec(step);
  return parts === null ? null : { child: Number(parts[1]), ord: Number(parts[2]) };
}

/** The nth move of an agent, from 1. */
export function actStep(n: number): string {
  return `act/${String(n).padStart(3, '0')}`;
}

/**
 * One step of an extract or agent job. Natural key (job, step): its result is recorded in `model_step` before the actor is
 * told, so a repeated task whose result is there asks neither a site nor a model again.
 */
export interface ModelTask {
  type: 'ModelTask';
  actor: ActorKey;
  job: Uuid;
  jobNo: JobNo;
  team: Uuid;
  keyId: Uuid | null;
  /** Name of the step inside its job: `PLAN_STEP`, `MERGE_STEP`, `pageStep`, `actStep`. */
  step: string;
  /** From 1. */
  attempt: number;
  /** Left of the job's time. */
  deadlineMs: number;
  work: ModelWork;
}

export type ModelWork =
  /** Chooses the pages to read: starts the jobs that fetch them. */
  | { what: 'plan'; spec: ExtractSpec }
  /** Facts of the pages `ords` of a child, each page on its own. */
  | { what: 'pages'; spec: ExtractSpec; child: number; childNo: JobNo; ords: Span }
  /** The facts of all pages as one, validated; recorded as the job's result. */
  | { what: 'merge'; spec: ExtractSpec }
  /** The next move of an agent. */
  | { what: 'act'; spec: AgentSpec; n: number; creditsLeft: number };

/** The task is in work and will be answered. Level. */
export interface ModelBusy {
  type: 'ModelBusy';
  step: string;
  attempt: number;
}

/** Natural key: step. A later attempt's answer to a step that is done counts for nothing. */
export interface ModelDone {
  type: 'ModelDone';
  step: string;
  attempt: number;
  /** As recorded with the step. */
  tokens: number;
  /** Credits for pages that the step itself had scraped. */
  credits: number;
  error: ErrorWire | null;
  outcome:
    | { what: 'planned'; children: ChildJob[]; warning: string | null }
    | { what: 'read'; warning: string | null }
    | { what: 'merged'; warning: string | null }
    /** `end` null: the agent goes on. */
    | { what: 'acted'; end: 'answered' | null; warning: string | null }
    /** With `error`. */
    | null;
}
