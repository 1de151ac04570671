/** Counts requests, with their status and duration, by route. */
import type { Metrics } from '@troupe/observability';
import type { NextFunction, Request, Response } from 'express';
import { CLIENT_GONE, routeOf } from './request-route.js';

/**
 * Requests that may be held until there is news, or stream until a job ends, are counted and not timed: how long they take
 * says nothing about the gateway.
 */
export function createRequestMetrics(metrics: Metrics) {
  const seconds = metrics.histogram({
    name: 'troupe_http_request_seconds',
    help: 'Time from a request to the end of its answer, without those that wait for news of a job',
    labels: ['method', 'route'],
  });
  const requests = metrics.counter({
    name: 'troupe_http_requests_total',
    help: 'Requests by route and status; 499: the client went away',
    labels: ['method', 'route', 'status'],
  });
  const inflight = metrics.gauge({ name: 'troupe_http_inflight', help: 'Requests that have no answer yet' });
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    inflight.inc();
    response.once('close', () => {
      inflight.dec();
      const { method } = request;
      const route = routeOf(request);
      const status = String(response.writableFinished ? response.statusCode : CLIENT_GONE);
      requests.inc({ method, route, status });
      if (!mayWait(request)) seconds.observe({ method, route }, (performance.now() - startedAt) / 1000);
    });
    next();
  };
}

function mayWait({ method, query, headers }: Request): boolean {
  return method === 'GET' && (query.skip !== undefined || (headers.accept ?? '').includes('ndjson'));
}
