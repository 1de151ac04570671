/** The settings of a self-hosted Firecrawl's `.env`, and their meaning here (docs/migrate-from-firecrawl.md). */

export interface FirecrawlSetting {
  name: string;
  /** The same name with the same meaning, read under its name there, or without effect. */
  becomes: 'same' | 'alias' | 'ignored';
  /** Ours, where there is one. */
  ours?: string;
  note: string;
}

type Environment = Record<string, string | undefined>;

export const FIRECRAWL_SETTINGS: readonly FirecrawlSetting[] = [
  { name: 'PORT', becomes: 'same', ours: 'PORT', note: 'port of the API' },
  { name: 'HOST', becomes: 'same', ours: 'HOST', note: 'loopback only, unless `0.0.0.0` is asked for' },
  { name: 'OPENAI_API_KEY', becomes: 'alias', ours: 'LLM_API_KEY', note: 'needs a model, too: `MODEL_NAME`' },
  { name: 'OPENAI_BASE_URL', becomes: 'alias', ours: 'LLM_BASE_URL', note: 'any compatible server' },
  {
    name: 'OLLAMA_BASE_URL',
    becomes: 'alias',
    ours: 'LLM_BASE_URL',
    note: 'with `LLM_PROVIDER=ollama`; `/api` at its end is taken off',
  },
  { name: 'MODEL_NAME', becomes: 'alias', ours: 'LLM_MODEL', note: 'there is no default' },
  { name: 'SEARXNG_ENDPOINT', becomes: 'alias', ours: 'SEARXNG_URL', note: 'its settings must offer the format json' },
  { name: 'PROXY_SERVER', becomes: 'alias', ours: 'PROXY_BASIC', note: 'a list of several is possible' },
  {
    name: 'PROXY_USERNAME',
    becomes: 'alias',
    ours: 'PROXY_BASIC',
    note: 'part of the address: `http://user:password@…`',
  },
  { name: 'PROXY_PASSWORD', becomes: 'alias', ours: 'PROXY_BASIC', note: 'part of the address' },
  { name: 'MODEL_EMBEDDING_NAME', becomes: 'ignored', note: 'nothing is embedded' },
  { name: 'SEARXNG_ENGINES', becomes: 'ignored', note: 'set them in the settings of SearXNG itself' },
  { name: 'SEARXNG_CATEGORIES', becomes: 'ignored', note: 'follow from `sources` of the request' },
  {
    name: 'USE_DB_AUTHENTICATION',
    becomes: 'ignored',
    ours: 'AUTH_MODE',
    note: 'there are always keys; `AUTH_MODE=none` lets any client in, on loopback',
  },
  { name: 'TEST_API_KEY', becomes: 'ignored', ours: 'TROUPE_BOOTSTRAP_KEYS', note: '`default:<key>`' },
  { name: 'SUPABASE_URL', becomes: 'ignored', note: 'teams and keys are in Postgres: `npm start -- admin`' },
  { name: 'SUPABASE_ANON_TOKEN', becomes: 'ignored', note: 'as above' },
  { name: 'SUPABASE_SERVICE_TOKEN', becomes: 'ignored', note: 'as above' },
  {
    name: 'BULL_AUTH_KEY',
    becomes: 'ignored',
    ours: 'ADMIN_KEY',
    note: 'there is an admin API instead of a page of queues',
  },
  { name: 'REDIS_URL', becomes: 'ignored', ours: 'NATS_URL', note: 'there is no Redis' },
  { name: 'REDIS_RATE_LIMIT_URL', becomes: 'ignored', note: 'there is no Redis' },
  {
    name: 'NUQ_DATABASE_URL',
    becomes: 'ignored',
    ours: 'DATABASE_URL',
    note: 'a database of its own, Postgres 15 or newer',
  },
  { name: 'NUQ_RABBITMQ_URL', becomes: 'ignored', ours: 'NATS_URL', note: 'there is no RabbitMQ' },
  {
    name: 'PLAYWRIGHT_MICROSERVICE_URL',
    becomes: 'ignored',
    ours: 'CHROMIUM_PATH',
    note: 'fetchers have browsers of their own',
  },
  { name: 'BLOCK_MEDIA', becomes: 'ignored', note: 'images and media are only loaded for pages that are to be seen' },
  {
    name: 'NUM_WORKERS_PER_QUEUE',
    becomes: 'ignored',
    ours: 'FETCHER_CONCURRENCY',
    note: 'and the number of fetchers',
  },
  {
    name: 'CRAWL_CONCURRENT_REQUESTS',
    becomes: 'ignored',
    ours: 'TEAM_CONCURRENCY',
    note: 'and `HOST_MAX_CONN` per site',
  },
  { name: 'MAX_CONCURRENT_JOBS', becomes: 'ignored', ours: 'TEAM_CONCURRENCY', note: 'pages of a team at a time' },
  { name: 'BROWSER_POOL_SIZE', becomes: 'ignored', ours: 'BROWSER_CONCURRENCY', note: 'pages at a time per fetcher' },
  { name: 'MAX_CPU', becomes: 'ignored', note: 'work waits in queues; limit the containers' },
  { name: 'MAX_RAM', becomes: 'ignored', note: 'as above' },
  {
    name: 'ALLOW_LOCAL_WEBHOOKS',
    becomes: 'ignored',
    ours: 'ALLOW_PRIVATE_WEBHOOKS',
    note: '`true`, or better a list of hosts',
  },
  { name: 'SELF_HOSTED_WEBHOOK_URL', becomes: 'ignored', note: 'a job names its own `webhook`' },
  { name: 'SLACK_WEBHOOK_URL', becomes: 'ignored', note: 'alerts come from Prometheus: `deploy/prometheus`' },
  { name: 'LOGGING_LEVEL', becomes: 'ignored', ours: 'LOG_LEVEL', note: 'in small letters' },
  { name: 'LLAMAPARSE_API_KEY', becomes: 'ignored', note: 'PDF and office files are read without a service' },
  {
    name: 'RATE_LIMIT_TEST_API_KEY_SCRAPE',
    becomes: 'ignored',
    ours: 'RATE_LIMITS',
    note: 'numbers per team: `admin team set`',
  },
  { name: 'RATE_LIMIT_TEST_API_KEY_CRAWL', becomes: 'ignored', ours: 'RATE_LIMITS', note: 'as above' },
  { name: 'WORKER_PORT', becomes: 'ignored', ours: 'METRICS_PORT', note: 'health and metrics of each service' },
  { name: 'EXTRACT_WORKER_PORT', becomes: 'ignored', ours: 'METRICS_PORT', note: 'as above' },
  { name: 'LOGTAIL_KEY', becomes: 'ignored', note: 'logs go to standard output' },
  { name: 'POSTHOG_API_KEY', becomes: 'ignored', note: 'nothing is reported anywhere' },
  { name: 'POSTHOG_HOST', becomes: 'ignored', note: 'as above' },
];

/** Names that mean the same as one of ours; ours wins. */
const SINGLE_ALIASES: Record<string, string> = { SEARXNG_URL: 'SEARXNG_ENDPOINT', LLM_MODEL: 'MODEL_NAME' };

/** The value of one of our settings, under either name. */
export function valueOf(name: string, env: Environment): string | undefined {
  return env[name] || env[SINGLE_ALIASES[name] ?? ''];
}

/** Firecrawl's proxy: `[scheme://]host:port`, with its name and password in settings of their own. */
export function proxyOf(env: Environment): string | undefined {
  const { PROXY_SERVER: server, PROXY_USERNAME: user, PROXY_PASSWORD: password } = env;
  if (!server) return undefined;
  const address = server.includes('://') ? server : `http://${server}`;
  if (!user || address.includes('@')) return address;
  return address.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`);
}

export interface ModelNames {
  llmProvider?: string;
  llmBaseUrl?: string;
  llmApiKey?: string;
  llmModel?: string;
}

/** Firecrawl names a provider by its key or its address. Without a model's name these say nothing: other programs read them, too. */
export function modelOf(own: ModelNames, env: Environment): ModelNames {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: openai, OLLAMA_BASE_URL: ollama } = env;
  const named = key || openai ? 'openai' : ollama ? 'ollama' : undefined;
  const llmProvider = own.llmProvider ?? (own.llmModel === undefined ? undefined : named);
  const foreign =
    llmProvider === 'openai' ? openai : llmProvider === 'ollama' ? ollama?.replace(/\/api\/?$/, '') : undefined;
  const llmBaseUrl = own.llmBaseUrl ?? (foreign || undefined);
  const llmApiKey = own.llmApiKey ?? (llmProvider === 'openai' ? key || undefined : undefined);
  return { ...own, ...defined({ llmProvider, llmBaseUrl, llmApiKey }) };
}

function defined(values: ModelNames): ModelNames {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A sentence for each setting of Firecrawl that is there and has no effect. Values are not repeated: some are secrets. */
export function leftOverSettings(env: Environment = process.env): string[] {
  const ignored = FIRECRAWL_SETTINGS.filter(({ name, becomes }) => becomes === 'ignored' && env[name]);
  const sentences = ignored.map(
    ({ name, ours, note }) => `${name} has no effect${ours === undefined ? '' : `, see ${ours}`}: ${note}`,
  );
  const model = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OLLAMA_BASE_URL'].filter((name) => env[name]);
  if (model.length > 0 && !env.LLM_PROVIDER && !valueOf('LLM_MODEL', env))
    sentences.push(`${model.join(', ')}: no effect without a model, see MODEL_NAME or LLM_MODEL`);
  return sentences;
}
