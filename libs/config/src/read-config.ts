import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import 'reflect-metadata';
import { hasModel, TroupeConfig } from './config.js';

/** Thrown at boot; the message names every bad key at once. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** Names of Firecrawl's self-hosted settings, by ours; ours wins. */
const ALIASES: Record<string, string> = { SEARXNG_URL: 'SEARXNG_ENDPOINT', LLM_MODEL: 'MODEL_NAME' };

/** A bad value of these is not repeated. */
const SECRETS = new Set([
  'adminKey',
  'databaseUrl',
  'llmApiKey',
  'llmBaseUrl',
  'llmProxy',
  'natsUrl',
  'proxyBasic',
  'proxyStealth',
  's3SecretAccessKey',
  'searxngUrl',
  'troupeBootstrapKeys',
]);

function shown(field: string, plain: Record<string, string>): string {
  return SECRETS.has(field) ? '' : ` (is ${JSON.stringify(plain[field] ?? null)})`;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

export function environmentName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** Firecrawl's proxy: `[scheme://]host:port`, with its name and password in settings of their own. */
function proxyServer(server: string, env: Record<string, string | undefined>): string {
  const address = server.includes('://') ? server : `http://${server}`;
  const { PROXY_USERNAME: user, PROXY_PASSWORD: password } = env;
  if (!user || address.includes('@')) return address;
  return address.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`);
}

/** Firecrawl names one provider by its key or its address. */
function modelSettings(plain: Record<string, string>, env: Record<string, string | undefined>): Record<string, string> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: openai, OLLAMA_BASE_URL: ollama } = env;
  const provider = plain.llmProvider ?? (key || openai ? 'openai' : ollama ? 'ollama' : null);
  const address = plain.llmBaseUrl ?? (provider === 'openai' ? openai : provider === 'ollama' ? ollama : undefined);
  const apiKey = plain.llmApiKey ?? (provider === 'openai' ? key : undefined);
  return {
    ...(provider === null ? {} : { llmProvider: provider }),
    ...(address ? { llmBaseUrl: address } : {}),
    ...(apiKey ? { llmApiKey: apiKey } : {}),
  };
}

/** Every field of the settings, those without a default included. */
export function configFields(): string[] {
  return Object.keys(new TroupeConfig());
}

/** Reads, validates and freezes the settings. An empty value counts as absent. @throws ConfigError */
export function readConfig(env: Record<string, string | undefined> = process.env): Readonly<TroupeConfig> {
  const plain: Record<string, string> = {};
  for (const field of configFields()) {
    const name = environmentName(field);
    const value = env[name] || env[ALIASES[name] ?? ''];
    if (value) plain[field] = value;
  }
  if (!env.PROXY_BASIC && env.PROXY_SERVER) plain.proxyBasic = proxyServer(env.PROXY_SERVER, env);
  Object.assign(plain, modelSettings(plain, env));
  const config = plainToInstance(TroupeConfig, plain, { exposeDefaultValues: true });
  const problems = validateSync(config).map(
    (issue) =>
      `${environmentName(issue.property)}: ${Object.values(issue.constraints ?? {}).join(', ')}${shown(issue.property, plain)}`,
  );
  if (config.authMode === 'none' && !LOOPBACK.has(config.host) && !config.authNoneIKnow) {
    problems.push('AUTH_MODE: none is accepted only while HOST is a loopback address, or with AUTH_NONE_I_KNOW=true');
  }
  if (config.searchProvider === 'searxng' && config.searxngUrl === undefined) {
    problems.push('SEARXNG_URL: must be set for SEARCH_PROVIDER=searxng');
  }
  if (hasModel(config) && !config.llmModel) problems.push('LLM_MODEL: must be set with LLM_PROVIDER');
  if (config.llmProvider === 'azure' && !config.llmBaseUrl) {
    problems.push('LLM_BASE_URL: must be set for LLM_PROVIDER=azure');
  }
  if (config.blobStore === 's3' && !config.s3Bucket) problems.push('S3_BUCKET: must be set for BLOB_STORE=s3');
  if ((config.s3AccessKeyId === undefined) !== (config.s3SecretAccessKey === undefined)) {
    problems.push('S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY: must be set together');
  }
  if ((config.natsTlsCertFile === undefined) !== (config.natsTlsKeyFile === undefined)) {
    problems.push('NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE: must be set together');
  }
  if (config.natsCredsFile !== undefined && config.natsNkeyFile !== undefined) {
    problems.push('NATS_CREDS_FILE and NATS_NKEY_FILE: only one of them can be set');
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}
