/** The HTTP API as a plain client sees it: status, headers, text and the parsed body, nothing hidden. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** {} when the text is no JSON. */
  body: Record<string, unknown>;
  ms: number;
}

export interface CallOptions {
  /** @default GET without a payload, POST with one */
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  raw?: string;
}

export class ApiClient {
  constructor(
    readonly url: string,
    readonly key: string,
  ) {}

  /** A call with the key; `headers.authorization: ''` leaves it out. */
  async call(path: string, options: CallOptions = {}): Promise<Answer> {
    const payload = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
    const headers: Record<string, string> = { authorization: `Bearer ${this.key}`, ...options.headers };
    if (headers.authorization === '') delete headers.authorization;
    if (payload !== undefined) headers['content-type'] ??= 'application/json';
    const startedMs = performance.now();
    const response = await fetch(path.startsWith('http') ? path : this.url + path, {
      method: options.method ?? (payload === undefined ? 'GET' : 'POST'),
      headers,
      body: payload,
    });
    const text = await response.text();
    const { status } = response;
    return { status, headers: response.headers, text, body: asObject(text), ms: performance.now() - startedMs };
  }

  post(path: string, json: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call(path, { json, headers });
  }

  /** Polls a job until it is no longer `scraping`; resolves with its last status. */
  async finished<T>(path: string, timeoutMs = 60_000): Promise<T> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const { body } = await this.call(path);
      if (body.status !== 'scraping') return body as T;
      if (performance.now() > deadlineMs) {
        throw new Error(`${path} did not end within ${timeoutMs} ms: ${JSON.stringify({ ...body, data: undefined })}`);
      }
      await sleep(150);
    }
  }
}

function asObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
