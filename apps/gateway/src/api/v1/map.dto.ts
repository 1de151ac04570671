import { OriginDto } from '../v2/scrape-options.dto.js';
import { UrlField } from '../v2/scrape.dto.js';
import { BooleanField, NumberField, TextField } from '../validation/fields.js';

/** Body of `POST /v1/map`. */
export class MapV1Dto extends OriginDto {
  @UrlField() url!: string;
  @TextField() search?: string;
  @BooleanField() ignoreSitemap?: boolean;
  @BooleanField() sitemapOnly?: boolean;
  @BooleanField() includeSubdomains?: boolean;
  @NumberField({ min: 1, max: 100_000 }) limit?: number;
  @NumberField({ above: 0 }) timeout?: number;
  @BooleanField() ignoreQueryParameters?: boolean;
}
