/** Traces by OpenTelemetry's SDK. Loaded only when there is a collector: see `traces.ts`. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  isSpanContextValid,
  ROOT_CONTEXT,
  SpanKind as OtelKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span as OtelSpan,
  type SpanContext,
  type Tracer as OtelTracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { isTroupeError, NO_SPAN, type TraceSpan, type SpanAttributes, type SpanKind } from '@troupe/contracts';
import type { SpanOptions, TraceParent, Tracer } from '@troupe/contracts';
import type { OpenTraces, TraceDestination } from './trace-destination.js';

/** Finished spans that may wait; further ones are dropped. */
const MAX_QUEUE = 4_096;
const BATCH = 512;
const EXPORT_EVERY_MS = 2_000;
/** One request to the collector, its repeats included. */
const EXPORT_TIMEOUT_MS = 10_000;
/** The end of a process waits this long for the collector. */
const STOP_TIMEOUT_MS = 2_000;
const MAX_ATTRIBUTE_CHARS = 1_024;
const MAX_LINKS = 16;
/** `ExportResultCode.SUCCESS`, whose package is none of ours. */
const SENT = 0;

const KINDS: Record<SpanKind, OtelKind> = {
  internal: OtelKind.INTERNAL,
  client: OtelKind.CLIENT,
  server: OtelKind.SERVER,
  producer: OtelKind.PRODUCER,
  consumer: OtelKind.CONSUMER,
};

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** null: the caller sent none that is valid, and the request begins a trace of its own. */
function parseTraceParent(text: string): SpanContext | null {
  const [, version, traceId, spanId, flags] = TRACEPARENT.exec(text.trim()) ?? [];
  if (traceId === undefined || spanId === undefined || version === 'ff') return null;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(context) ? context : null;
}

function under(parent: string | undefined): Context {
  const context = parent === undefined ? null : parseTraceParent(parent);
  return context === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, context);
}

class RecordedSpan implements TraceSpan {
  readonly context: TraceParent;

  constructor(private readonly span: OtelSpan) {
    const { traceId, spanId } = span.spanContext();
    this.context = `00-${traceId}-${spanId}-01`;
  }

  set(attributes: SpanAttributes): void {
    this.span.setAttributes(attributes);
  }

  rename(name: string): void {
    this.span.updateName(name);
  }

  /** The text of an error may hold an address: it is left to the log. */
  end(error?: unknown): void {
    if (error !== undefined) {
      this.span.setAttribute('error.type', errorType(error));
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end();
  }
}

function errorType(error: unknown): string {
  if (isTroupeError(error)) return error.code;
  return error instanceof Error ? error.name : 'unknown';
}

class OtelTraces implements Tracer {
  private readonly running = new AsyncLocalStorage<TraceParent>();

  constructor(private readonly tracer: OtelTracer) {}

  root(name: string, caller: string | undefined, options: SpanOptions = {}): TraceSpan {
    return this.start(name, under(caller), options);
  }

  span(name: string, parent: TraceParent | undefined, options: SpanOptions = {}): TraceSpan {
    return parent === undefined ? NO_SPAN : this.start(name, under(parent), options);
  }

  active(): TraceParent | undefined {
    return this.running.getStore();
  }

  within<T>(parent: TraceParent | undefined, work: () => T): T {
    return parent === undefined ? work() : this.running.run(parent, work);
  }

  private start(name: string, context: Context, { kind = 'internal', attributes, links = [] }: SpanOptions): TraceSpan {
    const linked = links.slice(0, MAX_LINKS).flatMap((link) => parseTraceParent(link) ?? []);
    const span = this.tracer.startSpan(
      name,
      { kind: KINDS[kind], attributes, links: linked.map((target) => ({ context: target })) },
      context,
    );
    return span.isRecording() ? new RecordedSpan(span) : NO_SPAN;
  }
}

/** Reports batches that did not arrive; the SDK itself is silent about them. */
class WatchedExporter implements SpanExporter {
  constructor(
    private readonly exporter: SpanExporter,
    private readonly onResult: TraceDestination['onResult'],
  ) {}

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.exporter.export(spans, (result) => {
      this.onResult(
        spans.length,
        Number(result.code) === SENT ? null : (result.error ?? new Error('the collector refused')),
      );
      done(result);
    });
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }
}

/** Sends what is recorded to the collector in batches, from a queue that does not grow while the collector takes none. */
export function openOtelTraces({ url, headers, ratio, service, instance, onResult }: TraceDestination): OpenTraces {
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_TIMEOUT_MS, concurrencyLimit: 1 });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'troupe',
      'service.name': `troupe-${service}`,
      'service.instance.id': instance,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new WatchedExporter(exporter, onResult),
        maxQueueSize: MAX_QUEUE,
        maxExportBatchSize: BATCH,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  return { tracer: new OtelTraces(provider.getTracer('troupe')), stop: () => stopInTime(provider) };
}

async function stopInTime(provider: TracerProvider): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, STOP_TIMEOUT_MS);
  });
  await Promise.race([provider.shutdown().catch(() => undefined), late]);
  clearTimeout(timer);
}
