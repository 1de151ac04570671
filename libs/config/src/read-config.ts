import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import 'reflect-metadata';
import { hasModel, TroupeConfig } from './config.js';
import { modelOf, proxyOf, valueOf } from './firecrawl-settings.js';
import { withSecretFiles } from './secret-files.js';
import { SECRET_SETTINGS } from './secret-names.js';

/** Thrown at boot; the message names every bad key at once. */
export class ConfigError extends Error {
  constructor(readonly problems: string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'ConfigError';
  }
}

/** A bad value of a secret is not repeated. */
function shown(field: string, plain: Record<string, string>): string {
  return SECRET_SETTINGS.includes(environmentName(field)) ? '' : ` (is ${JSON.stringify(plain[field] ?? null)})`;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

export function environmentName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** What fields must have of each other, which no rule of a single one says. */
const RULES_OF_MORE: readonly [isBroken: (config: TroupeConfig) => boolean, problem: string][] = [
  [
    ({ authMode, host, authNoneIKnow }) => authMode === 'none' && !LOOPBACK.has(host) && !authNoneIKnow,
    'AUTH_MODE: none is accepted only while HOST is a loopback address, or with AUTH_NONE_I_KNOW=true',
  ],
  [
    ({ searchProvider, searxngUrl }) => searchProvider === 'searxng' && searxngUrl === undefined,
    'SEARXNG_URL: must be set for SEARCH_PROVIDER=searxng',
  ],
  [(config) => hasModel(config) && !config.llmModel, 'LLM_MODEL: must be set with LLM_PROVIDER'],
  [
    ({ llmProvider, llmBaseUrl }) => llmProvider === 'azure' && !llmBaseUrl,
    'LLM_BASE_URL: must be set for LLM_PROVIDER=azure',
  ],
  [({ blobStore, s3Bucket }) => blobStore === 's3' && !s3Bucket, 'S3_BUCKET: must be set for BLOB_STORE=s3'],
  [
    ({ artifactUrls, publicBaseUrl }) => artifactUrls === 'on' && !publicBaseUrl,
    'PUBLIC_BASE_URL: must be set for ARTIFACT_URLS=on, since the addresses begin with it',
  ],
  [
    ({ s3AccessKeyId, s3SecretAccessKey }) => (s3AccessKeyId === undefined) !== (s3SecretAccessKey === undefined),
    'S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY: must be set together',
  ],
  [
    ({ natsTlsCertFile, natsTlsKeyFile }) => (natsTlsCertFile === undefined) !== (natsTlsKeyFile === undefined),
    'NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE: must be set together',
  ],
  [
    ({ natsCredsFile, natsNkeyFile }) => natsCredsFile !== undefined && natsNkeyFile !== undefined,
    'NATS_CREDS_FILE and NATS_NKEY_FILE: only one of them can be set',
  ],
];

/** Every field of the settings, those without a default included. */
export function configFields(): string[] {
  return Object.keys(new TroupeConfig());
}

/** Reads, validates and freezes the settings; secrets also from files. An empty value counts as absent. @throws ConfigError */
export function readConfig(given: Record<string, string | undefined> = process.env): Readonly<TroupeConfig> {
  const { env, problems } = withSecretFiles(given);
  const plain: Record<string, string> = {};
  for (const field of configFields()) {
    const value = valueOf(environmentName(field), env);
    if (value) plain[field] = value;
  }
  const proxy = proxyOf(env);
  if (plain.proxyBasic === undefined && proxy !== undefined) plain.proxyBasic = proxy;
  Object.assign(plain, modelOf(plain, env));
  const config = plainToInstance(TroupeConfig, plain, { exposeDefaultValues: true });
  for (const { property, constraints = {} } of validateSync(config))
    problems.push(`${environmentName(property)}: ${Object.values(constraints).join(', ')}${shown(property, plain)}`);
  for (const [isBroken, problem] of RULES_OF_MORE) if (isBroken(config)) problems.push(problem);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}
