import { randomUUID } from 'node:crypto';
import { errorFromWire, RPC, type MapLink, type MapReply, type MapSpec } from '@troupe/contracts';
import { parseUrl } from '@troupe/frontier';
import type { Rpc } from '@troupe/messaging';
import { textArgument, ToolRefusal, type AgentTool, type ToolContext, type ToolResult } from './agent-tool.js';

const MAX_LINKS = 100;
const MAX_LINE_CHARS = 400;
const TIMEOUT_MS = 30_000;
/** Time a fetcher has to answer after its own deadline. */
const GRACE_MS = 500;
const CREDITS = 1;

/** Finds the pages of a site. */
export class MapTool implements AgentTool {
  readonly tool = {
    name: 'map',
    description: `Lists up to ${MAX_LINKS} pages of a web site, those that fit the words first.`,
    parameters: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'Absolute http(s) address of the site' },
        search: { type: 'string', description: 'Words that the wanted pages are about' },
      },
      required: ['url'],
      additionalProperties: false,
    },
  };

  constructor(private readonly calls: Pick<Rpc, 'call'>) {}

  async run(input: Record<string, unknown>, { task, leftMs, signal }: ToolContext): Promise<ToolResult> {
    const url = siteAddress(textArgument(input, 'url'));
    const search = input.search === undefined ? null : textArgument(input, 'search');
    const deadlineMs = Math.max(1, Math.min(TIMEOUT_MS, Math.floor(leftMs())));
    const request = { id: randomUUID(), team: task.team, spec: mapSpec(url, search, deadlineMs), deadlineMs };
    const limits = { timeoutMs: deadlineMs + GRACE_MS, signal };
    const { head, body } = await this.calls.call<MapReply>(RPC.map, request, null, limits);
    if (!head.ok) throw errorFromWire(head.error);
    const lines = firstLinks(body).map(lineOf);
    return { observation: { url, text: lines.join('\n') || 'No pages were found.' }, credits: CREDITS };
  }
}

function siteAddress(text: string): string {
  const url = parseUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new ToolRefusal('"url" must be an absolute http(s) URL');
  return url.href;
}

function mapSpec(url: string, search: string | null, timeoutMs: number): MapSpec {
  return {
    url,
    search,
    limit: MAX_LINKS,
    sitemap: 'include',
    includeSubdomains: true,
    ignoreQueryParameters: true,
    allowExternalLinks: false,
    includePaths: [],
    excludePaths: [],
    regexOnFullUrl: false,
    filterByPath: false,
    headers: {},
    location: null,
    timeoutMs,
  };
}

/** A link as JSON a line; no more are asked for than may be shown. */
function firstLinks(body: Uint8Array): MapLink[] {
  const lines = Buffer.from(body).toString('utf8').split('\n', MAX_LINKS);
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as MapLink);
}

function lineOf({ url, title, description }: MapLink): string {
  return [url, title, description]
    .filter((part) => part)
    .join(' | ')
    .slice(0, MAX_LINE_CHARS);
}
