import { EventEmitter } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { NO_SPAN, NO_TRACES, type TraceSpan, type SpanAttributes, type Tracer } from '@troupe/contracts';
import type { Request, Response } from 'express';
import { createRequestTraces, traceOfRequest } from './request-traces.js';

const CONTEXT = `00-${'a'.repeat(32)}-${'1'.repeat(16)}-01`;

function around({ path = '/v2/crawl', method = 'POST', headers = {}, isRecorded = true } = {}) {
  const said = {
    names: [] as string[],
    attributes: {} as SpanAttributes,
    callers: [] as unknown[],
    ends: [] as unknown[],
  };
  const span: TraceSpan = {
    context: CONTEXT,
    set: (attributes) => void Object.assign(said.attributes, attributes),
    rename: (name) => void said.names.push(name),
    end: (error) => void said.ends.push(error),
  };
  const within: (string | undefined)[] = [];
  const tracer: Tracer = {
    ...NO_TRACES,
    root: (_name, caller) => {
      said.callers.push(caller);
      return isRecorded ? span : NO_SPAN;
    },
    within: (trace, work) => {
      within.push(trace);
      return work();
    },
  };
  const request = { path, method, headers, baseUrl: '', route: { path }, id: 'r1' } as unknown as Request;
  const response = Object.assign(new EventEmitter(), { statusCode: 200, writableFinished: true });
  let passed = 0;
  createRequestTraces(tracer)(request, response as unknown as Response, () => passed++);
  return { said, within, request, response, passed: () => passed };
}

describe('the trace of a request', () => {
  it('begins where its caller says, and is that of everything below', () => {
    const { said, within, request, passed } = around({ headers: { traceparent: 'of the caller' } });
    expect(said.callers).toEqual(['of the caller']);
    expect(within).toEqual([CONTEXT]);
    expect(traceOfRequest(request)).toBe(CONTEXT);
    expect(passed()).toBe(1);
  });

  it('is named by its route and ends with the answer', () => {
    const { said, response } = around();
    response.emit('close');
    expect(said).toMatchObject({ names: ['POST /v2/crawl'], ends: [undefined] });
    expect(said.attributes).toEqual({ 'http.route': '/v2/crawl', 'http.response.status_code': 200 });
  });

  it('tells of answers that are our fault, and of clients that went away', () => {
    const broken = around();
    broken.response.statusCode = 503;
    broken.response.emit('close');
    expect(broken.said.ends[0]).toBeInstanceOf(Error);
    const gone = around();
    gone.response.writableFinished = false;
    gone.response.emit('close');
    expect(gone.said.attributes).toMatchObject({ 'http.response.status_code': 499 });
    expect(gone.said.ends).toEqual([undefined]);
  });

  it('has no owner when it is not recorded', () => {
    const { within, request, response, passed } = around({ isRecorded: false });
    expect([within, traceOfRequest(request), response.listenerCount('close'), passed()]).toEqual([[], undefined, 0, 1]);
  });

  it.each([
    ['/health/readiness', 'GET'],
    ['/openapi.json', 'GET'],
    ['/v2/crawl', 'OPTIONS'],
  ])('is not asked for %s (%s)', (path, method) => {
    const { said, passed } = around({ path, method });
    expect([said.callers, passed()]).toEqual([[], 1]);
  });
});
