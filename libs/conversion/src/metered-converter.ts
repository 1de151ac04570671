import {
  inSpan,
  NO_TRACES,
  type Converter,
  type ConvertRequest,
  type ConvertResult,
  type Tracer,
} from '@troupe/contracts';
import type { Metrics } from '@troupe/observability';

/** A converter whose pages are counted, and recorded when they are traced. */
export class MeteredConverter implements Converter {
  private readonly seconds;
  private readonly pages;
  private readonly waiting;

  constructor(
    private readonly converter: Converter,
    metrics: Metrics,
    private readonly tracer: Tracer = NO_TRACES,
  ) {
    this.seconds = metrics.histogram({
      name: 'troupe_convert_seconds',
      help: 'Time of a conversion, waiting for a thread included',
    });
    this.pages = metrics.counter({
      name: 'troupe_convert_pages_total',
      help: 'Converted pages by what they turned out to be; failed: not convertible',
      labels: ['verdict'],
    });
    this.waiting = metrics.gauge({ name: 'troupe_convert_inflight', help: 'Pages in conversion or waiting for it' });
  }

  convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    return inSpan(this.tracer, ['convert', request.trace], async (span) => {
      span.set({ 'troupe.bytes': request.body.byteLength });
      const result = await this.counted({ ...request, trace: span.context }, signal);
      span.set({ 'troupe.verdict': result.verdict });
      return result;
    });
  }

  private async counted(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    const stop = this.seconds.startTimer();
    this.waiting.inc();
    let verdict = 'failed';
    try {
      const result = await this.converter.convert(request, signal);
      ({ verdict } = result);
      return result;
    } finally {
      stop();
      this.waiting.dec();
      this.pages.inc({ verdict });
    }
  }
}
