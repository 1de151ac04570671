import { Injectable, type PipeTransform } from '@nestjs/common';
import { isUuid, type Uuid } from '@troupe/contracts';
import { ApiError } from '../../errors/api-error.js';
import { readBody, type ReadBody } from './read-body.js';

/** `@Body(new BodyPipe(ScrapeDto))`: the checked body, or 400 with every issue. */
export class BodyPipe<T extends object> implements PipeTransform<unknown, ReadBody<T>> {
  constructor(readonly type: new () => T) {}

  transform(value: unknown): ReadBody<T> {
    return readBody(this.type, value);
  }
}

/** Ids in paths, in lower case. */
export class IdPipe implements PipeTransform<string, Uuid> {
  constructor(private readonly subject: string) {}

  transform(value: string): Uuid {
    const id = value.toLowerCase();
    if (!isUuid(id)) throw new ApiError(400, `Invalid ${this.subject} ID`);
    return id;
  }
}

@Injectable()
export class JobIdPipe extends IdPipe {
  constructor() {
    super('job');
  }
}
