import { BooleanField, EnumField, Field, HeadersField, NumberField, TextField } from '../validation/fields.js';
import { PatternListField } from './crawl.dto.js';
import { LOCATION_SCHEMA, locationIssues, OriginDto, type LocationInput } from './scrape-options.dto.js';
import { UrlField } from './scrape.dto.js';

/** Body of `POST /v2/map`. */
export class MapDto extends OriginDto {
  @UrlField() url!: string;
  @TextField() search?: string;
  @NumberField({ min: 1, max: 100_000, default: 100 }) limit?: number;
  @EnumField(['only', 'include', 'skip'], { default: 'include' }) sitemap?: 'only' | 'include' | 'skip';
  @BooleanField({ default: true }) includeSubdomains?: boolean;
  @BooleanField({ default: true }) ignoreQueryParameters?: boolean;
  @BooleanField({ default: true }) filterByPath?: boolean;
  @NumberField({ above: 0 }) timeout?: number;
  @Field(locationIssues, { schema: LOCATION_SCHEMA }) location?: LocationInput;
  @HeadersField() headers?: Record<string, string>;
  @PatternListField() includePaths?: string[];
  @PatternListField() excludePaths?: string[];
  @BooleanField({ default: false }) regexOnFullURL?: boolean;
  @BooleanField() allowSubdomains?: boolean;
  @BooleanField({ default: false }) allowExternalLinks?: boolean;
  @BooleanField() ignoreRobotsTxt?: boolean;
  @NumberField({ min: 0 }) maxDiscoveryDepth?: number;
  @BooleanField() crawlEntireDomain?: boolean;
  @BooleanField() deduplicateSimilarURLs?: boolean;
  @NumberField({ above: 0, max: 60, integer: false }) delay?: number;
}
