/**
 * Black-box calls to a running gateway. `TROUPE_TEST_URL` and `TROUPE_TEST_KEY` name it; without them the suites say
 * that they were skipped.
 */
import { describe } from '@jest/globals';

export const BASE = process.env.TROUPE_TEST_URL?.replace(/\/+$/, '') ?? '';
export const KEY = process.env.TROUPE_TEST_KEY ?? '';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown>;
}

export interface CallOptions {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  raw?: string;
}

/** A call with the key; `headers.authorization: ''` leaves it out. */
export async function call(path: string, options: CallOptions = {}): Promise<Answer> {
  const payload = options.raw ?? (options.json === undefined ? undefined : JSON.stringify(options.json));
  const headers: Record<string, string> = { authorization: `Bearer ${KEY}`, ...options.headers };
  if (headers.authorization === '') delete headers.authorization;
  if (payload !== undefined) headers['content-type'] ??= 'application/json';
  const response = await fetch(path.startsWith('http') ? path : BASE + path, {
    method: options.method ?? (payload === undefined ? 'GET' : 'POST'),
    headers,
    body: payload,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: asObject(text) };
}

export const post = (path: string, json: unknown, headers: Record<string, string> = {}) =>
  call(path, { json, headers });

function asObject(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** A suite that needs the gateway. */
export function describeApi(name: string, suite: () => void): void {
  if (BASE !== '' && KEY !== '') describe(name, suite);
  else describe.skip(`${name} (SKIPPED: set TROUPE_TEST_URL and TROUPE_TEST_KEY)`, suite);
}
