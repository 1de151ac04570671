/** Every setting of every service (docs/api/config.md). Field names are the camelCase of the environment names. */
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsBoolean,
  IsIn,
  IsInt,
  IsNotEmpty,
  IsNumber,
  IsOptional,
  IsString,
  IsUrl,
  Matches,
  Max,
  Min,
  MinLength,
} from 'class-validator';
import { PROXY_URL } from '@troupe/contracts';

const toBoolean = Transform(({ value }) =>
  value === 'true' || value === 'on' ? true : value === 'false' || value === 'off' ? false : value,
);
const toInt = Transform(({ value }) =>
  typeof value === 'string' && /^-?\d+$/.test(value.trim()) ? Number(value) : value,
);
const toNumber = Transform(({ value }) =>
  typeof value === 'string' && /^\d*\.?\d+$/.test(value.trim()) ? Number(value) : value,
);
const toList = Transform(({ value }) =>
  typeof value === 'string'
    ? value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : value,
);
const toIntList = Transform(({ value }) =>
  typeof value === 'string' ? value.split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : part)) : value,
);
const isProxyList = Matches(PROXY_URL, {
  each: true,
  message: 'each proxy must be http://, https:// or socks5://, with [user:password@]host[:port] and nothing more',
});
const url = (protocols: string[]) =>
  IsUrl({ protocols, require_protocol: true, require_tld: false, require_valid_protocol: true });

export class TroupeConfig {
  /** Port of the gateway. */
  @toInt @IsInt() @Min(0) @Max(65535) readonly port: number = 3002;
  /** Address of the gateway; beyond loopback only when told. */
  @IsString() @IsNotEmpty() readonly host: string = '127.0.0.1';
  /** Base of absolute URLs in bodies; unset = from the request. */
  @IsOptional() @url(['http', 'https']) readonly publicBaseUrl?: string;
  /**
   * Whether screenshots and files are given by address, below `publicBaseUrl`, or in the document itself: `auto` = by address
   * with `s3` and a public base.
   */
  @IsIn(['auto', 'on', 'off']) readonly artifactUrls: 'auto' | 'on' | 'off' = 'auto';
  @toBoolean @IsBoolean() readonly trustProxy: boolean = false;
  /** Time for the head of a request to arrive whole; a slower client is cut off with 408. */
  @toInt @IsInt() @Min(100) @Max(300_000) readonly headersTimeoutMs: number = 30_000;
  /** How long a gateway that is told to end still takes requests while its readiness says no. */
  @toInt @IsInt() @Min(0) @Max(20_000) readonly drainNoticeMs: number = 0;
  @IsString() @IsNotEmpty() readonly troupeDataDir: string = '.troupe';
  /** Folder with secrets in files of their names; each may also have a `<NAME>_FILE` of its own. */
  @IsOptional() @IsString() readonly troupeSecretsDir?: string;
  /** `team:key` pairs made at start when missing. */
  @toList @IsString({ each: true }) readonly troupeBootstrapKeys: string[] = [];
  @IsString() @IsNotEmpty() readonly databaseUrl: string = '';
  /** Between the services and Postgres: nothing, or a pooler that lends connections for one transaction. */
  @IsIn(['none', 'transaction']) readonly databasePooler: 'none' | 'transaction' = 'none';
  /** One address or several; `tls://` insists on TLS. */
  @IsString() @IsNotEmpty() readonly natsUrl: string = '';
  /** JWT and seed of a user, as `nsc` writes them. */
  @IsOptional() @IsString() readonly natsCredsFile?: string;
  /** Seed of an nkey. */
  @IsOptional() @IsString() readonly natsNkeyFile?: string;
  /** Authority that signed the server's certificate; unset = the authorities that Node knows. */
  @IsOptional() @IsString() readonly natsTlsCaFile?: string;
  /** Our own certificate and its key. */
  @IsOptional() @IsString() readonly natsTlsCertFile?: string;
  @IsOptional() @IsString() readonly natsTlsKeyFile?: string;
  /** Copies of streams and buckets; 0 = three on a cluster of servers, else one. */
  @toInt @IsIn([0, 1, 3, 5]) readonly natsReplicas: number = 0;
  /** Where results are kept: a folder below the data folder (`fs`), which all services must share, or a bucket (`s3`). */
  @IsIn(['fs', 's3']) readonly blobStore: 'fs' | 's3' = 'fs';
  /** Whether what `fs` stores is on the disk before a row names it; off = a power cut may cost documents of listed results. */
  @toBoolean @IsBoolean() readonly blobSync: boolean = true;
  /** Address of a server that speaks as S3 does; unset = Amazon's. */
  @IsOptional() @url(['http', 'https']) readonly s3Endpoint?: string;
  @IsOptional() @IsString() readonly s3Bucket?: string;
  @IsString() @IsNotEmpty() readonly s3Region: string = 'us-east-1';
  /** Unset = the credentials of the machine: environment, role of the pod. */
  @IsOptional() @IsString() readonly s3AccessKeyId?: string;
  @IsOptional() @IsString() readonly s3SecretAccessKey?: string;
  /** Prefix of every key of the bucket. */
  @Matches(/^([\w.-]+\/)*$/, { message: 'must be empty or end in /' }) readonly s3Prefix: string = '';
  @IsOptional() @IsString() readonly chromiumPath?: string;
  /** Shows the pages that do not ask for stealth. */
  @IsOptional() @IsString() readonly chromiumShellPath?: string;
  /** Where HTML is converted. */
  @IsIn(['local', 'service']) readonly converter: 'local' | 'service' = 'local';
  @IsIn(['keys', 'none']) readonly authMode: 'keys' | 'none' = 'keys';
  @toBoolean @IsBoolean() readonly authNoneIKnow: boolean = false;
  /** Key of the admin API; without it there is none. */
  @IsOptional() @MinLength(16) readonly adminKey?: string;
  /** `false`, `true`, or a list of host, host:port, CIDR, CIDR:port. */
  @IsString() readonly allowPrivateTargets: string = 'false';
  @IsString() readonly allowPrivateWebhooks: string = 'false';
  /** Pauses before the second and further attempts to deliver a webhook event; after the last one it is dead. */
  @toIntList
  @ArrayMinSize(1)
  @ArrayMaxSize(10)
  @IsInt({ each: true })
  @Min(1, { each: true })
  @Max(86_400_000, { each: true })
  readonly webhookRetryMs: number[] = [60_000, 300_000, 900_000];
  /** How long a receiver that did not answer five times in a row rests, from one trial post to the next. */
  @toInt @IsInt() @Min(100) @Max(3_600_000) readonly webhookRestMs: number = 60_000;
  /** Age from which a job that no actor has and no command is on its way to counts as lost: it is started again. */
  @toInt @IsInt() @Min(1_000) @Max(3_600_000) readonly jobLostAfterMs: number = 120_000;
  @toBoolean @IsBoolean() readonly allowIgnoreRobots: boolean = false;
  /** Identity shown to sites; its product name is matched against robots.txt. */
  @IsString() @IsNotEmpty() readonly userAgent: string = 'Troupe/0.1';
  @IsOptional() @url(['http', 'https', 'mailto']) readonly contactUrl?: string;
  /** Connections per host. */
  @toInt @IsInt() @Min(1) @Max(1024) readonly hostMaxConn: number = 4;
  /** Time from one page start to the next on each connection: a host is asked at most `hostMaxConn / hostGapMs` times, 40 a second. */
  @toInt @IsInt() @Min(0) @Max(120_000) readonly hostGapMs: number = 100;
  @toInt @IsInt() @Min(1) @Max(256) readonly hostExpressConn: number = 4;
  /** Minutes without a clean answer after which the URLs of a host that is down are given up. */
  @toInt @IsInt() @Min(1) @Max(10_080) readonly hostGiveUp: number = 30;
  /** Seconds; a longer crawl-delay counts as this. */
  @toInt @IsInt() @Min(1) @Max(86_400) readonly hostMaxCrawlDelay: number = 60;
  @toInt @IsInt() @Min(1) @Max(100_000) readonly teamConcurrency: number = 10;
  @toBoolean @IsBoolean() readonly rateLimits: boolean = false;
  @toBoolean @IsBoolean() readonly billing: boolean = false;
  @toInt @IsInt() @Min(1000) @Max(3_600_000) readonly maxScrapeTimeoutMs: number = 600_000;
  @toInt @IsInt() @Min(1) @Max(1000) readonly fetcherConcurrency: number = 64;
  /** Classes of work that a fetcher serves: `http` (pages of any kind, robots.txt, sitemaps), `browser`; none named = all that it can. */
  @toList @IsIn(['http', 'browser'], { each: true }) readonly fetcherClasses: ('http' | 'browser')[] = [];
  /** Fetchers with a browser are started when there is work for them: it waits even while none of them is alive. */
  @toBoolean @IsBoolean() readonly browserOnDemand: boolean = false;
  /** 0 = one a core, and up to two while cores are idle and memory carries them. */
  @toInt @IsInt() @Min(0) @Max(256) readonly browserConcurrency: number = 0;
  /** Chromium's sandbox: `require` = no browser without it, `auto` = aloud without it, `off` = not tried. */
  @IsIn(['require', 'auto', 'off']) readonly browserSandbox: 'require' | 'auto' | 'off' = 'auto';
  /** Folder of filter lists (`*.txt`, EasyList's syntax) that add to the built-in one. */
  @IsOptional() @IsString() readonly adListsDir?: string;
  /** Worker threads of the converter; 0 = by cores. */
  @toInt @IsInt() @Min(0) @Max(256) readonly converterThreads: number = 0;
  /** Program with tesseract's command line that recognises text in pictures; unset = there is none. */
  @IsOptional() @IsString() readonly ocrCommand?: string;
  /** Resolver of the fetcher, `ip` or `ip:port`; empty = the system's. */
  @toList @IsString({ each: true }) readonly dnsServers: string[] = [];
  /** Proxies of `basic` requests; none = they go out directly. */
  @toList @ArrayMaxSize(1000) @isProxyList readonly proxyBasic: string[] = [];
  /** Proxies of `stealth` requests; none = they use the basic ones. */
  @toList @ArrayMaxSize(1000) @isProxyList readonly proxyStealth: string[] = [];
  @toInt @IsInt() @Min(1) @Max(100_000) readonly maxBatchUrls: number = 10_000;
  @toInt @IsInt() @Min(1) @Max(24 * 30) readonly resultTtlHours: number = 24;
  /** Unset = searxng when it has an address, else none. */
  @IsOptional() @IsIn(['none', 'searxng']) readonly searchProvider?: 'none' | 'searxng';
  /** Base address of a SearXNG instance that offers the format json; may be private and may carry `user:password@`. */
  @IsOptional() @url(['http', 'https']) readonly searxngUrl?: string;
  /** Unset = by the address or key that is there (`openai`, `ollama`), else none. */
  @IsOptional()
  @IsIn(['none', 'openai', 'azure', 'anthropic', 'google', 'ollama'])
  readonly llmProvider?: 'none' | 'openai' | 'azure' | 'anthropic' | 'google' | 'ollama';
  /** Address of the model's API, for `openai` any compatible server; may be private. */
  @IsOptional() @url(['http', 'https']) readonly llmBaseUrl?: string;
  @IsOptional() @IsString() readonly llmApiKey?: string;
  /** Name of the model; with `azure` of the deployment. */
  @IsOptional() @IsString() readonly llmModel?: string;
  /** Proxy of all requests to models, `http://[user:password@]host:port`. */
  @IsOptional() @url(['http', 'https']) readonly llmProxy?: string;
  /** Calls that one extractor has under way at once, per provider. */
  @toInt @IsInt() @Min(1) @Max(1000) readonly llmConcurrency: number = 16;
  /** Time for one call. */
  @toInt @IsInt() @Min(1000) @Max(600_000) readonly llmTimeoutMs: number = 120_000;
  /** Answers are streamed, for proxies that cut off connections which stay silent. */
  @toBoolean @IsBoolean() readonly llmStream: boolean = false;
  /** Tokens of page text in one call; longer pages are read in parts. */
  @toInt @IsInt() @Min(500) @Max(2_000_000) readonly llmContextTokens: number = 24_000;
  /** Tokens that one page or one step of a job may use; what does not fit is left out and said so. */
  @toInt @IsInt() @Min(1000) @Max(100_000_000) readonly llmRequestTokens: number = 250_000;
  /** Tokens that a team may use a day (UTC); 0 = any number. */
  @toInt @IsInt() @Min(0) readonly llmTeamTokensPerDay: number = 0;
  /** Pages that one extract job reads at most, and one wildcard without a `limit`. */
  @toInt @IsInt() @Min(1) @Max(100_000) readonly extractMaxPages: number = 1000;
  /** Credits of an agent's run that names none. */
  @toInt @IsInt() @Min(1) @Max(10_000_000) readonly agentMaxCredits: number = 2500;
  /** Serves `/openapi.json` and `/docs`, without a key. */
  @toBoolean @IsBoolean() readonly apiDocs: boolean = true;
  /** Compressed pages that the cache keeps at most; 0 = no cache. */
  @toInt @IsInt() @Min(0) @Max(100_000_000) readonly cacheMaxMb: number = 2048;
  /** How long a page's text is kept for comparison after its last scrape. */
  @toInt @IsInt() @Min(1) @Max(24 * 3650) readonly changeHistoryHours: number = 24 * 90;
  /** How long results of jobs with zero data retention can be read after their end. */
  @toInt @IsInt() @Min(1) @Max(24 * 60) readonly zeroRetentionGraceMinutes: number = 30;
  /** `diff` of changed pages: an object for client libraries and agents, else a text; or one of them for all. */
  @IsIn(['auto', 'string', 'object']) readonly changeTrackingDiffShape: 'auto' | 'string' | 'object' = 'auto';
  /** Memory of a gateway for results that several clients read, in MiB; 0 = none. */
  @toInt @IsInt() @Min(0) @Max(65_536) readonly statusCacheMb: number = 256;
  @toBoolean @IsBoolean() readonly limitCountsFailed: boolean = true;
  @IsIn(['trace', 'debug', 'info', 'warn', 'error']) readonly logLevel: string = 'info';
  @IsOptional() @IsIn(['pretty', 'json']) readonly logFormat?: 'pretty' | 'json';
  /** Port of health and metrics; 0 = any free one, announced at start. */
  @toInt @IsInt() @Min(0) @Max(65535) readonly metricsPort: number = 0;
  /** Base address of a collector that takes traces by OTLP over HTTP; unset = no traces. */
  @IsOptional() @url(['http', 'https']) readonly otelExporterOtlpEndpoint?: string;
  /** Sent with every batch of spans: `name=value`, values percent-encoded. */
  @toList
  @Matches(/^[\w!#$&'*+.^`|~-]+=([^%]|%[0-9a-f]{2})*$/i, { each: true, message: 'each header must read name=value' })
  readonly otelExporterOtlpHeaders: string[] = [];
  /** Share of the API calls whose traces are recorded. */
  @toNumber @IsNumber() @Min(0) @Max(1) readonly otelTracesSamplerArg: number = 0.01;
}

/** The installation has a language model of its own. */
export function hasModel({ llmProvider }: Pick<TroupeConfig, 'llmProvider'>): boolean {
  return llmProvider !== undefined && llmProvider !== 'none';
}
