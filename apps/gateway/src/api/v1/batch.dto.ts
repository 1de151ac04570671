import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';
import { BooleanField, NumberField, TextListField, UuidField } from '../validation/fields.js';
import { ScrapeOptionsV1Dto } from './scrape-options.dto.js';

/** Body of `POST /v1/batch/scrape`. */
export class BatchV1Dto extends ScrapeOptionsV1Dto {
  @TextListField({ required: true, minItems: 1 }) urls!: string[];
  @WebhookField() webhook?: WebhookInput;
  @NumberField({ min: 1 }) maxConcurrency?: number;
  @BooleanField() ignoreInvalidURLs?: boolean;
  @UuidField() appendToId?: string;
}
