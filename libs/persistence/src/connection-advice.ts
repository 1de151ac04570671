/** Advice to an operator after a failure to use the database. */

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const BY_CODE: Record<string, string> = {
  ECONNREFUSED: 'Postgres does not answer at DATABASE_URL: start it, or correct host and port.',
  ENOTFOUND: 'Postgres does not answer at DATABASE_URL: start it, or correct host and port.',
  ETIMEDOUT: 'Postgres does not answer at DATABASE_URL: start it, or correct host and port.',
  '3D000': 'The database of DATABASE_URL does not exist: create it with createdb.',
  '42501': 'The user of DATABASE_URL may not create tables: grant it CREATE on the database and its schema.',
  '53300': 'Postgres has no connection left: raise max_connections, or put a pooler in front (DATABASE_POOLER).',
  '57P03': 'Postgres is starting up or shutting down: try again in a moment, or look into its log.',
  CERT_HAS_EXPIRED: 'The certificate of Postgres has expired: renew it.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of Postgres names another host: use that name in DATABASE_URL, or sslmode=verify-ca.',
  ENOENT: 'A file that DATABASE_URL names (sslrootcert, sslcert, sslkey) is not there: correct the path.',
  EACCES: 'A file that DATABASE_URL names (sslrootcert, sslcert, sslkey) cannot be read: correct its rights.',
};

/** Advice by the code of a failure to connect or to log in; null when nothing is known about it. */
export function connectionAdvice(error: unknown): string | null {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  if (code.startsWith('28')) return loginAdvice(message);
  if (UNTRUSTED.has(code))
    return 'No trusted authority signed the certificate of Postgres: name its authority in DATABASE_URL with sslrootcert=<file>.';
  if (/does not support SSL/i.test(message))
    return 'Postgres offers no TLS at DATABASE_URL: turn it on (ssl = on), or take sslmode out of DATABASE_URL.';
  if (/timeout/i.test(message)) return BY_CODE['ETIMEDOUT']!;
  return BY_CODE[code] ?? null;
}

function loginAdvice(message: string): string {
  if (/no encryption|SSL off/i.test(message))
    return 'Postgres wants TLS: add sslmode=require (or verify-full) to DATABASE_URL.';
  if (/pg_hba/.test(message)) return 'pg_hba.conf of Postgres has no line that lets this user in from here: add one.';
  return 'Postgres refuses the user or password of DATABASE_URL: correct them.';
}
