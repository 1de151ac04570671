/** The first span of a trace: one API call. Whether it is recorded is decided here, for everything that follows from it. */
import type { Tracer, TraceParent } from '@troupe/contracts';
import type { NextFunction, Request, Response } from 'express';
import { requestIdOf } from './edge.js';
import { CLIENT_GONE, routeOf } from './request-route.js';

const HEADER = 'traceparent';
/** Requests of the API. Health, documentation and preflights belong to no job or team. */
const RECORDED = /^\/(?:v1|v2|admin)\//;

/** undefined: the request is not recorded. */
export function traceOfRequest(request: Request): TraceParent | undefined {
  return (request as { trace?: TraceParent }).trace;
}

export function createRequestTraces(tracer: Tracer) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.method === 'OPTIONS' || !RECORDED.test(request.path)) return next();
    const { method } = request;
    const caller = request.headers[HEADER];
    const span = tracer.root(method, typeof caller === 'string' ? caller : undefined, {
      kind: 'server',
      attributes: { 'http.request.method': method, 'troupe.request': requestIdOf(request) },
    });
    if (span.context === undefined) return next();
    Object.assign(request, { trace: span.context });
    response.once('close', () => {
      const route = routeOf(request);
      const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
      span.rename(`${method} ${route}`);
      span.set({ 'http.route': route, 'http.response.status_code': status });
      span.end(status >= 500 ? new Error(String(status)) : undefined);
    });
    tracer.within(span.context, next);
  };
}
