/**
 * The first handler of every request: an id, CORS, and the refusal of foreign pages and of bodies that are no JSON.
 *
 * One function instead of a row of middlewares: this is on the path of every sync scrape.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../errors/api-error.js';
import { foreignPage, type PageRules } from './foreign-pages.js';

const REQUEST_ID = 'x-request-id';
const SANE_ID = /^[\w.:-]{1,128}$/;
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;
const PREFLIGHT_AGE_S = '86400';
const EXPOSED = 'x-request-id, retry-after';
/** Clients send a file there: the call itself has to say that it is not offered. */
const UPLOAD_PATH = '/v2/parse';
/** Paths on which a DELETE may have a body. */
const ADMIN_PATHS = '/admin/';
const ALL_METHODS = 'GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS';

export const BODY_LIMIT_BYTES = 10 * 1024 * 1024;

export function requestIdOf(request: Request): string {
  return (request as { id?: string }).id ?? '';
}

/** Set when this replica is about to end: answers then close their connections, and readiness says no. */
@Injectable()
export class EdgeState {
  draining = false;
}

export function createEdge(state: EdgeState, rules: PageRules) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const asked = request.headers[REQUEST_ID];
    const id = typeof asked === 'string' && SANE_ID.test(asked) ? asked : randomUUID();
    Object.assign(request, { id });
    response.setHeader(REQUEST_ID, id);
    if (state.draining) response.setHeader('connection', 'close');
    const refusal = foreignPage(request, rules);
    if (refusal !== null) return next(new ApiError(403, refusal));
    // Without keys only its own pages may read the answers, and they need no CORS header.
    if (rules.authMode !== 'none') response.setHeader('access-control-allow-origin', '*');
    if (request.method === 'OPTIONS') return answerPreflight(request, response);
    response.setHeader('access-control-expose-headers', EXPOSED);
    next(
      hasForeignBody(request)
        ? new ApiError(415, 'Unsupported Media Type: the body must be application/json')
        : undefined,
    );
  };
}

function answerPreflight(request: Request, response: Response): void {
  response.setHeader('access-control-allow-methods', ALL_METHODS);
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*');
  response.setHeader('access-control-max-age', PREFLIGHT_AGE_S);
  response.status(204).end();
}

/** Some clients send a body where none has a meaning. It is not read. */
export function readsBody({ method, path }: Pick<Request, 'method' | 'path'>): boolean {
  if (method === 'DELETE') return path.startsWith(ADMIN_PATHS);
  return method !== 'GET' && method !== 'HEAD';
}

/** For the body parser. */
export function hasJsonBody(request: IncomingMessage): boolean {
  const { method, originalUrl, headers } = request as Request;
  return readsBody({ method, path: originalUrl }) && JSON_TYPE.test(headers['content-type'] ?? '');
}

function hasForeignBody(request: Request): boolean {
  if (request.method !== 'POST' || request.path === UPLOAD_PATH) return false;
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  return hasBody && !JSON_TYPE.test(request.headers['content-type'] ?? '');
}

/** Turns errors of the JSON body parser into answers of the API. Must stand right behind the parser. */
export function refuseBadBody(error: unknown, _request: Request, _response: Response, next: NextFunction): void {
  next(bodyError(error));
}

function bodyError(error: unknown): unknown {
  const { type, status } = error as { type?: string; status?: number };
  if (type === 'entity.too.large') {
    return new ApiError(413, `Payload Too Large: the body may have at most ${BODY_LIMIT_BYTES / 1024 / 1024} MB`);
  }
  if (type === 'entity.parse.failed') {
    return new ApiError(400, 'Bad Request: the body is not valid JSON', { code: 'BAD_REQUEST_INVALID_JSON' });
  }
  if (status === 415) return new ApiError(415, 'Unsupported Media Type: charset or content encoding of the body');
  if (status === 400)
    return new ApiError(400, 'Bad Request: the body could not be read', {
      code: 'BAD_REQUEST_INVALID_JSON',
      cause: error,
    });
  return error;
}
