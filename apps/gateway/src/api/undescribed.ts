import { SetMetadata } from '@nestjs/common';

const UNDESCRIBED = 'troupe:undescribed';

/**
 * Marks a route that is no call of the API. Nest's own mark is not used, because its package is loaded with the
 * description only.
 */
export const Undescribed = () => SetMetadata(UNDESCRIBED, true);

export function isUndescribed(handler: object): boolean {
  return Reflect.getMetadata(UNDESCRIBED, handler) === true;
}
