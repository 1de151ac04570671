/** Meaning of an error of Postgres for the turn that met it (see `Drain`). */
import { ContentError, FencedError, TurnConflictError, TurnTimeoutError } from '@troupe/actors';
import { isTooLate, sqlState } from '../pool.js';
import { FENCED } from './turn-writes.js';

/** Deadlock, serialisation failure, lock timeout: the same drain may run again. */
const CONFLICTS = new Set(['40P01', '40001', '55P03']);
/** Data, integrity, syntax or access rule, program limit, feature: refused whenever it comes. */
const CONTENT = /^(?:22|23|42|54|0A)/;
const QUERY_CANCELED = '57014';

/** An error without SQLSTATE that is none of these has met a connection: the store is away, and no item is to blame. */
function isOfValues(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;
}

/** True: the server has answered that nothing of the transaction was kept, because of its contents. */
export function isRefused(error: unknown): boolean {
  if (error instanceof ContentError || isOfValues(error)) return true;
  const state = sqlState(error) ?? '';
  return CONTENT.test(state) || CONFLICTS.has(state) || state === QUERY_CANCELED;
}

/** @throws FencedError, TurnConflictError, TurnTimeoutError, ContentError; any other error as it is: the store is away */
export async function mapErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw mapped(error);
  }
}

/** @throws ContentError for errors of `build` */
export function building<T>(build: () => T): T {
  try {
    return build();
  } catch (error) {
    throw new ContentError(`no statement can be made of a turn: ${String(error)}`, 'BUILD', { cause: error });
  }
}

function mapped(error: unknown): unknown {
  const state = sqlState(error);
  const options = { cause: error };
  if (state === FENCED) return new FencedError('an actor of the turn has another revision or epoch');
  if (state !== null && CONFLICTS.has(state))
    return new TurnConflictError(`the turn collided with another transaction (${state})`, options);
  if (state === QUERY_CANCELED || isTooLate(error))
    return new TurnTimeoutError('a statement of the turn took too long', options);
  if (state !== null && CONTENT.test(state))
    return new ContentError(`Postgres refused a turn (${state}): ${(error as Error).message}`, state, options);
  if (isOfValues(error)) return new ContentError(`a value cannot be sent: ${String(error)}`, 'BUILD', options);
  return error;
}
