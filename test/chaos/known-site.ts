/**
 * A site whose crawl result is known beforehand, served on loopback, with a log of its own: what was asked for, when,
 * and how many requests ran at once.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface KnownSiteOptions {
  /** Plain pages that can be reached by links. */
  pages: number;
  /** Pages that only the sitemap names. */
  islands: number;
  /** One of so many links leads over a redirect, one over a missing page. */
  everyRedirect: number;
  everyMissing: number;
  /** Time of each answer in ms; may be changed while the site runs. */
  latencyMs: number;
  /** Lines of text on each page that do not become small when they are packed, 64 characters each. */
  noiseLines: number;
}

export interface Hit {
  path: string;
  /** `performance.now()` of its arrival. */
  at: number;
  /** Of the end of its answer, or of the connection; Infinity before. */
  endedAt: number;
}

const DEFAULTS: KnownSiteOptions = {
  pages: 2_000,
  islands: 50,
  everyRedirect: 20,
  everyMissing: 50,
  latencyMs: 5,
  noiseLines: 0,
};
const WORDS =
  'amber basin cedar delta ember fjord grove heath inlet jetty knoll ledge marsh north orbit plain quarry ridge'.split(
    ' ',
  );

/** Every folder below the root is a site of its own: `/a/` and `/b/` have the same graph and nothing in common. */
export class KnownSite {
  readonly hits: Hit[] = [];
  latencyMs: number;
  /** Requests in work at once, at most. */
  peak = 0;
  private active = 0;
  private readonly folders = new Set<string>();

  private constructor(
    private readonly server: Server,
    private readonly options: KnownSiteOptions,
  ) {
    this.latencyMs = options.latencyMs;
  }

  static async start(options: Partial<KnownSiteOptions> = {}): Promise<KnownSite> {
    const server = createServer((request, response) => void site.answer(request, response));
    const site = new KnownSite(server, { ...DEFAULTS, ...options });
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Opens the folder: its islands are in the sitemap from now on. */
  startUrl(folder: string): string {
    this.folders.add(folder);
    return `${this.origin}/${folder}`;
  }

  /** URLs of batch items: plain pages that link nowhere. */
  leaf(folder: string, i: number): string {
    return `${this.origin}/${folder}/leaf/${i}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Final URLs of a whole crawl of the folder, found by walking the graph. */
  expected(folder: string): Set<string> {
    const found = new Set<string>();
    const queue = [placeOf(folder, 0), ...this.sitemapPaths(folder)];
    for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
      const final = this.redirectOf(path) ?? path;
      if (found.has(final)) continue;
      found.add(final);
      queue.push(...this.linksOf(final));
    }
    return new Set([...found].map((path) => this.origin + path));
  }

  /** What a document of the page holds: its main content, without its list of links. */
  markdownOf(url: string): string {
    const path = url.slice(this.origin.length);
    return [`# ${path}`, wordsOf(path).trimEnd(), ...noiseOf(path, this.options.noiseLines)].join('\n\n');
  }

  /** Page requests of a folder. */
  hitsOf(folder: string): Hit[] {
    return this.hits.filter(({ path }) => path.split('/')[1] === folder);
  }

  /** Moments (`performance.now()`) at which a request made more than `most` at once, and how many there were then. */
  crowds(most: number): { at: number; requests: number }[] {
    const crowds: { at: number; requests: number }[] = [];
    let open: Hit[] = [];
    for (const hit of this.hits) {
      open = open.filter(({ endedAt }) => endedAt > hit.at);
      open.push(hit);
      if (open.length > most) crowds.push({ at: hit.at, requests: open.length });
    }
    return crowds;
  }

  /** Requests that a crawl without trouble would not have made: a page is asked for once, and once by each redirect to it. */
  repeats(folder: string): number {
    const due = new Map<string, number>();
    const asked = new Map<string, number>();
    for (const { path } of this.hitsOf(folder)) {
      asked.set(path, (asked.get(path) ?? 0) + 1);
      const target = this.redirectOf(path);
      if (target !== null && asked.get(path) === 1) due.set(target, (due.get(target) ?? 1) + 1);
    }
    return [...asked].reduce((sum, [path, n]) => sum + Math.max(0, n - (due.get(path) ?? 1)), 0);
  }

  private sitemapPaths(folder: string): string[] {
    return Array.from({ length: this.options.islands }, (_, i) => `/${folder}/island/${i}`);
  }

  /** A tree of three children keeps all pages reachable; three more links make nine of ten links known ones. */
  private linksOf(path: string): string[] {
    const [, folder = '', kind = 'p', text = '0'] = path.split('/');
    const { pages, everyRedirect, everyMissing } = this.options;
    if (kind === 'only') return [placeOf(folder, 1)];
    if (kind !== 'p') return [];
    const i = Number(text);
    const children = [3 * i + 1, 3 * i + 2, 3 * i + 3].filter((child) => child < pages);
    const across = [i * 7 + 11, i * 13 + 5, i * 31 + 17].map((n) => n % pages);
    const links = [...children, ...across].map((n) => placeOf(folder, n));
    if (i % everyRedirect === 0) links.push(`/${folder}/to-known/${i}`, `/${folder}/to-only/${i}`);
    if (i % everyMissing === 0) links.push(`/${folder}/missing/${i}`);
    return links;
  }

  private redirectOf(path: string): string | null {
    const [, folder = '', kind, text] = path.split('/');
    if (kind === 'to-known') return placeOf(folder, (Number(text) * 5 + 3) % this.options.pages);
    return kind === 'to-only' ? `/${folder}/only/${text}` : null;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    const hit = { path, at: performance.now(), endedAt: Infinity };
    this.hits.push(hit);
    this.peak = Math.max(this.peak, ++this.active);
    response.once('close', () => {
      this.active--;
      hit.endedAt = performance.now();
    });
    if (this.latencyMs > 0) await sleep(this.latencyMs);
    if (path === '/robots.txt') return void response.writeHead(200).end('User-agent: *\nAllow: /\n');
    if (path === '/sitemap.xml') return this.sitemap(response);
    const target = this.redirectOf(path);
    if (target !== null) return void response.writeHead(301, { location: target }).end();
    if (path.includes('/missing/')) return this.page(response, 404, path, []);
    this.page(response, 200, path, this.linksOf(path));
  }

  /** Names the islands of every open folder; each crawl keeps what lies in its own. */
  private sitemap(response: ServerResponse): void {
    const places = [...this.folders].flatMap((folder) => this.sitemapPaths(folder));
    const urls = places.map((path) => `<url><loc>${this.origin}${path}</loc></url>`);
    response.writeHead(200, { 'content-type': 'application/xml' }).end(`<urlset>${urls.join('')}</urlset>`);
  }

  private page(response: ServerResponse, status: number, path: string, links: string[]): void {
    const anchors = links.map((link) => `<li><a href="${link}">${link}</a></li>`).join('');
    const noise = noiseOf(path, this.options.noiseLines).map((line) => `<p>${line}</p>`);
    const body = `<!doctype html><html><head><title>${path}</title></head><body><main><h1>${path}</h1><p>${wordsOf(path)}</p>${noise.join('')}</main><nav><ul>${anchors}</ul></nav></body></html>`;
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(body);
  }
}

function wordsOf(path: string): string {
  return `${WORDS[path.length % WORDS.length]!} ${path} `.repeat(40);
}

function placeOf(folder: string, page: number): string {
  return page === 0 ? `/${folder}` : `/${folder}/p/${page}`;
}

/** Lines that only this page has. */
export function noiseOf(path: string, lines: number): string[] {
  return Array.from({ length: lines }, (_, i) => createHash('sha256').update(`${path} ${i}`).digest('hex'));
}
