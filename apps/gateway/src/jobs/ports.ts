/** The ports of this folder's services to the adapters; narrow, so that a test can stand in. */
import { type BlobStore } from '@troupe/blob-store';
import { type JobKind } from '@troupe/contracts';
import { type ActorBus, type CancelBoard, type NatsLink, type PauseBoard } from '@troupe/messaging';
import {
  type JobCommandRepository,
  type JobRepository,
  type JobView,
  type LedgerRepository,
  type LostJobRepository,
  type PageRow,
  type ScrapeRepository,
} from '@troupe/persistence';

export type {
  AgentRun,
  DueCommand,
  JobError,
  JobView,
  NewJob,
  NewScrape,
  PageRow,
  RecordedCommand,
} from '@troupe/persistence';
export type { Ledger, LedgerEntry, LedgerOutcome, LedgerQuery } from '@troupe/persistence';

export type Publisher = Pick<ActorBus, 'publishActor'>;
export type Cancels = Pick<CancelBoard, 'cancel'>;
export type Pauses = Pick<PauseBoard, 'put'>;
export type Link = Pick<NatsLink, 'isUp'>;
export type Blobs = Pick<BlobStore, 'get'>;
export type Jobs = Pick<
  JobRepository,
  | 'create'
  | 'find'
  | 'tombstone'
  | 'pages'
  | 'resultCount'
  | 'page'
  | 'errors'
  | 'robotsBlocked'
  | 'active'
  | 'agentRuns'
  | 'takeCommands'
>;
export type JobCommands = Pick<JobCommandRepository, 'append' | 'setPaused' | 'cancel'>;
export type LostCommands = Pick<LostJobRepository, 'failCommand'>;
export type Ledgers = Pick<LedgerRepository, 'read'>;
export type Documents = Pick<ScrapeRepository, 'store' | 'find'>;

/** Jobs whose results are pages. */
export const PAGE_JOBS: readonly JobKind[] = ['crawl', 'batch'];

/** Completed, failed or cancelled: nothing is added to its results any more. */
export function isOver({ status }: Pick<JobView, 'status'>): boolean {
  return status !== 'scraping';
}

/** Place, size and owner of a stored page's bytes. */
export type StoredPage = Pick<PageRow, 'inline' | 'blob' | 'bytes' | 'url' | 'item'>;

/** Core NATS messages, JSON decoded. */
export interface Listener {
  /** Calls back for every message of the subject until the returned function is called. */
  listen<T>(subject: string, onMessage: (message: T) => void): () => void;
}
