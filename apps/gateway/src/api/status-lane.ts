/**
 * A lane of its own for the most frequent request: every client that waits for a job asks for its status all the time.
 *
 * It admits and answers as the guard and the controllers do, by the same services. It skips the row of routes and
 * pipes, which costs more than such an answer. All other requests, and malformed ones, take the usual way.
 */
import { Injectable } from '@nestjs/common';
import { type Uuid } from '@troupe/contracts';
import type { NextFunction, Request, Response } from 'express';
import { Admission } from '../auth/admission.js';
import { ApiExceptionFilter } from '../errors/api-exception.filter.js';
import { StatusSender } from './v2/status-sender.js';

const STATUS_PATH = /^\/(v[12])\/(?:crawl|batch\/scrape)\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

@Injectable()
export class StatusLane {
  constructor(
    private readonly admission: Admission,
    private readonly statuses: StatusSender,
    private readonly errors: ApiExceptionFilter,
  ) {}

  /** Must stand right behind the edge. */
  handle(request: Request, response: Response, next: NextFunction): void {
    const place = isBareGet(request) ? STATUS_PATH.exec(request.path) : null;
    if (place === null) return next();
    this.answer(request, response, place).catch((error: unknown) => this.errors.answer(error, request, response));
  }

  private async answer(request: Request, response: Response, [, version, id]: RegExpExecArray): Promise<void> {
    const caller = await this.admission.ofRequest(request);
    return version === 'v1'
      ? this.statuses.sendStatus(caller, id as Uuid, request, response)
      : this.statuses.sendResults(caller, id as Uuid, request, response);
  }
}

function isBareGet({ method, headers }: Request): boolean {
  return method === 'GET' && headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}
