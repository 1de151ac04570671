import { Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { isUuid, type Uuid } from '@troupe/contracts';
import { ApiError } from '../../errors/api-error.js';
import { ownerOf } from '../../auth/body-owner.js';
import { BodyCheck } from './body-check.js';
import { type ReadBody } from './read-body.js';

type BodyClass<T extends object = object> = new () => T;

const bodyClasses = new WeakMap<object, BodyClass>();

/** `@Body(BodyPipe(ScrapeDto))`: the checked body, or 400 with every issue. */
export function BodyPipe<T extends object>(type: BodyClass<T>): Type<PipeTransform<unknown, Promise<ReadBody<T>>>> {
  @Injectable()
  class Checked implements PipeTransform<unknown, Promise<ReadBody<T>>> {
    constructor(private readonly bodies: BodyCheck) {}

    transform(value: unknown): Promise<ReadBody<T>> {
      return this.bodies.read(type, value, ownerOf(value));
    }
  }
  bodyClasses.set(Checked, type);
  return Checked;
}

/** The class that a pipe checks bodies against; undefined: it is no `BodyPipe`. */
export function bodyClassOf(pipe: unknown): BodyClass | undefined {
  return typeof pipe === 'function' ? bodyClasses.get(pipe) : undefined;
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
