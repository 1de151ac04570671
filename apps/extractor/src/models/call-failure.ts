/** Why one call of a provider failed, read from its answer and never from a client's error, which may show a key. */
import type { ErrorCode } from '@troupe/contracts';
import type { CallTrace } from './transport.js';

export type FailureKind =
  /** The provider answers that it has too many requests or is overloaded. */
  | 'busy'
  /** No answer, or one that reports a fault. */
  | 'down'
  /** The key, the model or the account is refused: the operator has to correct it. */
  | 'denied'
  | 'no-model'
  | 'no-credit'
  /** The address is none that this installation connects to. */
  | 'forbidden'
  /** The prompt does not fit. */
  | 'too-long'
  | 'filtered'
  /** This form of request is not understood; another form may be. */
  | 'form'
  | 'bad-request';

/** Part of a request that servers are known to refuse. */
export type Refused = 'form' | 'system' | 'temperature' | 'stream' | 'answer-tokens';

export class CallFailure extends Error {
  constructor(
    readonly kind: FailureKind,
    message: string,
    readonly details: {
      /** Wait in ms before another call makes sense; null: the provider does not say. */
      waitMs: number | null;
      /** What to leave out of the next request, when the kind is `form`. */
      refused: Refused | null;
      /** The failure holds for every request, not only for this schema. */
      isLasting: boolean;
    } = { waitMs: null, refused: null, isLasting: false },
  ) {
    super(message);
    this.name = 'CallFailure';
  }
}

const MAX_SHOWN_CHARS = 200;
const MAX_WAIT_MS = 600_000;

const TOO_LONG =
  /context[_ ]length|maximum context|context window|too many (?:input )?tokens|prompt is too long|input is too long|exceeds? the (?:maximum|available) (?:number of tokens|context)|reduce the length/i;
const FILTERED = /content[_ ]filter|content management policy|safety system|responsible ai/i;
const NO_CREDIT = /insufficient[_ ]quota|billing|credit balance|out of credits|exceeded your current quota/i;
const NO_MODEL =
  /model.{0,80}(?:not found|does not exist|not exist|unknown)|(?:unknown|no such|invalid) model|model_not_found/i;
const SYSTEM =
  /system (?:role|message|prompt|instruction).{0,60}(?:not|un)[ -]?(?:support|allow|enabled)|developer instruction/i;
const STREAM =
  /stream(?:ing|_options)?\b.{0,60}(?:not|un|in)[ -]?(?:support|allow|valid|known|recogni)|unknown.{0,40}stream/i;
const TEMPERATURE = /temperature/i;
const ANSWER_TOKENS = /max_(?:completion_|output_)?tokens|maxoutputtokens/i;
const FORM =
  /response_?format|json_?schema|json_?object|json mode|structured output|tool|function|grammar|jinja|output_(?:config|format)|schema/i;
const BAD_SCHEMA = /invalid schema|schema.{0,80}(?:invalid|too (?:large|complex|deep|many)|keyword|not permitted)/i;

/** @param secrets that must not be repeated, whatever part of the answer holds them */
// eslint-disable-next-line complexity -- a table: one line an answer, the first that fits counts
export function failureOf(trace: CallTrace, isTimeout: boolean, secrets: readonly string[]): CallFailure {
  const { status, errorText, networkCode } = trace;
  if (isTimeout) return new CallFailure('down', 'it did not answer in time');
  if (status === null && networkCode === ('SCRAPE_TARGET_FORBIDDEN' satisfies ErrorCode))
    return new CallFailure('forbidden', 'it is not allowed here');
  if (status === null) return new CallFailure('down', `no connection (${networkCode ?? 'unknown'})`);
  if (status < 300) return new CallFailure('down', 'its answer broke off or could not be read');
  const said = saidIn(errorText, secrets);
  const text = `it answered ${status}${said === '' ? '' : `: ${said}`}`;
  if (status === 429 && NO_CREDIT.test(errorText)) return new CallFailure('no-credit', text);
  if (status === 429 || status === 529) return busy(text, trace);
  if (status === 503 && hasWait(trace)) return busy(text, trace);
  if (status === 401 || status === 403 || status === 407) return new CallFailure('denied', text);
  if (status === 402) return new CallFailure('no-credit', text);
  if (status === 413 || TOO_LONG.test(errorText)) return new CallFailure('too-long', text);
  if (FILTERED.test(errorText)) return new CallFailure('filtered', text);
  if (status === 404 || (status < 500 && NO_MODEL.test(errorText))) return new CallFailure('no-model', text);
  const refused = refusedIn(errorText);
  if (status === 501 || (status >= 500 && refused === 'form')) return form(text, 'form', errorText);
  if (status >= 500 || status === 408) return new CallFailure('down', text);
  if (status >= 300 && status < 400)
    return new CallFailure('bad-request', `${text} (a redirect, which is not followed)`);
  return refused === null ? new CallFailure('bad-request', text) : form(text, refused, errorText);
}

/** A client refused to write the request at all. */
export function unwritten(error: unknown, secrets: readonly string[]): CallFailure {
  const reason = saidIn(error instanceof Error ? error.message : String(error), secrets);
  return new CallFailure('bad-request', `the request could not be written: ${reason}`);
}

function form(text: string, refused: Refused, errorText: string): CallFailure {
  return new CallFailure('form', text, { waitMs: null, refused, isLasting: !BAD_SCHEMA.test(errorText) });
}

function busy(text: string, trace: CallTrace): CallFailure {
  return new CallFailure('busy', text, { waitMs: waitOf(trace), refused: null, isLasting: false });
}

function refusedIn(errorText: string): Refused | null {
  if (SYSTEM.test(errorText)) return 'system';
  if (STREAM.test(errorText)) return 'stream';
  if (ANSWER_TOKENS.test(errorText)) return 'answer-tokens';
  if (TEMPERATURE.test(errorText)) return 'temperature';
  return FORM.test(errorText) ? 'form' : null;
}

function hasWait({ headers }: CallTrace): boolean {
  return headers['retry-after'] !== undefined || headers['retry-after-ms'] !== undefined;
}

/** As `retry-after-ms`, `retry-after` (seconds or a date) or the latest exhausted `x-ratelimit-reset-*` says. */
export function waitOf({ headers }: Pick<CallTrace, 'headers'>, nowMs = Date.now()): number | null {
  const ms = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(ms)) return bounded(ms);
  const after = headers['retry-after'];
  if (after !== undefined) {
    const seconds = Number(after);
    const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(after) - nowMs;
    if (Number.isFinite(wait)) return bounded(wait);
  }
  const resets = ['requests', 'tokens']
    .filter((what) => Number(headers[`x-ratelimit-remaining-${what}`] ?? 0) <= 0)
    .map((what) => durationMs(headers[`x-ratelimit-reset-${what}`]))
    .filter((wait) => wait !== null);
  return resets.length === 0 ? null : bounded(Math.max(...resets));
}

/** `6m0s`, `1.5s`, `120ms`, or bare seconds. */
function durationMs(text: string | undefined): number | null {
  if (text === undefined || text.length > 40) return null;
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text) * 1000;
  const units: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  return parts.length === 0 ? null : parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * units[unit!]!, 0);
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(0, waitMs), MAX_WAIT_MS);
}

/** The provider's error text, short and without secrets. */
function saidIn(errorText: string, secrets: readonly string[]): string {
  let said = errorText;
  try {
    const body = JSON.parse(errorText) as { error?: { message?: unknown } | string; message?: unknown };
    const inner = typeof body.error === 'object' ? body.error?.message : (body.error ?? body.message);
    if (typeof inner === 'string') said = inner;
  } catch {
    said = errorText.replace(/<[^>]*>/g, ' ');
  }
  for (const secret of secrets) said = said.replaceAll(secret, '***');
  // Providers repeat keys in part: `sk-abc***xyz`.
  const clean = said
    .replace(/\b(?:sk|key|Bearer)[-_ ][\w*.-]{6,}/gi, '***')
    .replace(/\s+/g, ' ')
    .trim();
  return clean.slice(0, MAX_SHOWN_CHARS);
}
