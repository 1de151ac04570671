/** A site of one host that answers as a spec likes: busy, broken, slow, gone. Its log is what a crawl is judged by. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  /** `performance.now()` when the request came. */
  t: number;
  path: string;
  ua: string;
  /** How often this path had been asked for before. */
  times: number;
  /** 0: no answer. */
  status: number;
}

/** `hang`: the request is taken and never answered. `reset`: its connection is cut. A number: an answer of that status. */
export type Reaction = 'hang' | 'reset' | number | { status: number; retryAfterS: number };

export interface SiteRules {
  /** Pages, the start page included. */
  pages: number;
  /** null: the page, as it should be. */
  react?(asked: Pick<Asked, 't' | 'path' | 'times'>): Reaction | null;
  /** null: a 404. */
  robots?(times: number): Reaction | { text: string } | null;
  /** Time until the answer, of good pages. @default about 80 ms, and never the same */
  latencyMs?(path: string): number;
}

/** A page may link to so many others and no more. */
export const LINKS_PER_PAGE = 500;
const ERROR_MS = 15;

export class TroubledSite {
  readonly log: Asked[] = [];
  private readonly times = new Map<string, number>();

  private constructor(
    private readonly server: Server,
    private readonly rules: SiteRules,
    readonly origin: string,
  ) {}

  static async start(rules: SiteRules): Promise<TroubledSite> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const site = new TroubledSite(server, rules, origin);
    server.on('request', (request, response) => site.answer(request, response));
    return site;
  }

  get host(): string {
    return new URL(this.origin).host;
  }

  url(path = '/'): string {
    return this.origin + path;
  }

  /** Requests but robots.txt, in order of arrival. */
  pages(): Asked[] {
    return this.log.filter(({ path }) => path !== '/robots.txt');
  }

  /** Those that were answered with a page. */
  good(): Asked[] {
    return this.pages().filter(({ status }) => status === 200);
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await gone;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    const times = this.times.get(path) ?? 0;
    this.times.set(path, times + 1);
    const asked = { t: performance.now(), path, times };
    const reaction = path === '/robots.txt' ? (this.rules.robots?.(times) ?? 404) : this.reactionTo(asked);
    const entry: Asked = { ...asked, ua: request.headers['user-agent'] ?? '', status: statusOf(reaction) };
    this.log.push(entry);
    if (reaction === 'hang') return;
    if (reaction === 'reset') return void request.socket.destroy();
    if (reaction === null) return later(this.latency(path), () => sendPage(response, path, this.linksOf(path)));
    if (typeof reaction === 'object' && 'text' in reaction)
      return void response.writeHead(200, { 'content-type': 'text/plain' }).end(reaction.text);
    const { status, retryAfterS } = typeof reaction === 'number' ? { status: reaction, retryAfterS: null } : reaction;
    const headers = retryAfterS === null ? {} : { 'retry-after': String(retryAfterS) };
    later(ERROR_MS, () => response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end('not now'));
  }

  /** Addresses that are no pages lead nowhere, unless the spec makes something of them. */
  private reactionTo(asked: Pick<Asked, 't' | 'path' | 'times'>): Reaction | null {
    const isPage = asked.path === '/' || /^\/p\/\d+$/.test(asked.path);
    return this.rules.react?.(asked) ?? (isPage ? null : 404);
  }

  private latency(path: string): number {
    return this.rules.latencyMs?.(path) ?? 55 + ((Number(/\d+$/.exec(path)?.[0] ?? 0) * 37) % 51);
  }

  /** The start page names the first pages, `/p/n` the pages of its own part. */
  private linksOf(path: string): string[] {
    const part = path === '/' ? 0 : Number(path.slice('/p/'.length)) + 1;
    const isFirstOfPart = part % LINKS_PER_PAGE === 0;
    if (!isFirstOfPart && path !== '/') return [];
    const from = part;
    const to = Math.min(this.rules.pages - 1, from + LINKS_PER_PAGE);
    return Array.from({ length: Math.max(0, to - from) }, (_, i) => `/p/${from + i}`);
  }
}

function statusOf(reaction: Reaction | { text: string } | null): number {
  if (reaction === 'hang' || reaction === 'reset') return 0;
  if (typeof reaction === 'number') return reaction;
  return reaction !== null && 'status' in reaction ? reaction.status : 200;
}

function later(ms: number, work: () => void): void {
  setTimeout(work, ms);
}

function sendPage(response: ServerResponse, path: string, links: readonly string[]): void {
  const anchors = links.map((link) => `<a href="${link}">${link}</a>`).join(' ');
  response
    .writeHead(200, { 'content-type': 'text/html' })
    .end(`<!doctype html><title>${path}</title><h1>${path}</h1><p>Enough to read on the page ${path}.</p>${anchors}`);
}

/** Answers 429 to what comes faster than `perSecond`, after a first `burst`. */
export function limiter(perSecond: number, burst: number, status: number = 429): () => Reaction | null {
  let tokens = burst;
  let last = performance.now();
  return () => {
    const now = performance.now();
    tokens = Math.min(burst, tokens + ((now - last) * perSecond) / 1000);
    last = now;
    if (tokens < 1) return status;
    tokens -= 1;
    return null;
  };
}

/** Longest time between two starts, in ms; what of it lies in `excused` does not count. */
export function longestGap(asked: readonly Asked[], excused = { from: 0, to: 0 }): number {
  const gaps = asked.slice(1).map(({ t }, i) => {
    const from = asked[i]!.t;
    return t - from - Math.max(0, Math.min(t, excused.to) - Math.max(from, excused.from));
  });
  return Math.max(0, ...gaps);
}

/** Shortest time between two starts, in ms. */
export function shortestGap(asked: readonly Asked[]): number {
  return Math.min(...asked.slice(1).map(({ t }, i) => t - asked[i]!.t));
}

/** Page starts a second between two moments of `performance.now()`. */
export function rate(asked: readonly Asked[], from: number, to: number): number {
  return asked.filter(({ t }) => t >= from && t < to).length / ((to - from) / 1000);
}

/** A site as long as it is worked with. */
export async function withSite<T>(rules: SiteRules, work: (site: TroubledSite) => Promise<T>): Promise<T> {
  const site = await TroubledSite.start(rules);
  try {
    return await work(site);
  } finally {
    await site.stop();
  }
}
