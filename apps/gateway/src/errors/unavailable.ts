/** Recognises errors that mean "Postgres, NATS or the blob store is not there", whatever layer wrapped them. */
import { isTroupeError } from '@troupe/contracts';

const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
]);
/** Connection exceptions, insufficient resources, operator intervention (a statement that took too long, too), read-only after a failover. */
const SQL_STATES = /^(08...|53...|57014|57P0[1-5]|25006)$/;
const QUERY_CANCELED = '57014';
const POOL_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Cannot use a pool after calling end|Client has encountered a connection error|Query read timeout)/;
const NATS_NAMES = new Set([
  'ConnectionError',
  'ClosedConnectionError',
  'DrainingConnectionError',
  'NoRespondersError',
  'JetStreamNotEnabled',
  'TimeoutError',
]);
const MAX_CAUSES = 5;

/** Postgres has ended a statement that went beyond its deadline. */
export function isTooSlow(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && 'code' in error && error.code === QUERY_CANCELED;
}

export function isDependencyDown(error: unknown): boolean {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (looksDown(current)) return true;
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return false;
}

function looksDown(error: Error): boolean {
  if (isTroupeError(error) && error.httpStatus === 503) return true;
  // `$fault` is what a server of blobs says of its own answer.
  const { code, $fault: fault } = error as { code?: unknown; $fault?: unknown };
  if (typeof code === 'string' && (SOCKET_CODES.has(code) || SQL_STATES.test(code))) return true;
  return fault === 'server' || NATS_NAMES.has(error.name) || POOL_MESSAGES.test(error.message);
}
