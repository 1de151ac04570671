import {
  BooleanField,
  Field,
  isBlank,
  isPlainObject,
  keyIssues,
  MAX_PROMPT_CHARS,
  NestedField,
  NumberField,
  TextField,
  TextListField,
  textIssues,
} from '../validation/fields.js';
import { customIssue, under, wrongType, type Issue } from '../validation/issue.js';
import { jsonSchemaIssues } from '../validation/json-schema.js';
import { OriginDto, ScrapeOptionsDto } from './scrape-options.dto.js';
import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';

const MAX_URLS = 100;

/** Body of `POST /v2/extract` and `/v1/extract` (docs/api/extract.md). */
export class ExtractDto extends OriginDto {
  @TextListField({ maxItems: MAX_URLS }) urls?: string[];
  @Field(promptIssues, { required: true }) prompt?: string;
  @Field(schemaIssues, { verbatim: true, schema: { type: ['object'], description: 'JSON Schema' } }) schema?: Record<
    string,
    unknown
  >;
  @BooleanField() enableWebSearch?: boolean;
  @Field(agentIssues) agent?: Record<string, unknown>;
  @TextField({ maxLength: MAX_PROMPT_CHARS }) systemPrompt?: string;
  @BooleanField() allowExternalLinks?: boolean;
  @BooleanField() ignoreSitemap?: boolean;
  @BooleanField() includeSubdomains?: boolean;
  @NumberField({ min: 1 }) limit?: number;
  @BooleanField() showSources?: boolean;
  @BooleanField() ignoreInvalidURLs?: boolean;
  @NestedField(() => ScrapeOptionsDto) scrapeOptions?: ScrapeOptionsDto;
  @NumberField({ min: 1000 }) timeout?: number;
  @WebhookField(['extract']) webhook?: WebhookInput;
}

function promptIssues(value: unknown, body: object): Issue[] {
  if (!isBlank(value)) return textIssues(value, { maxLength: MAX_PROMPT_CHARS });
  const { urls, schema } = body as ExtractDto;
  if (schema === undefined) return [customIssue('Either prompt or schema is required')];
  return urls === undefined || urls.length === 0 ? [customIssue('Either urls or prompt is required')] : [];
}

export function schemaIssues(value: unknown): Issue[] {
  return jsonSchemaIssues(value, { needsModel: true });
}

function agentIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const model = value.model === undefined ? [] : under(['model'], textIssues(value.model, {}));
  return [...keyIssues(value, ['model']), ...model];
}
