import type { Metrics } from '@troupe/observability';

/** Counts all requests to sites: pages, robots.txt, sitemaps. */
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
