/** One page for an agent, from a fetcher, whose address policy, blocklist and politeness hold. */
import { randomUUID } from 'node:crypto';
import {
  actionsLost,
  errorFromWire,
  isRepeatable,
  isTroupeError,
  RPC,
  type FetchReply,
  type FetchRequest,
  type PageDocument,
} from '@troupe/contracts';
import { hostKey, parseUrl, withoutWww } from '@troupe/frontier';
import type { Rpc } from '@troupe/messaging';
import { ToolRefusal, type ToolContext } from './agent-tool.js';

export interface VisitedPage {
  url: string;
  title: string | null;
  statusCode: number;
  markdown: string;
  links: string[];
  credits: number;
}

/** A longer answer is no page that a model could read. */
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const MIN_FETCH_MS = 1_000;

/** The allowed hosts of pages; null: any. */
export function allowedHosts({ strictUrls, urls }: { strictUrls: boolean; urls: readonly string[] }): string[] | null {
  return strictUrls ? [...new Set(urls.map((url) => withoutWww(hostKey(url))))] : null;
}

export class PageVisits {
  constructor(private readonly calls: Pick<Rpc, 'call'>) {}

  /** @throws ToolRefusal for an address that may not be read, TroupeError when the page could not be fetched */
  async visit(address: string, { task, leftMs, signal }: ToolContext): Promise<VisitedPage> {
    const { spec } = task.work;
    const url = pageAddress(address);
    const hosts = allowedHosts(spec);
    if (hosts !== null && !hosts.includes(withoutWww(hostKey(url))))
      throw new ToolRefusal(`Only pages of these hosts may be read: ${hosts.join(', ')}`);
    const deadlineMs = Math.max(MIN_FETCH_MS, Math.min(spec.scrape.timeoutMs, Math.floor(leftMs())));
    const id = randomUUID();
    const request: FetchRequest = {
      id,
      team: task.team,
      url,
      sourceUrl: url,
      spec: { ...spec.scrape, timeoutMs: deadlineMs },
      deadlineMs,
      metadata: { scrapeId: id },
      ...(hosts === null ? {} : { onlyHosts: hosts }),
    };
    const { head, body } = await this.calls.call<FetchReply>(RPC.fetchHttp, request, null, {
      timeoutMs: deadlineMs,
      signal,
      ...(isRepeatable(request.spec) ? {} : { whenLost: actionsLost }),
    });
    if (!head.ok) throw errorFromWire(head.error);
    return readPage(head, body);
  }
}

/** Failed pages are free, but for a host that does not exist (docs/api/limits.md). */
export function failureCredits(error: unknown): number {
  return isTroupeError(error) && error.code === 'SCRAPE_DNS_RESOLUTION_ERROR' ? 1 : 0;
}

function pageAddress(text: string): string {
  const url = parseUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new ToolRefusal('"url" must be an absolute http(s) URL');
  return url.href;
}

function readPage({ finalUrl, statusCode, credits }: FetchReply & { ok: true }, body: Uint8Array): VisitedPage {
  if (body.byteLength > MAX_DOCUMENT_BYTES) throw new ToolRefusal('The page is too long to be read', credits);
  const { markdown, links, metadata } = JSON.parse(Buffer.from(body).toString('utf8')) as PageDocument;
  const { title } = metadata;
  return {
    url: finalUrl,
    title: typeof title === 'string' ? title : null,
    statusCode,
    markdown: markdown ?? '',
    links: links ?? [],
    credits,
  };
}
