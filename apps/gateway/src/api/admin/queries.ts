/** Query strings of the admin calls. Errors read like issues of a body. */
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

/** Reads the id of a dead letter. */
export function readId(text: string): string {
  const isId = /^\d{1,19}$/.test(text) && BigInt(text) <= MAX_BIGINT;
  return isId ? text : refuse('id', 'Expected the number of a dead letter');
}
