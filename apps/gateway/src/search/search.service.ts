/** Searches: a provider's results, each scraped if asked for, all within one timeout. */
import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { NatsLink } from '@troupe/messaging';
import { isTroupeError, timeoutSignal, TroupeError, type ScrapeSpec, type Uuid } from '@troupe/contracts';
import { type SearchHit, type SearchProvider, type SearchSource } from '@troupe/search';
import { SEARCH_PROVIDER } from './search-provider.js';
import { type Caller } from '../auth/caller.js';
import { ApiError, unavailable } from '../errors/api-error.js';
import { CreditGate } from '../limits/credit-gate.js';
import { categoryOf, isWanted, queryText } from './search-filters.js';
import { type SearchCategory, type SearchSpec, type SourceSpec } from './search-spec.js';
import { type Link } from '../jobs/ports.js';
import { ScrapeService } from '../jobs/scrape.service.js';
import { TargetPolicy } from '../jobs/target-policy.js';
import { UsageLog } from '../jobs/usage-log.js';

/** Why a result that was to be scraped has no document. */
export interface ScrapeFailure {
  url: string;
  code: string;
  error: string;
}

export interface SearchResult extends SearchHit {
  /** From 1. */
  position: number;
  category: SearchCategory | null;
  /** Its document as JSON; null: the page was not to be scraped, or is among the failures. */
  page: Uint8Array | null;
}

export interface SearchAnswer {
  id: Uuid;
  creditsUsed: number;
  /** The sources that were asked for, in that order. */
  results: Map<SearchSource, SearchResult[]>;
  /** Pages that could not be scraped, each once. */
  failures: ScrapeFailure[];
  warnings: string[];
}

const MAX_PAGES = 10;
const MAX_PARALLEL_SCRAPES = 8;
/** With less left of the timeout, a scrape is not begun. */
const MIN_SCRAPE_MS = 500;
/** All documents of an answer together; results beyond it are not scraped. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;
const CREDITS_PER_TEN = 2;

/** One search being made. */
interface Task {
  caller: Caller;
  spec: SearchSpec;
  startedMs: number;
  /** Ends with the client or with the timeout. */
  signal: AbortSignal;
}

@Injectable()
export class SearchService {
  constructor(
    /** null: none is configured. */
    @Inject(SEARCH_PROVIDER) private readonly provider: SearchProvider | null,
    @Inject(ScrapeService) private readonly scrapes: Pick<ScrapeService, 'scrape'>,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
    @Inject(NatsLink) private readonly link: Link,
    @Inject(UsageLog) private readonly usage: Pick<UsageLog, 'record'>,
    @Inject(CreditGate) private readonly credits: Pick<CreditGate, 'charge'>,
  ) {}

  /** @throws TroupeError NOT_SUPPORTED */
  checkOffered(): void {
    if (this.provider === null)
      throw new TroupeError('NOT_SUPPORTED', 'Search is not supported here: no search provider is configured');
  }

  /**
   * Costs two credits for every ten results begun, and what the scraped pages cost. Resolves when all of it is billed.
   * @throws TroupeError NOT_SUPPORTED; SEARCH_FAILED; SCRAPE_TIMEOUT when the provider took too long
   */
  async search(caller: Caller, spec: SearchSpec, clientSignal: AbortSignal): Promise<SearchAnswer> {
    this.checkOffered();
    if (!this.link.isUp()) throw unavailable(null);
    await this.credits.charge(caller, CREDITS_PER_TEN);
    const id = randomUUID();
    const deadline = timeoutSignal(spec.timeoutMs);
    const signal = AbortSignal.any([clientSignal, deadline]);
    const task: Task = { caller, spec, startedMs: performance.now(), signal };
    const found = await this.findAll(task).catch((error: unknown) => {
      throw deadline.aborted && !clientSignal.aborted ? timedOut(spec.timeoutMs, error) : error;
    });
    const pages = new PageScrapes(this.scrapes, { ...task, signal: clientSignal });
    const results = found.flatMap(({ source, results }) => (source === 'images' ? [] : results));
    if (spec.scrape !== null) await pages.run(results, spec.scrape);
    const count = found.reduce((sum, { results }) => sum + results.length, 0);
    const credits = CREDITS_PER_TEN * Math.ceil(count / 10);
    await this.bill(task, id, credits);
    return {
      id,
      creditsUsed: credits + pages.credits,
      results: new Map(found.map(({ source, results }) => [source, results])),
      failures: pages.failures,
      warnings: [...new Set(found.flatMap(({ warning }) => warning ?? [])), ...missedPages(pages.failures)],
    };
  }

  private findAll(task: Task) {
    return Promise.all(task.spec.sources.map((source) => this.find(task, source)));
  }

  /** Asks page after page until there are enough results, or no further ones. */
  private async find({ spec, signal }: Task, { source, language, maxAge }: SourceSpec) {
    const results: SearchResult[] = [];
    const seen = new Set<string>();
    let warning: string | null = null;
    for (let page = 1; page <= MAX_PAGES && results.length < spec.limit; page++) {
      const text = queryText(spec);
      const answer = await this.provider!.search({ text, source, language, maxAge, safe: spec.safe, page }, signal);
      warning ??= answer.warning;
      const fresh = answer.hits.filter(({ url }) => !seen.has(url));
      if (fresh.length === 0) break;
      for (const hit of fresh) {
        if (!seen.has(hit.url) && this.isTaken(hit, spec)) results.push(resultOf(hit, results.length + 1, spec));
        seen.add(hit.url);
      }
    }
    return { source, results: results.slice(0, spec.limit), warning };
  }

  private isTaken({ url }: SearchHit, spec: SearchSpec): boolean {
    return isWanted(url, spec) && !(spec.dropsForbidden && this.isForbidden(url));
  }

  private isForbidden(url: string): boolean {
    try {
      this.targets.check(url);
      return false;
    } catch {
      return true;
    }
  }

  private async bill({ caller, spec, startedMs }: Task, id: Uuid, credits: number): Promise<void> {
    if (credits === 0) return;
    const ms = Math.round(performance.now() - startedMs);
    const url = `search:${encodeURIComponent(spec.query)}`;
    try {
      await this.usage.record({ id, team: caller.team, keyId: caller.keyId, credits, url, statusCode: 200, ms });
    } catch (error) {
      throw isTroupeError(error) ? error : unavailable(error);
    }
  }
}

function resultOf(hit: SearchHit, position: number, { categories }: SearchSpec): SearchResult {
  return { ...hit, position, category: categoryOf(hit.url, categories), page: null };
}

/** The scrapes of one search: a few at a time, each page once, none after the time is up. */
class PageScrapes {
  credits = 0;
  readonly failures: ScrapeFailure[] = [];
  private bytes = 0;
  private readonly scraped = new Map<string, Promise<Uint8Array | null>>();

  constructor(
    private readonly scrapes: Pick<ScrapeService, 'scrape'>,
    private readonly task: Task,
  ) {}

  /** Sets `page` of every result. Rejects only when the client has gone. */
  async run(results: SearchResult[], spec: ScrapeSpec): Promise<void> {
    const queue = results.values();
    const work = async (): Promise<void> => {
      for (const result of queue) result.page = await this.once(result.url, spec);
    };
    await Promise.all(Array.from({ length: Math.min(MAX_PARALLEL_SCRAPES, results.length) }, work));
    this.task.signal.throwIfAborted();
  }

  private once(url: string, spec: ScrapeSpec): Promise<Uint8Array | null> {
    const known = this.scraped.get(url);
    if (known !== undefined) return known;
    const scrape = this.scrape(url, spec);
    this.scraped.set(url, scrape);
    return scrape;
  }

  private async scrape(url: string, spec: ScrapeSpec): Promise<Uint8Array | null> {
    const { caller, signal, startedMs, spec: search } = this.task;
    try {
      signal.throwIfAborted();
      const leftMs = Math.floor(search.timeoutMs - (performance.now() - startedMs));
      if (leftMs < MIN_SCRAPE_MS) throw timedOut(search.timeoutMs);
      if (this.bytes > MAX_DOCUMENT_BYTES) throw tooMuch();
      const order = { url, sourceUrl: url, spec: { ...spec, timeoutMs: Math.min(spec.timeoutMs, leftMs) } };
      const { document, credits } = await this.scrapes.scrape(caller, order, signal);
      this.credits += credits;
      this.bytes += document.byteLength;
      return document;
    } catch (error) {
      // An unknown host is the one failure that costs something (ScrapeService).
      if (isTroupeError(error) && error.code === 'SCRAPE_DNS_RESOLUTION_ERROR') this.credits++;
      this.failures.push({ url, ...reasonOf(error) });
      return null;
    }
  }
}

function reasonOf(error: unknown): Omit<ScrapeFailure, 'url'> {
  if (isTroupeError(error)) return { code: error.code, error: error.message };
  if (error instanceof ApiError) return { code: error.code ?? 'UNKNOWN_ERROR', error: error.message };
  return { code: 'UNKNOWN_ERROR', error: 'The page could not be scraped' };
}

function missedPages({ length }: readonly ScrapeFailure[]): string[] {
  if (length === 0) return [];
  return [`${length} page${length === 1 ? '' : 's'} could not be scraped: errors says why.`];
}

function timedOut(timeoutMs: number, cause?: unknown): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', `The search did not finish within its timeout of ${timeoutMs} ms`, {
    cause,
    retryable: true,
  });
}

function tooMuch(): TroupeError {
  return new TroupeError('SCRAPE_BODY_TOO_LARGE', 'The results scraped before this one fill the answer');
}
