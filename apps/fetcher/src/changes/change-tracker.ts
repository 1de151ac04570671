/**
 * Compares a page with its newest earlier scrape and puts it on top of the history (docs/api/formats.md, "changeTracking").
 * A history that is not available costs the comparison, never the page.
 */
import { Inject, Injectable } from '@nestjs/common';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { hourOf, type BlobStore } from '@troupe/blob-store';
import type { ChangeTracking, ChangeTrackingSpec, PageDocument, ScrapeSpec, Uuid } from '@troupe/contracts';
import { canonicalize, fingerprint, siteOf } from '@troupe/frontier';
import { ChangeHistory, type HistoryKey, type Snapshot } from '@troupe/persistence';
import { CONFIG, LOG, type Config } from '@troupe/service';
import { SNAPSHOT_BLOBS } from '../cluster/process.js';
import { DiffThread, type Differ } from './diff-thread.js';

import { identityOf, isSameText } from './text-identity.js';

const pack = promisify(gzip);
const unpack = promisify(gunzip);
const HOUR_MS = 3_600_000;
const GONE_STATUS = 404;

@Injectable()
export class ChangeTrackerParts {
  @Inject(ChangeHistory) readonly history!: Pick<ChangeHistory, 'replace' | 'find'>;
  @Inject(SNAPSHOT_BLOBS) readonly blobs!: Pick<BlobStore, 'get' | 'put'>;
  @Inject(DiffThread) readonly differ!: Differ;
  /** How long a text is kept after its scrape. */
  @Inject(CONFIG) readonly config!: Pick<Config, 'changeHistoryHours'>;
  @Inject(LOG) readonly log!: { warn(context: object, message: string): void };
}

export interface TrackedScrape {
  team: Uuid;
  url: string;
  /** Id that stays the same when the scrape is run again. */
  scrape: Uuid;
  spec: ScrapeSpec;
  /** The crawl knows the page only from its history: it met no link to it. @default false */
  fromHistory?: boolean;
}

/** The fields that are added to a document. */
export interface ChangeReport {
  changeTracking?: ChangeTracking;
  warning?: string;
  /** The earlier text of a page, when a model shall name its changes. */
  previous?: string;
}

const SKIPPED = 'Changes are not tracked with zero data retention.';
const UNAVAILABLE = 'Changes could not be tracked: the history of the page is not available.';
const NO_DIFF = 'The page changed too much to show its differences.';
const LOST_TEXT = 'The earlier text of the page is not kept any more: its differences cannot be told.';

@Injectable()
export class ChangeTracker {
  constructor(private readonly parts: ChangeTrackerParts) {}

  /** null unless change tracking was asked for. Never rejects. */
  async examine(
    { statusCode }: { statusCode: number },
    { markdown }: Pick<PageDocument, 'markdown'>,
    scrape: TrackedScrape,
  ): Promise<ChangeReport | null> {
    const { changeTracking, zeroRetention } = scrape.spec;
    if (changeTracking === null) return null;
    if (zeroRetention) return { warning: SKIPPED };
    try {
      if (statusCode === GONE_STATUS) return await this.removed(scrape, changeTracking);
      if (statusCode >= 200 && statusCode < 300 && markdown !== undefined)
        return await this.compared(markdown, scrape, changeTracking);
      return { warning: `Changes are not tracked: the page answered ${statusCode}.` };
    } catch (error) {
      this.parts.log.warn({ err: error }, 'changes of a page could not be tracked');
      return { warning: UNAVAILABLE };
    }
  }

  /** An error page is no part of the history. */
  private async removed(scrape: TrackedScrape, spec: ChangeTrackingSpec): Promise<ChangeReport> {
    const before = await this.parts.history.find(keyOf(scrape, spec), scrape.scrape);
    return { changeTracking: findingOf('removed', before, scrape) };
  }

  private async compared(markdown: string, scrape: TrackedScrape, spec: ChangeTrackingSpec): Promise<ChangeReport> {
    const { history, blobs, config } = this.parts;
    const hash = identityOf(markdown);
    const hour = hourOf(Date.now() + (config.changeHistoryHours + 1) * HOUR_MS);
    const blob = await blobs.put(await pack(markdown), hour);
    const url = historyUrl(scrape);
    const now = { hash, blob, url, siteH: siteOf(url) };
    const before = await history.replace(keyOf(scrape, spec), scrape.scrape, now);
    if (before === null) return { changeTracking: findingOf('new', null, scrape) };
    if (isSameText(before.hash, hash)) return { changeTracking: findingOf('same', before, scrape) };
    const changed = { changeTracking: findingOf('changed', before, scrape) };
    if (!spec.diff && spec.json === null) return changed;
    const previous = await this.textOf(before);
    if (previous === null) return { ...changed, warning: LOST_TEXT };
    const shown = spec.diff ? await this.withDiff(changed.changeTracking, previous, markdown, spec) : changed;
    return spec.json === null ? shown : { ...shown, previous };
  }

  private async withDiff(
    changed: ChangeTracking,
    previous: string,
    markdown: string,
    { diffShape }: ChangeTrackingSpec,
  ): Promise<ChangeReport> {
    const diff = await this.parts.differ.compare(previous, markdown);
    if (diff === null) return { changeTracking: changed, warning: NO_DIFF };
    return { changeTracking: { ...changed, diff: diffShape === 'object' ? diff : diff.text } };
  }

  private async textOf({ blob }: Snapshot): Promise<string | null> {
    try {
      return (await unpack(await this.parts.blobs.get(blob))).toString('utf8');
    } catch (error) {
      this.parts.log.warn({ blob, err: error }, 'an earlier text of a page is not readable');
      return null;
    }
  }
}

function keyOf(scrape: TrackedScrape, { tag }: ChangeTrackingSpec): HistoryKey {
  return { team: scrape.team, urlH: fingerprint(historyUrl(scrape)), tag };
}

function historyUrl({ url }: TrackedScrape): string {
  return canonicalize(url) ?? url;
}

function findingOf(
  changeStatus: ChangeTracking['changeStatus'],
  before: Snapshot | null,
  { fromHistory = false }: TrackedScrape,
): ChangeTracking {
  const visibility = fromHistory ? 'hidden' : 'visible';
  return { previousScrapeAt: before?.at.toISOString() ?? null, changeStatus, visibility };
}
