/**
 * A search engine that speaks SearXNG's JSON API over a small corpus: words of the query must be in title or text,
 * `site:`, `-site:`, `filetype:` and groups with OR are understood, ten results a page.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Indexed {
  url: string;
  title: string;
  content: string;
  category: 'general' | 'news' | 'images';
  publishedDate?: string;
  img_src?: string;
  thumbnail?: string;
  resolution?: string;
}

/** How the server answers: as it should, or in one of the ways in which real ones fail. */
export type SearxngBehaviour =
  'well' | 'no-json' | 'limited' | 'broken' | 'garbage' | 'huge' | 'silent' | 'engines-down';

export interface SearxngServer {
  url: string;
  mood: SearxngBehaviour;
  /** Parameters of the queries so far. */
  queries: URLSearchParams[];
  /** Headers of the last query. */
  headers: IncomingMessage['headers'];
  close(): Promise<void>;
}

const PAGE_SIZE = 10;
const HUGE_BYTES = 20 * 1024 * 1024;

export async function startSearxng(corpus: () => Indexed[]): Promise<SearxngServer> {
  const http = createServer((request, response) => answer(server, corpus(), request, response));
  const server: SearxngServer = {
    url: '',
    mood: 'well',
    queries: [],
    headers: {},
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return server;
}

function answer(server: SearxngServer, corpus: Indexed[], request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', server.url);
  server.queries.push(searchParams);
  server.headers = request.headers;
  if (!pathname.endsWith('/search')) return void response.writeHead(404).end('not here');
  if (server.mood === 'silent') return;
  if (server.mood === 'no-json') return void response.writeHead(403, { 'content-type': 'text/html' }).end('Forbidden');
  if (server.mood === 'limited') return void response.writeHead(429).end('Too Many Requests');
  if (server.mood === 'broken') return void response.writeHead(502).end('Bad Gateway');
  response.writeHead(200, { 'content-type': 'application/json' });
  if (server.mood === 'garbage') return void response.end('<html>not json</html>');
  if (server.mood === 'huge') return void response.end(`{"results":["${'x'.repeat(HUGE_BYTES)}"]}`);
  response.end(JSON.stringify(bodyOf(server.mood, corpus, searchParams)));
}

function bodyOf(mood: SearxngBehaviour, corpus: Indexed[], parameters: URLSearchParams) {
  const isDown = mood === 'engines-down';
  const query = parameters.get('q') ?? '';
  const from = (Number(parameters.get('pageno') ?? 1) - 1) * PAGE_SIZE;
  const category = parameters.get('categories') ?? 'general';
  const found = isDown ? [] : corpus.filter((page) => page.category === category && matches(page, query));
  return {
    query,
    number_of_results: found.length,
    results: found.slice(from, from + PAGE_SIZE).map((page) => ({ ...page, engine: 'test', score: 1 })),
    answers: [],
    suggestions: [],
    unresponsive_engines: isDown ? [['google', 'timeout']] : [],
  };
}

function matches(page: Indexed, query: string): boolean {
  const groups = query.match(/\([^)]*\)|\S+/g) ?? [];
  return groups.every((group) =>
    group
      .replace(/^\(|\)$/g, '')
      .split(' OR ')
      .some((term) => fits(page, term)),
  );
}

function fits({ url, title, content }: Indexed, term: string): boolean {
  if (term.startsWith('-')) return !fits({ url, title, content, category: 'general' }, term.slice(1));
  if (term.startsWith('site:')) return `.${new URL(url).hostname}`.endsWith(`.${term.slice('site:'.length)}`);
  if (term.startsWith('filetype:')) return url.endsWith(`.${term.slice('filetype:'.length)}`);
  return `${title} ${content}`.toLowerCase().includes(term.toLowerCase());
}
