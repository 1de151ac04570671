import { isUuid } from '@troupe/contracts';
import { BooleanField, Field, NumberField, TextListField } from '../validation/fields.js';
import { wrongType, type Issue } from '../validation/issue.js';
import { ScrapeOptionsDto } from './scrape-options.dto.js';
import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';

export function UuidField(): PropertyDecorator {
  return Field(uuidIssues, { schema: { type: 'string', format: 'uuid' } });
}

/** Body of `POST /v2/batch/scrape`. The addresses are judged by the mapper: bad ones may be legal. */
export class BatchDto extends ScrapeOptionsDto {
  @TextListField({ required: true, minItems: 1 }) urls!: string[];
  @WebhookField() webhook?: WebhookInput;
  @NumberField({ min: 1 }) maxConcurrency?: number;
  @BooleanField({ default: true }) ignoreInvalidURLs?: boolean;
  @UuidField() appendToId?: string;
}

function uuidIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  return isUuid(value.toLowerCase())
    ? []
    : [{ code: 'invalid_string', validation: 'uuid', path: [], message: 'Invalid uuid' }];
}
