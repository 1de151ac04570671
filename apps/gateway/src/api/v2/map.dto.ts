import { BooleanField, EnumField, Field, HeadersField, NumberField, TextField } from '../validation/fields.js';
import { PatternListField } from './crawl.dto.js';
import { locationIssues, OriginDto, type LocationInput } from './scrape-options.dto.js';
import { UrlField } from './scrape.dto.js';

/** Body of `POST /v2/map`. */
export class MapDto extends OriginDto {
  @UrlField() url!: string;
  @TextField() search?: string;
  @NumberField({ min: 1, max: 100_000 }) limit?: number;
  @EnumField(['only', 'include', 'skip']) sitemap?: 'only' | 'include' | 'skip';
  @BooleanField() includeSubdomains?: boolean;
  @BooleanField() ignoreQueryParameters?: boolean;
  @BooleanField() filterByPath?: boolean;
  @NumberField({ above: 0 }) timeout?: number;
  @Field(locationIssues) location?: LocationInput;
  @HeadersField() headers?: Record<string, string>;
  @PatternListField() includePaths?: string[];
  @PatternListField() excludePaths?: string[];
  @BooleanField() regexOnFullURL?: boolean;
  @BooleanField() allowSubdomains?: boolean;
  @BooleanField() allowExternalLinks?: boolean;
  @BooleanField() ignoreRobotsTxt?: boolean;
  @NumberField({ min: 0 }) maxDiscoveryDepth?: number;
  @BooleanField() crawlEntireDomain?: boolean;
  @BooleanField() deduplicateSimilarURLs?: boolean;
  @NumberField({ above: 0, max: 60, integer: false }) delay?: number;
}
