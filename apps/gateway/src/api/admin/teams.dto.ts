import { MODEL_PROVIDERS, PROXY_URL, RATE_GROUPS, type ModelAccess, type TeamFlags } from '@troupe/contracts';
import { Field, isPlainObject, NumberField, numberIssues, TextField, textIssues } from '../validation/fields.js';
import { customIssue, notInEnum, under, unknownKeys, wrongType, type Issue } from '../validation/issue.js';

const MAX_NAME = 200;
const MAX_CONCURRENCY = 100_000;
const MAX_PER_MINUTE = 1_000_000_000;
const MAX_PROXIES = 1000;
const MAX_API_KEY = 4096;
const PROXY_EXPECTED = 'Expected http://, https:// or socks5://, with [user:password@]host[:port] and nothing more';
const PERMISSIONS = ['zeroDataRetention', 'ignoreRobots'];

/** Settings of a team; `null` for concurrency or creditsLimit removes the team's own number. */
export class TeamPatchDto {
  @TextField({ minLength: 1, maxLength: MAX_NAME, stored: true }) name?: string;
  @NumberField({ min: 1, max: MAX_CONCURRENCY }) concurrency?: number;
  @NumberField({ min: 0 }) creditsLimit?: number;
  @Field(flagsIssues) flags?: TeamFlags;
}

export class TeamDto extends TeamPatchDto {
  @TextField({ required: true, minLength: 1, maxLength: MAX_NAME, stored: true }) declare name: string;
}

export class KeyDto {
  @TextField({ required: true, minLength: 1, maxLength: MAX_NAME, stored: true }) name!: string;
  @Field(futureIssues) expiresAt?: string;
}

export class WebhookSecretDto {
  /** @default a random one */
  @TextField({ minLength: 16, maxLength: 256, stored: true }) secret?: string;
}

/** A list that is absent is empty: those of the installation are used. */
export class ProxiesDto {
  @Field(proxyIssues) basic?: string[];
  @Field(proxyIssues) stealth?: string[];
}

/** A language model of the team's own. */
export class ModelDto {
  @Field(providerIssues, { required: true, schema: { type: 'string', enum: MODEL_PROVIDERS } })
  provider!: ModelAccess['provider'];
  /** With `azure` the name of the deployment. */
  @TextField({ required: true, minLength: 1, maxLength: MAX_NAME, stored: true }) model!: string;
  /** @default the provider's own address */
  @Field(baseUrlIssues, { schema: { type: 'string', format: 'uri' } }) baseUrl?: string;
  @Field(apiKeyIssues, { schema: { type: 'string', maxLength: MAX_API_KEY } }) apiKey?: string;
}

function providerIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  return MODEL_PROVIDERS.some((known) => known === value) ? [] : [notInEnum(MODEL_PROVIDERS, value)];
}

/** A key belongs into `apiKey`, which is never shown. The address is shown to every reader of the team. */
function baseUrlIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  const url = URL.canParse(value) ? new URL(value) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && url.username + url.password + url.search === '';
  return isPlain ? [] : [customIssue('Expected an http:// or https:// address without a password and without a query')];
}

function apiKeyIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { minLength: 1, maxLength: MAX_API_KEY });
  if (issues.length > 0 || /^[\x21-\x7e]+$/.test(value as string)) return issues;
  return [customIssue('Expected a key without spaces')];
}

function proxyIssues(value: unknown): Issue[] {
  if (!Array.isArray(value)) return [wrongType('array', value)];
  if (value.length > MAX_PROXIES) return [customIssue(`Expected at most ${MAX_PROXIES} proxies`)];
  return value.flatMap((url, at) =>
    typeof url === 'string' && PROXY_URL.test(url) ? [] : under([at], [customIssue(PROXY_EXPECTED)]),
  );
}

function flagsIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const unknown = Object.keys(value).filter((key) => key !== 'rateLimits' && !PERMISSIONS.includes(key));
  const permissions = PERMISSIONS.filter((key) => value[key] !== undefined && typeof value[key] !== 'boolean');
  return [
    ...(unknown.length > 0 ? [unknownKeys(unknown)] : []),
    ...permissions.map((key) => wrongType('boolean', value[key], [key])),
    ...(value.rateLimits === undefined ? [] : under(['rateLimits'], rateLimitIssues(value.rateLimits))),
  ];
}

function rateLimitIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const unknown = Object.keys(value).filter((key) => !RATE_GROUPS.some((group) => group === key));
  return [
    ...(unknown.length > 0 ? [unknownKeys(unknown)] : []),
    ...RATE_GROUPS.flatMap((group) =>
      value[group] === undefined ? [] : under([group], numberIssues(value[group], { min: 1, max: MAX_PER_MINUTE })),
    ),
  ];
}

const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/;

/** An ISO 8601 date, or a date and time with its zone. */
export function readDate(text: string): Date | null {
  const ms = ISO_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? null : new Date(ms);
}

function futureIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  const date = readDate(value);
  if (date === null) return [customIssue('Expected an ISO 8601 date, like 2030-01-31 or 2030-01-31T12:00:00Z')];
  return date.getTime() > Date.now() ? [] : [customIssue('Expected a moment in the future')];
}
