/** Settings whose values are secrets, or addresses that may hold one, by their names in the environment; also read by the launcher. */
export const SECRET_SETTINGS: readonly string[] = [
  'ADMIN_KEY',
  'DATABASE_URL',
  'LLM_API_KEY',
  'LLM_BASE_URL',
  'LLM_PROXY',
  'NATS_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'PROXY_BASIC',
  'PROXY_STEALTH',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
  'SEARXNG_URL',
  'TROUPE_BOOTSTRAP_KEYS',
  // As a self-hosted Firecrawl names them.
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'PROXY_SERVER',
  'PROXY_PASSWORD',
  'SEARXNG_ENDPOINT',
];

/** Read by libraries, under their own names only. */
const OF_LIBRARIES = ['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN', 'PGPASSWORD'];

/** Names of secrets that stand in the environment itself, where other processes of the same user can read them. */
export function secretsInEnvironment(env: Record<string, string | undefined> = process.env): string[] {
  return [...SECRET_SETTINGS, ...OF_LIBRARIES].filter((name) => env[name]);
}
