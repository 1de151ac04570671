/**
 * SearXNG as the search provider, over its JSON API (https://docs.searxng.org/dev/search_api.html). Its address comes
 * from the operator and may be private. Its answers are capped and checked like anything else from outside.
 */
import { Agent, request, type Dispatcher } from 'undici';
import { TroupeError } from '@troupe/contracts';
import { parseUrl } from '@troupe/frontier';
import { type ProviderQuery, type SearchHit, type SearchHits, type SearchProvider } from './search-provider.js';

const CATEGORIES = { web: 'general', news: 'news', images: 'images' } as const;
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** An instance waits this long for its slowest engine, and longer ones are cut by the caller's signal. */
const TIMEOUT_MS = 30_000;
const CONNECTIONS = 16;
const MAX_HITS = 500;
const MAX_TITLE_CHARS = 1000;
const MAX_TEXT_CHARS = 10_000;
const MAX_DATE_CHARS = 100;

export class SearxngProvider implements SearchProvider {
  private readonly address: URL;
  private readonly headers: Record<string, string>;
  private readonly agent = new Agent({ connections: CONNECTIONS, connectTimeout: TIMEOUT_MS });

  /** `baseUrl` may have a path and credentials. */
  constructor(baseUrl: string) {
    const base = new URL(baseUrl);
    const { username, password } = base;
    base.username = base.password = base.search = base.hash = '';
    this.address = new URL(`${base.href.replace(/\/+$/, '')}/search`);
    const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.headers = {
      accept: 'application/json',
      ...(login === ':' ? {} : { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    };
  }

  async search(query: ProviderQuery, signal: AbortSignal): Promise<SearchHits> {
    const body = await this.ask(query, signal);
    return { hits: readHits(body.results), warning: silentEngines(body.unresponsive_engines) };
  }

  async close(): Promise<void> {
    await this.agent.close();
  }

  private async ask(query: ProviderQuery, signal: AbortSignal): Promise<Record<string, unknown>> {
    signal.throwIfAborted();
    try {
      const answer = await request(addressOf(this.address, query), {
        dispatcher: this.agent,
        headers: this.headers,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
        signal,
      });
      return await readAnswer(answer);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TroupeError) throw error;
      throw searchFailed('could not be reached', error);
    }
  }
}

function addressOf(address: URL, { text, source, language, maxAge, safe, page }: ProviderQuery): URL {
  const url = new URL(address);
  url.searchParams.set('q', text);
  url.searchParams.set('format', 'json');
  url.searchParams.set('categories', CATEGORIES[source]);
  url.searchParams.set('pageno', String(page));
  url.searchParams.set('language', language ?? 'all');
  url.searchParams.set('safesearch', safe ? '2' : '0');
  if (maxAge !== null) url.searchParams.set('time_range', maxAge);
  return url;
}

async function readAnswer({ statusCode, body }: Dispatcher.ResponseData): Promise<Record<string, unknown>> {
  if (statusCode !== 200) {
    body.on('error', () => undefined).destroy();
    throw searchFailed(REASONS[statusCode] ?? `answered with HTTP status ${statusCode}`);
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.byteLength;
    if (bytes > MAX_BODY_BYTES) throw searchFailed(`answered with more than ${MAX_BODY_BYTES} bytes`);
    parts.push(part);
  }
  return parseAnswer(Buffer.concat(parts).toString('utf8'));
}

const REASONS: Record<number, string> = {
  401: 'asks for other credentials than those of its address',
  403: 'refuses to answer: its settings must list json under search.formats',
  429: 'has had too many queries and asks for a pause',
};

function parseAnswer(text: string): Record<string, unknown> {
  try {
    const answer: unknown = JSON.parse(text);
    if (isRecord(answer)) return answer;
  } catch {
    // Said below.
  }
  throw searchFailed('did not answer with JSON');
}

/** The provider's address is for the operator only: it stays out of the text. */
function searchFailed(reason: string, cause?: unknown): TroupeError {
  return new TroupeError('SEARCH_FAILED', `The search provider ${reason}`, { cause, retryable: true });
}

function readHits(results: unknown): SearchHit[] {
  if (!Array.isArray(results)) throw searchFailed('answered without a list of results');
  return results.slice(0, MAX_HITS).flatMap((result) => readHit(result) ?? []);
}

function readHit(result: unknown): SearchHit | null {
  if (!isRecord(result)) return null;
  const url = webAddress(result.url);
  if (url === null) return null;
  return {
    url,
    title: textOf(result.title, MAX_TITLE_CHARS),
    text: textOf(result.content, MAX_TEXT_CHARS),
    date: textOf(result.publishedDate, MAX_DATE_CHARS) || null,
    imageUrl: webAddress(result.img_src, url) ?? webAddress(result.thumbnail, url),
    imageSize: sizeOf(result.resolution),
  };
}

function textOf(value: unknown, maxChars: number): string {
  return typeof value === 'string' ? value.trim().slice(0, maxChars) : '';
}

function webAddress(value: unknown, base?: string): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const url = parseUrl(value, base);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.href : null;
}

/** `1920 x 1080` */
function sizeOf(resolution: unknown): SearchHit['imageSize'] {
  const match = typeof resolution === 'string' ? /^\s*(\d{1,6})\s*[x×]\s*(\d{1,6})/i.exec(resolution) : null;
  return match === null ? null : { width: Number(match[1]), height: Number(match[2]) };
}

function silentEngines(engines: unknown): string | null {
  if (!Array.isArray(engines) || engines.length === 0) return null;
  const names = engines.map((engine: unknown) => textOf(Array.isArray(engine) ? engine[0] : engine, 50));
  return `Engines of the search provider that did not answer: ${names.slice(0, 20).join(', ')}.`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
