import { BooleanField, NumberField, TextListField, UuidField } from '../validation/fields.js';
import { ScrapeOptionsDto } from './scrape-options.dto.js';
import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';

/** Body of `POST /v2/batch/scrape`. The addresses are judged by the mapper: bad ones may be legal. */
export class BatchDto extends ScrapeOptionsDto {
  @TextListField({ required: true, minItems: 1 }) urls!: string[];
  @WebhookField() webhook?: WebhookInput;
  @NumberField({ min: 1 }) maxConcurrency?: number;
  @BooleanField({ default: true }) ignoreInvalidURLs?: boolean;
  @UuidField() appendToId?: string;
}
