/** The one place where a failure becomes an HTTP answer (docs/api/errors.md). */
import { Catch, HttpException, Inject, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { isTroupeError, traceField, type TroupeError } from '@troupe/contracts';
import { type Logger } from '@troupe/observability';
import { LOG } from '@troupe/service';
import type { Request, Response } from 'express';
import { ClientGoneError } from '../http/client-gone.js';
import { requestIdOf } from '../http/edge.js';
import { traceOfRequest } from '../http/request-traces.js';
import { ApiError, overloaded, unavailable } from './api-error.js';
import { isDependencyDown, isTooSlow } from './unavailable.js';

export interface ErrorAnswer {
  status: number;
  retryAfterS?: number;
  body: { success: false; error: string; code?: string; details?: unknown };
}

@Catch()
export class ApiExceptionFilter implements ExceptionFilter {
  constructor(@Inject(LOG) private readonly log: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(error, http.getRequest<Request>(), http.getResponse<Response>());
  }

  answer(error: unknown, request: Request, response: Response): void {
    if (error instanceof ClientGoneError) return;
    const requestId = requestIdOf(request);
    const answer = answerFor(error, requestId);
    if (answer.status >= 500 && answer.status !== 501) this.report(error, request, answer.status);
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    if (answer.retryAfterS !== undefined) response.setHeader('retry-after', String(answer.retryAfterS));
    response.status(answer.status).json(answer.body);
  }

  private report(error: unknown, request: Request, status: number): void {
    const level = isTroupeError(error) && error.code !== 'UNKNOWN_ERROR' ? 'debug' : 'error';
    this.log[level](
      {
        err: error,
        requestId: requestIdOf(request),
        ...traceField(traceOfRequest(request)),
        method: request.method,
        path: request.path,
        status,
      },
      'request failed',
    );
  }
}

/** The answer never holds a stack, nor the text of an unexpected error. */
export function answerFor(error: unknown, requestId: string): ErrorAnswer {
  if (error instanceof ApiError) return apiAnswer(error);
  if (isTroupeError(error) && error.code !== 'UNKNOWN_ERROR') return codedAnswer(error);
  if (error instanceof HttpException && error.getStatus() < 500) return nestAnswer(error);
  if (isTooSlow(error)) return apiAnswer(overloaded(error));
  if (isDependencyDown(error)) return apiAnswer(unavailable(error));
  return {
    status: 500,
    body: {
      success: false,
      code: 'UNKNOWN_ERROR',
      error: `An unexpected error occurred. Please contact support with the id ${requestId}.`,
    },
  };
}

function apiAnswer(error: ApiError): ErrorAnswer {
  const body = {
    success: false as const,
    error: error.message,
    ...(error.code === undefined ? {} : { code: error.code }),
  };
  return { status: error.status, retryAfterS: error.retryAfterS, body };
}

function codedAnswer(error: TroupeError): ErrorAnswer {
  const details = error.details === undefined ? {} : { details: error.details };
  const { retryAfterMs } = error;
  const retryAfter = retryAfterMs === undefined ? {} : { retryAfterS: Math.max(1, Math.ceil(retryAfterMs / 1000)) };
  const body = { success: false as const, code: error.code, error: error.message, ...details };
  return { status: error.httpStatus, ...retryAfter, body };
}

/** Nest's own refusals: no route, a path that is not valid percent-encoding. */
function nestAnswer(error: HttpException): ErrorAnswer {
  const status = error.getStatus();
  return { status, body: { success: false, error: status === 404 ? 'Not found' : 'Bad Request' } };
}
