/**
 * Sends requests to a model's provider: through the operator's proxy, or directly. A team's own address must be a place
 * that the installation allows. The provider's answer is noted for the report of a failure.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { basicAuth, connectOf, Connector, type Resolver } from '@troupe/egress';
import type * as Undici from 'undici';

/** The answer to the last request of a call; filled in while it runs. */
export interface CallTrace {
  /** A request was written and handed over. */
  isSent: boolean;
  /** null: no answer came. */
  status: number | null;
  headers: Record<string, string>;
  /** Start of an error's body. */
  errorText: string;
  /** The socket's error code when no answer came: `ECONNREFUSED`. */
  networkCode: string | null;
}

export interface TransportOptions {
  /** `http://[user:password@]host:port`; null: directly. */
  proxy: string | null;
  /** Only addresses that this one allows are connected to; null: any. */
  resolver: Resolver | null;
  /** Connections to one host. */
  connections: number;
}

const MAX_ERROR_CHARS = 4_000;
/** The largest answer that is read from the wire. A model's answer to one call is far below. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 4_000;

interface Client {
  fetch: typeof Undici.fetch;
  dispatcher: Undici.Dispatcher;
}

export class Transport {
  /** The client is large, so it is loaded only where there is a model. */
  private client: Promise<Client> | null = null;

  constructor(private readonly options: TransportOptions) {}

  /** A `fetch` for one call, and the trace of its requests. */
  open(): { fetch: typeof fetch; trace: CallTrace } {
    const trace: CallTrace = { isSent: false, status: null, headers: {}, errorText: '', networkCode: null };
    const traced = async (input: unknown, init?: RequestInit): Promise<Response> => {
      Object.assign(trace, { isSent: true, status: null, headers: {}, errorText: '', networkCode: null });
      try {
        const response = await this.send(input, init);
        trace.status = response.status;
        trace.headers = Object.fromEntries(response.headers);
        return response.ok ? bounded(response) : await readError(response, trace);
      } catch (error) {
        trace.networkCode = networkCode(error);
        throw error;
      }
    };
    return { fetch: traced, trace };
  }

  async close(): Promise<void> {
    await (await this.client)?.dispatcher.destroy();
  }

  private async load(): Promise<Client> {
    const { Agent, fetch, ProxyAgent } = await import('undici');
    const { proxy, resolver, connections } = this.options;
    const common = { connections, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEEP_ALIVE_MS, pipelining: 1 };
    if (proxy !== null) return { fetch, dispatcher: new ProxyAgent({ ...common, ...proxyAddress(proxy) }) };
    const connect = resolver === null ? { timeout: CONNECT_TIMEOUT_MS } : connectOf(checked(resolver));
    return { fetch, dispatcher: new Agent({ ...common, connect }) };
  }

  /** The address that a proxy connects to cannot be pinned here, so the name is checked before. */
  private async checkAddress(url: URL, signal: AbortSignal | null | undefined): Promise<void> {
    const { proxy, resolver } = this.options;
    if (proxy === null || resolver === null) return;
    const { hostname, port, protocol } = url;
    await resolver.resolve(
      hostname,
      port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      signal ?? undefined,
    );
  }

  private async send(input: unknown, init: RequestInit = {}): Promise<Response> {
    const { body, method, signal } = init;
    const url = new URL(input instanceof Request ? input.url : String(input));
    const headers = new Headers(init.headers);
    if (url.username !== '') headers.set('authorization', basicAuth(url));
    url.username = url.password = '';
    await this.checkAddress(url, signal);
    const client = await (this.client ??= this.load());
    const answer = await client.fetch(url, {
      body: body as string | undefined,
      headers: Object.fromEntries(headers),
      method,
      signal,
      // A redirect would take the key to an address that is not configured.
      redirect: 'manual',
      dispatcher: client.dispatcher,
    });
    return answer;
  }
}

function proxyAddress(proxy: string): { uri: string; token?: string } {
  const url = new URL(proxy);
  if (url.username === '') return { uri: url.href };
  const token = basicAuth(url);
  url.username = url.password = '';
  return { uri: url.href, token };
}

function checked(resolver: Resolver): Connector {
  return new Connector({ resolver, verifyTls: true, timeoutMs: CONNECT_TIMEOUT_MS });
}

/** An answer that never ends is given up. */
function bounded(response: Response): Response {
  if (response.body === null) return response;
  let left = MAX_ANSWER_BYTES;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.byteLength;
      if (left < 0) controller.error(new Error(`the model's answer is larger than ${MAX_ANSWER_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(limit), { status: response.status, headers: response.headers });
}

/** The same answer with as much of its body as an error may have. */
async function readError(response: Response, trace: CallTrace): Promise<Response> {
  trace.errorText = await firstChars(response);
  const { status, headers } = response;
  return new Response(trace.errorText, { status: status < 400 ? 502 : status, headers: plainHeaders(headers) });
}

function plainHeaders(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of ['content-encoding', 'content-length', 'transfer-encoding']) kept.delete(name);
  return kept;
}

async function firstChars({ body }: Response): Promise<string> {
  if (body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length >= MAX_ERROR_CHARS) break;
  }
  return text.slice(0, MAX_ERROR_CHARS);
}

function networkCode(error: unknown): string {
  const { code, name, cause } = error as { code?: unknown; name?: string; cause?: unknown };
  if (cause !== undefined && cause !== null) return networkCode(cause);
  return typeof code === 'string' ? code : (name ?? 'unknown');
}

const ambient = new AsyncLocalStorage<typeof fetch>();
let isRouted = false;

/**
 * Runs `work` with `own` in the place of the global `fetch`, for it alone: one provider's client takes no other.
 */
export function withFetch<T>(own: typeof fetch, work: () => Promise<T>): Promise<T> {
  if (!isRouted) {
    const original = globalThis.fetch;
    globalThis.fetch = (input, init) => (ambient.getStore() ?? original)(input, init);
    isRouted = true;
  }
  return ambient.run(own, work);
}
