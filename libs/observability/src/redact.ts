/** Keys whose values never reach a log, wherever they stand in the first three levels of a logged object. */
const SECRET_KEYS = [
  'authorization',
  'apiKey',
  'api_key',
  'password',
  'secret',
  'token',
  'cookie',
  'cookies',
  '["set-cookie"]',
  '["x-api-key"]',
  '["proxy-authorization"]',
];

const at = (prefix: string, key: string): string => (key.startsWith('[') ? `${prefix}${key}` : `${prefix}.${key}`);

/** Paths in the words of pino's `redact` option. */
export const REDACTED_PATHS: string[] = SECRET_KEYS.flatMap((key) => [key, at('*', key), at('*.*', key)]);

export const CENSORED = '[redacted]';

/**
 * Hides credentials inside text: `user:password@` of URLs and the value of `Bearer …`.
 * Works on a whole serialised log line, so messages and stack traces are covered too.
 */
export function hideCredentials(text: string): string {
  return text
    .replace(/:\/\/[^\s/?#@"'\\]+@/g, `://${CENSORED}@`)
    .replace(/\bBearer +[A-Za-z0-9._~+/=-]+/gi, `Bearer ${CENSORED}`);
}
