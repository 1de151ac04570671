import {
  BooleanField,
  EnumField,
  Field,
  isPlainObject,
  ListField,
  MAX_PROMPT_CHARS,
  NumberField,
  TextField,
  textIssues,
  UuidField,
} from '../validation/fields.js';
import { customIssue, invalidUrl, wrongType, type Issue } from '../validation/issue.js';
import { readPageUrl } from '../validation/page-url.js';
import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';
import { schemaIssues } from './extract.dto.js';
import { LOCATION_SCHEMA, locationIssues, OriginDto, type LocationInput } from './scrape-options.dto.js';

const MAX_URLS = 100;
export const MODELS = ['spark-1-pro', 'spark-1-mini', 'spark-2'];
export const EFFORTS = ['low', 'medium', 'high'] as const;
const MODES = ['extract', 'chat'];

/** Body of `POST /v2/agent` (docs/api/extract.md, "Agent"). */
export class AgentDto extends OriginDto {
  @TextField({ minLength: 1, maxLength: MAX_PROMPT_CHARS, required: true }) prompt!: string;
  @ListField(urlIssues, { maxItems: MAX_URLS, items: { type: 'string' } }) urls?: string[];
  @Field(schemaIssues, { verbatim: true, schema: { type: ['object'], description: 'JSON Schema' } }) schema?: Record<
    string,
    unknown
  >;
  @NumberField({ above: 0, integer: false }) maxCredits?: number;
  @Field(strictIssues, { schema: { type: 'boolean', default: false } }) strictConstrainToURLs?: boolean;
  @EnumField(MODELS) model?: string;
  @EnumField(EFFORTS, { default: 'medium' }) effort?: (typeof EFFORTS)[number];
  @WebhookField(['agent']) webhook?: WebhookInput;
  @UuidField() threadId?: string;
  @EnumField(MODES, { default: 'extract' }) mode?: string;
  @Field(exchangeIssues, { schema: { type: 'object' } }) exchange?: Record<string, unknown>;
  @Field(locationIssues, { schema: LOCATION_SCHEMA }) location?: LocationInput;
  @BooleanField({ default: false }) zeroDataRetention?: boolean;
}

function urlIssues(value: unknown): Issue[] {
  const issues = textIssues(value, {});
  if (issues.length > 0) return issues;
  const page = readPageUrl(value as string);
  return page.ok ? [] : [invalidUrl(page.message)];
}

function strictIssues(value: unknown, body: object): Issue[] {
  if (typeof value !== 'boolean') return [wrongType('boolean', value)];
  const { urls } = body as AgentDto;
  const isBare = !Array.isArray(urls) || urls.length === 0;
  return value && isBare ? [customIssue('strictConstrainToURLs needs urls')] : [];
}

function exchangeIssues(value: unknown): Issue[] {
  return isPlainObject(value) ? [] : [wrongType('object', value)];
}
