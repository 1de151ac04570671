import { Injectable, type PipeTransform } from '@nestjs/common';
import { isUuid, type Uuid } from '@troupe/contracts';
import { ApiError } from '../../errors/api-error.js';
import { ownerOf } from '../../auth/body-owner.js';
import { checkBody } from './check-body.js';
import { type ReadBody } from './read-body.js';

/** `@Body(new BodyPipe(ScrapeDto))`: the checked body, or 400 with every issue. */
export class BodyPipe<T extends object> implements PipeTransform<unknown, Promise<ReadBody<T>>> {
  constructor(readonly type: new () => T) {}

  transform(value: unknown): Promise<ReadBody<T>> {
    return checkBody(this.type, value, ownerOf(value));
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
