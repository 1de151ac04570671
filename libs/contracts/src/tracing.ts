/**
 * Port of tracing: descriptions of the code's work, and the trace that goes on with messages. Whether anything is recorded is
 * decided once, at the API call; from there on an absent context means that nothing is recorded.
 */

/** W3C `traceparent` of a recorded span: `00-<trace>-<span>-01`. As text it crosses threads, messages and tables. */
export type TraceParent = string;

export type SpanKind = 'internal' | 'client' | 'server' | 'producer' | 'consumer';
/** Never an address with credentials or a query, never a page's content; of jobs with zero retention no address at all. */
export type SpanAttributes = Record<string, string | number | boolean>;

export interface SpanOptions {
  /** @default 'internal' */
  kind?: SpanKind;
  attributes?: SpanAttributes;
  /** Further spans of which this one is a consequence. */
  links?: readonly TraceParent[];
}

export interface TraceSpan {
  /** Context for the work below it; undefined: it is not recorded. */
  readonly context: TraceParent | undefined;
  set(attributes: SpanAttributes): void;
  rename(name: string): void;
  /** `error` says why the work failed; of a `TroupeError` its code is kept. */
  end(error?: unknown): void;
}

export interface Tracer {
  /** Span of a request from outside; `caller` is its own `traceparent`, whose decision is followed. */
  root(name: string, caller: string | undefined, options?: SpanOptions): TraceSpan;
  /** Below a recorded span; without one nothing is recorded. */
  span(name: string, parent: TraceParent | undefined, options?: SpanOptions): TraceSpan;
  /** The trace that `within` was told around the running code. Only where most of the work is waiting: it is not free. */
  active(): TraceParent | undefined;
  within<T>(trace: TraceParent | undefined, work: () => T): T;
}

export const NO_SPAN: TraceSpan = {
  context: undefined,
  set: () => undefined,
  rename: () => undefined,
  end: () => undefined,
};

/** Records nothing, costs nothing. */
export const NO_TRACES: Tracer = {
  root: () => NO_SPAN,
  span: () => NO_SPAN,
  active: () => undefined,
  within: (_trace, work) => work(),
};

/** A span around `work`, which is handed the context for what belongs below it. */
export async function inSpan<T>(
  tracer: Tracer,
  [name, parent, options]: readonly [name: string, parent: TraceParent | undefined, options?: SpanOptions],
  work: (span: TraceSpan) => Promise<T>,
): Promise<T> {
  if (parent === undefined) return work(NO_SPAN);
  const span = tracer.span(name, parent, options);
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

const TRACE_ID = /^00-([0-9a-f]{32})-/;

/** The part that all spans of a trace have in common; what a log line is found by. */
export function traceIdOf(trace: TraceParent | undefined): string | undefined {
  return trace === undefined ? undefined : TRACE_ID.exec(trace)?.[1];
}

/** For a log line about a recorded request; nothing else has a trace to be found. */
export function traceField(trace: TraceParent | undefined): { traceId?: string } {
  const traceId = traceIdOf(trace);
  return traceId === undefined ? {} : { traceId };
}
