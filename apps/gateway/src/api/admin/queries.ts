/** Query strings of the admin calls; what is wrong is said like an issue of a body. */
import { isUuid, type Uuid } from '@troupe/contracts';
import { customIssue, InvalidBodyError } from '../validation/issue.js';
import { readDate } from './teams.dto.js';

const MAX_BIGINT = 2n ** 63n - 1n;

function refuse(name: string, message: string): never {
  throw new InvalidBodyError([customIssue(message, [name])]);
}

export function readDateQuery(name: string, text: string | undefined): Date | null {
  if (text === undefined) return null;
  return readDate(text) ?? refuse(name, 'Expected an ISO 8601 date, like 2030-01-31 or 2030-01-31T12:00:00Z');
}

export function readTeam(text: string | undefined): Uuid | null {
  if (text === undefined) return null;
  const id = text.toLowerCase();
  return isUuid(id) ? id : refuse('team', 'Expected the id of a team');
}

/** 1 to `max`, which is also the default. */
export function readCount(name: string, text: string | undefined, max: number): number {
  if (text === undefined) return max;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return count >= 1 ? Math.min(count, max) : refuse(name, `Expected a whole number from 1 to ${max}`);
}

/** From 0 on. @default 0 */
export function readSkip(text: string | undefined): number {
  if (text === undefined) return 0;
  return /^\d{1,9}$/.test(text) ? Number(text) : refuse('skip', 'Expected a whole number from 0 on');
}

/** Of a dead letter. */
export function readId(text: string): string {
  const isId = /^\d{1,19}$/.test(text) && BigInt(text) <= MAX_BIGINT;
  return isId ? text : refuse('id', 'Expected the number of a dead letter');
}
