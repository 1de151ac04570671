/** One sitemap file as `SitemapChunk`s: in scope, canonical, fingerprinted. */
import { Inject, Injectable } from '@nestjs/common';
import {
  isTroupeError,
  timeoutSignal,
  type ExcludedLinks,
  type Kick,
  type Outlink,
  type ScopeRule,
  type SitemapChunk,
  type TraceParent,
} from '@troupe/contracts';
import {
  canonicalize,
  fetchUrl,
  fingerprint,
  fingerprintUrl,
  whyNotCanonical,
  type SitemapItem,
} from '@troupe/frontier';
import { judgeLinks } from '@troupe/judging';
import { TimeSlice } from '@troupe/observability';
import type { EngineResponse } from '../http/engine.js';
import { RobotsRules } from '../robots/robots-rules.js';
import { ExpressFetch } from '../slots/express-fetch.js';
import { MAX_SITEMAP_BYTES, readSitemap, type SitemapPart } from './sitemap-source.js';

export type SitemapTask = Extract<Kick, { task: 'sitemap' }>;

const TIMEOUT_MS = 60_000;
const MAX_LEVEL = 5;
const MAX_EXCLUDED_SAMPLE = 50;
/** Tried even when it is not announced; its absence is no error then. */
const GUESSED_PATH = '/sitemap.xml';

@Injectable()
export class SitemapKick {
  constructor(
    @Inject(ExpressFetch) private readonly fetch: Pick<ExpressFetch, 'get'>,
    @Inject(RobotsRules) private readonly robots: Pick<RobotsRules, 'rulesFor' | 'describe'>,
  ) {}

  /** Chunks from `fromChunk` on, at most `maxChunks`. Failures are chunks with an error, never exceptions. */
  async *read(task: SitemapTask, trace?: TraceParent): AsyncGenerator<SitemapChunk> {
    const file = await this.fetchFile(task, trace);
    if (!(file instanceof Uint8Array)) {
      yield file;
      return;
    }
    const end = task.fromChunk + task.maxChunks;
    for await (const part of readSitemap(file)) {
      if (part.chunk < task.fromChunk) continue;
      const more = !part.last && part.chunk + 1 >= end;
      yield await chunkOf(task, part, more);
      if (more) return;
    }
  }

  /** The file's bytes, or the chunk that says why there are none. */
  private async fetchFile(task: SitemapTask, trace?: TraceParent): Promise<Uint8Array | SitemapChunk> {
    try {
      return bodyOrVerdict(task, await this.get(task, trace));
    } catch (error) {
      const reason = isTroupeError(error) ? error.message : String(error);
      return emptyChunk(task, `${task.url}: ${reason}`);
    }
  }

  private async get(task: SitemapTask, trace?: TraceParent): Promise<EngineResponse> {
    const { file } = await this.robots.describe(task.url);
    // A file that robots.txt names is meant to be read, whatever its rules say about the path.
    const isAnnounced = file.sitemaps.includes(task.url);
    return this.fetch.get({
      url: task.url,
      headers: task.headers,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_SITEMAP_BYTES,
      skipTlsVerification: true,
      signal: timeoutSignal(TIMEOUT_MS),
      robots: isAnnounced ? null : { agent: task.agent, rules: this.robots },
      trace,
    });
  }
}

function bodyOrVerdict(task: SitemapTask, response: EngineResponse): Uint8Array | SitemapChunk {
  const isMissing = response.statusCode === 404 || response.statusCode === 410 || isHtml(response);
  if (isMissing && isGuessed(task.url)) return emptyChunk(task, null);
  if (response.statusCode >= 400) return emptyChunk(task, `${task.url} answered ${response.statusCode}`);
  if (isHtml(response)) return emptyChunk(task, `${task.url} is a web page, not a sitemap`);
  return response.body;
}

function isGuessed(url: string): boolean {
  return new URL(url).pathname === GUESSED_PATH;
}

function isHtml({ contentType, body }: EngineResponse): boolean {
  const head = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, 200)).toString('latin1');
  return (
    /^\s*(text\/html|application\/xhtml)/i.test(contentType ?? '') &&
    !/^\W*<\?xml|<(urlset|sitemapindex|rss|feed)/i.test(head)
  );
}

function emptyChunk({ file, fromChunk }: SitemapTask, problem: string | null): SitemapChunk {
  const error = problem === null ? null : { code: 'SCRAPE_SITEMAP_ERROR' as const, message: problem };
  return {
    type: 'SitemapChunk',
    file,
    chunk: fromChunk,
    urls: [],
    children: [],
    excluded: null,
    last: true,
    more: false,
    error,
  };
}

async function chunkOf(task: SitemapTask, part: SitemapPart, more: boolean): Promise<SitemapChunk> {
  const sorted = new ChunkSorter(task);
  const slice = new TimeSlice();
  for (const item of part.items) {
    if (item.type === 'url') sorted.addUrl(item);
    else sorted.addChild(item);
    if (slice.isOver) await slice.next();
  }
  await sorted.judge();
  const error =
    part.problem === null ? null : { code: 'SCRAPE_SITEMAP_ERROR' as const, message: `${task.url}: ${part.problem}` };
  const { urls, children, excluded } = sorted;
  const { chunk, last } = part;
  return {
    type: 'SitemapChunk',
    file: task.file,
    chunk,
    urls: [...urls.values()],
    children: [...children],
    excluded,
    last,
    more,
    error,
  };
}

/** Tells the entries of one chunk apart: in scope, out of it or no address, further files. */
class ChunkSorter {
  readonly urls = new Map<string, Outlink>();
  readonly children = new Set<string>();
  readonly excluded: ExcludedLinks = { byRule: {}, sample: [] };
  private readonly left = new Set<string>();
  /** Addresses that are to be judged, in their order. */
  private readonly found = new Set<string>();

  constructor(private readonly task: SitemapTask) {}

  addUrl({ loc, inFeed }: SitemapItem): void {
    const base = inFeed ? this.task.url : undefined;
    const canonical = canonicalize(loc, base);
    if (canonical === null) return this.exclude(loc, whyNotCanonical(loc, base));
    this.found.add(fetchUrl(canonical, this.task.scope));
  }

  /** Judges the entries of a chunk together, as if they were the links of one page. */
  async judge(): Promise<void> {
    const { scope } = this.task;
    const found = [...this.found];
    const rules = await judgeLinks(scope, found, 0);
    for (const [i, url] of found.entries()) {
      const rule = rules[i]!;
      if (rule !== null) {
        this.exclude(url, rule);
        continue;
      }
      const h = fingerprintUrl(url, scope);
      if (!this.urls.has(h)) this.urls.set(h, { url, h });
    }
  }

  addChild({ loc }: SitemapItem): void {
    const url = canonicalize(loc);
    if (url === null) return this.exclude(loc, whyNotCanonical(loc));
    if (this.task.level < MAX_LEVEL) this.children.add(url);
  }

  private exclude(url: string, rule: ScopeRule): void {
    if (this.left.has(url)) return;
    this.left.add(url);
    this.excluded.byRule[rule] = (this.excluded.byRule[rule] ?? 0) + 1;
    if (this.excluded.sample.length >= MAX_EXCLUDED_SAMPLE) return;
    this.excluded.sample.push({ url, h: fingerprint(url), rule });
  }
}
