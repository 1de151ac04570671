/** Refusals of well-formed requests that are not permitted (403). Never silence. */
import { type Caller } from '../../auth/caller.js';
import { ApiError } from '../../errors/api-error.js';

export function refuseZeroDataRetention(asked: boolean | undefined, caller: Pick<Caller, 'flags'>): void {
  if (asked && caller.flags.zeroDataRetention !== true)
    throw new ApiError(403, 'Zero data retention is not enabled for this team');
}

/** An installation may permit it to everybody, or to single teams. */
export function mayIgnoreRobots({ flags }: Pick<Caller, 'flags'>, config: { allowIgnoreRobots: boolean }): boolean {
  return config.allowIgnoreRobots || flags.ignoreRobots === true;
}

export function refuseIgnoringRobots(asked: boolean | undefined, isAllowed: boolean): void {
  if (asked && !isAllowed) throw new ApiError(403, 'ignoreRobotsTxt is not enabled for this team');
}
