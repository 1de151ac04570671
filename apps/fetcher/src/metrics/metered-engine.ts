import { inSpan, isTroupeError, NO_TRACES, type EngineName, type Tracer } from '@troupe/contracts';
import type { Metrics } from '@troupe/observability';
import type { EngineRequest, EngineResponse, FetchEngine } from '../engines/index.js';

/** Requests to sites, whoever makes them: pages, robots.txt, sitemaps. */
export class FetchCounts {
  readonly seconds;
  readonly answers;
  readonly failures;
  readonly bytes;
  readonly inflight;

  constructor(metrics: Metrics) {
    this.seconds = metrics.histogram({
      name: 'troupe_fetch_seconds',
      help: 'Time of a request to a site, from DNS to the last byte, redirects included; in a browser until the page is read',
      labels: ['engine'],
    });
    this.answers = metrics.counter({
      name: 'troupe_fetch_answers_total',
      help: 'Answers of sites by status code',
      labels: ['engine', 'status'],
    });
    this.failures = metrics.counter({
      name: 'troupe_fetch_failures_total',
      help: 'Requests to sites without an answer, by error code',
      labels: ['engine', 'code'],
    });
    this.bytes = metrics.counter({
      name: 'troupe_fetch_bytes_total',
      help: 'Bytes of the answers of sites, after content decoding',
      labels: ['engine'],
    });
    this.inflight = metrics.gauge({
      name: 'troupe_fetch_inflight',
      help: 'Requests to sites under way',
      labels: ['engine'],
    });
  }
}

/** Codes that sites make up are one value. */
const KNOWN_STATUS = /^[1-5]\d\d$/;

/** An engine whose requests are counted, and recorded when their page is. */
export class MeteredEngine implements FetchEngine {
  constructor(
    private readonly engine: FetchEngine,
    private readonly name: EngineName,
    private readonly watchers: { counts: FetchCounts; tracer?: Tracer },
  ) {}

  /** No address: what the page's own span tells of it depends on its job. */
  fetch(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const attributes = { 'troupe.engine': this.name, 'troupe.proxy': request.proxy };
    return inSpan(
      this.watchers.tracer ?? NO_TRACES,
      [`fetch ${this.name}`, request.trace, { kind: 'client', attributes }],
      async (span) => {
        const response = await this.#counted({ ...request, trace: span.context }, signal);
        const { statusCode, body, redirects } = response;
        span.set({
          'http.response.status_code': statusCode,
          'http.response.body.size': body.byteLength,
          'troupe.redirects': redirects.length,
        });
        return response;
      },
    );
  }

  async #counted(request: EngineRequest, signal: AbortSignal): Promise<EngineResponse> {
    const { seconds, answers, failures, bytes, inflight } = this.watchers.counts;
    const engine = this.name;
    const stop = seconds.startTimer({ engine });
    inflight.inc({ engine });
    try {
      const response = await this.engine.fetch(request, signal);
      const status = String(response.statusCode);
      answers.inc({ engine, status: KNOWN_STATUS.test(status) ? status : 'other' });
      bytes.inc({ engine }, response.body.byteLength);
      return response;
    } catch (error) {
      failures.inc({ engine, code: isTroupeError(error) ? error.code : 'UNKNOWN_ERROR' });
      throw error;
    } finally {
      stop();
      inflight.dec({ engine });
    }
  }

  close(): Promise<void> {
    return this.engine.close();
  }
}
