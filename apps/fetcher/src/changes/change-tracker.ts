/**
 * Compares a page with its newest earlier scrape and puts it on top of the history (spec/formats.md, "changeTracking").
 * A history that is not available costs the comparison, never the page.
 */
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { hourOf, type BlobStore } from '@troupe/blob-store';
import type { ChangeTracking, ChangeTrackingSpec, PageDocument, ScrapeSpec, Uuid } from '@troupe/contracts';
import { canonicalize, fingerprint } from '@troupe/frontier';
import type { ChangeHistory, HistoryKey, Snapshot } from '@troupe/persistence';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { Differ } from './diff-thread.js';
import { identityOf, isSameText } from './text-identity.js';

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const HOUR_MS = 3_600_000;
const GONE_STATUS = 404;

export interface ChangeTrackerParts {
  history: Pick<ChangeHistory, 'replace' | 'find'>;
  blobs: Pick<BlobStore, 'get' | 'put'>;
  differ: Differ;
  /** How long a text is kept after its scrape. */
  historyHours: number;
  log: { warn(context: object, message: string): void };
}

export interface TrackedScrape {
  team: Uuid;
  url: string;
  /** Stays the same when the scrape is run again. */
  scrape: Uuid;
  spec: ScrapeSpec;
}

/** What is added to a document. */
type Finding = { changeTracking: ChangeTracking; warning?: string } | { warning: string };

const SKIPPED = 'Changes are not tracked with zero data retention.';
const UNAVAILABLE = 'Changes could not be tracked: the history of the page is not available.';
const NO_DIFF = 'The page changed too much to show its differences.';
const LOST_TEXT = 'The earlier text of the page is not kept any more: its differences cannot be shown.';

export class ChangeTracker {
  constructor(private readonly parts: ChangeTrackerParts) {}

  /** The page as it is unless change tracking was asked for. Never rejects. */
  async track(page: FetchedPage, scrape: TrackedScrape): Promise<FetchedPage> {
    const { changeTracking, zeroRetention } = scrape.spec;
    if (changeTracking === null) return page;
    const isPacked = page.document[0] === 0x1f && page.document[1] === 0x8b;
    const json = isPacked ? await unpack(page.document) : page.document;
    const document = JSON.parse(Buffer.from(json).toString('utf8')) as PageDocument;
    const finding = zeroRetention ? { warning: SKIPPED } : await this.#examine(page, document, scrape, changeTracking);
    const warning = [finding.warning, document.warning].filter(Boolean).join(' ');
    const bytes = Buffer.from(JSON.stringify({ ...document, ...finding, ...(warning === '' ? {} : { warning }) }));
    return { ...page, document: isPacked ? await pack(bytes) : bytes, documentBytes: bytes.byteLength };
  }

  async #examine(
    { statusCode }: FetchedPage,
    { markdown }: PageDocument,
    scrape: TrackedScrape,
    spec: ChangeTrackingSpec,
  ): Promise<Finding> {
    try {
      if (statusCode === GONE_STATUS) return await this.#removed(scrape, spec);
      if (statusCode >= 200 && statusCode < 300 && markdown !== undefined)
        return await this.#compared(markdown, scrape, spec);
      return { warning: `Changes are not tracked: the page answered ${statusCode}.` };
    } catch (error) {
      this.parts.log.warn({ err: error }, 'changes of a page could not be tracked');
      return { warning: UNAVAILABLE };
    }
  }

  /** An error page is no part of the history. */
  async #removed(scrape: TrackedScrape, spec: ChangeTrackingSpec): Promise<Finding> {
    const before = await this.parts.history.find(keyOf(scrape, spec), scrape.scrape);
    return { changeTracking: findingOf('removed', before) };
  }

  async #compared(markdown: string, scrape: TrackedScrape, spec: ChangeTrackingSpec): Promise<Finding> {
    const { history, blobs, historyHours } = this.parts;
    const hash = identityOf(markdown);
    const hour = hourOf(Date.now() + (historyHours + 1) * HOUR_MS);
    const blob = await blobs.put(await pack(markdown), hour);
    const before = await history.replace(keyOf(scrape, spec), scrape.scrape, { hash, blob });
    if (before === null) return { changeTracking: findingOf('new', null) };
    if (isSameText(before.hash, hash)) return { changeTracking: findingOf('same', before) };
    const changed = findingOf('changed', before);
    return spec.diff ? this.#withDiff(changed, before, markdown, spec) : { changeTracking: changed };
  }

  async #withDiff(
    changed: ChangeTracking,
    before: Snapshot,
    markdown: string,
    { diffShape }: ChangeTrackingSpec,
  ): Promise<Finding> {
    const text = await this.#textOf(before);
    if (text === null) return { changeTracking: changed, warning: LOST_TEXT };
    const diff = await this.parts.differ.compare(text, markdown);
    if (diff === null) return { changeTracking: changed, warning: NO_DIFF };
    return { changeTracking: { ...changed, diff: diffShape === 'object' ? diff : diff.text } };
  }

  async #textOf({ blob }: Snapshot): Promise<string | null> {
    try {
      return (await unpack(await this.parts.blobs.get(blob))).toString('utf8');
    } catch (error) {
      this.parts.log.warn({ blob, err: error }, 'an earlier text of a page is not readable');
      return null;
    }
  }
}

function keyOf({ team, url }: TrackedScrape, { tag }: ChangeTrackingSpec): HistoryKey {
  return { team, urlH: fingerprint(canonicalize(url) ?? url), tag };
}

/** Every page comes from a request or a link of today, so none is hidden. */
function findingOf(changeStatus: ChangeTracking['changeStatus'], before: Snapshot | null): ChangeTracking {
  return { previousScrapeAt: before?.at.toISOString() ?? null, changeStatus, visibility: 'visible' };
}
