/** The pages of a site, as a fetcher finds them. */
import { randomUUID } from 'node:crypto';
import {
  errorFromWire,
  RPC,
  type ExtractSpec,
  type MapLink,
  type MapReply,
  type MapRequest,
  type Uuid,
} from '@troupe/contracts';
import type { Rpc } from '@troupe/messaging';

/** Pages looked at to find the most relevant ones. */
const MAX_CANDIDATES = 5_000;
const TIMEOUT_MS = 60_000;
/** Time a fetcher has to answer after its own deadline, so that its error and not ours is reported. */
const GRACE_MS = 500;

export class SiteFinder {
  constructor(private readonly calls: Pick<Rpc, 'call'>) {}

  /**
   * Pages at and below `url`, at most five thousand.
   * @throws TroupeError MAP_FAILED, MAP_TIMEOUT and other errors of a fetcher; the signal's reason
   */
  async pagesBelow(url: string, team: Uuid, asked: ExtractSpec, signal: AbortSignal): Promise<MapLink[]> {
    const request: MapRequest = { id: randomUUID(), team, spec: mapSpec(url, asked), deadlineMs: TIMEOUT_MS };
    const limits = { timeoutMs: TIMEOUT_MS + GRACE_MS, signal };
    const { head, body } = await this.calls.call<MapReply>(RPC.map, request, null, limits);
    if (!head.ok) throw errorFromWire(head.error);
    const lines = Buffer.from(body).toString('utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as MapLink);
  }
}

function mapSpec(url: string, asked: ExtractSpec): MapRequest['spec'] {
  return {
    url,
    search: null,
    limit: MAX_CANDIDATES,
    sitemap: asked.ignoreSitemap ? 'skip' : 'include',
    includeSubdomains: asked.includeSubdomains,
    ignoreQueryParameters: false,
    allowExternalLinks: asked.allowExternalLinks,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    filterByPath: true,
    headers: asked.scrape.headers,
    location: asked.scrape.location,
    timeoutMs: TIMEOUT_MS,
  };
}
