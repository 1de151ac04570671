import { patternsBreach, SPEC_LIMITS } from '@troupe/contracts';
import {
  BooleanField,
  EnumField,
  Field,
  listIssues,
  MAX_PROMPT_CHARS,
  NestedField,
  NumberField,
  TextField,
  textIssues,
} from '../validation/fields.js';
import { customIssue, isToCompile, toCompile, type Issue } from '../validation/issue.js';
import { OriginDto, ScrapeOptionsDto } from './scrape-options.dto.js';
import { UrlField } from './scrape.dto.js';
import { WebhookField, type WebhookInput } from '../webhook/webhook.field.js';

const MAX_PATTERN_CHARS = 2000;

/** Regular expressions in RE2 syntax; a bad one is an issue at its index. */
export function PatternListField(): PropertyDecorator {
  const items = { type: 'string', format: 'regex', maxLength: MAX_PATTERN_CHARS };
  const schema = { type: 'array', items, maxItems: SPEC_LIMITS.patterns };
  return Field(patternListIssues, { schema });
}

function patternListIssues(value: unknown): Issue[] {
  const issues = listIssues(value, patternIssues, { maxItems: SPEC_LIMITS.patterns });
  if (issues.some((issue) => !isToCompile(issue))) return issues;
  const breach = patternsBreach(value as string[]);
  return breach === null ? issues : [customIssue(breach.message)];
}

function patternIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { maxLength: MAX_PATTERN_CHARS });
  if (issues.length > 0) return issues;
  return [toCompile({ kind: 'pattern', text: value as string })];
}

/** Options with the same names in v1 and v2. */
export class SharedCrawlDto extends OriginDto {
  @UrlField() url!: string;
  @PatternListField() includePaths?: string[];
  @PatternListField() excludePaths?: string[];
  @BooleanField({ default: false }) regexOnFullURL?: boolean;
  @NumberField({ min: 0 }) maxDiscoveryDepth?: number;
  @BooleanField({ default: false }) ignoreQueryParameters?: boolean;
  @BooleanField({ default: true }) deduplicateSimilarURLs?: boolean;
  @NumberField({ min: 1, default: 10_000 }) limit?: number;
  @BooleanField({ default: false }) crawlEntireDomain?: boolean;
  @BooleanField({ default: false }) allowExternalLinks?: boolean;
  @BooleanField({ default: false }) allowSubdomains?: boolean;
  @NumberField({ above: 0, max: 60, integer: false }) delay?: number;
  @NumberField({ min: 1 }) maxConcurrency?: number;
  @BooleanField({ default: false }) ignoreRobotsTxt?: boolean;
  @WebhookField() webhook?: WebhookInput;
  @BooleanField({ default: false }) zeroDataRetention?: boolean;
}

/** Body of `POST /v2/crawl`. */
export class CrawlDto extends SharedCrawlDto {
  @TextField({ maxLength: MAX_PROMPT_CHARS }) prompt?: string;
  @EnumField(['include', 'skip', 'only'], { default: 'include' }) sitemap?: 'include' | 'skip' | 'only';
  @TextField({ minLength: 1, maxLength: 200 }) robotsUserAgent?: string;
  @NestedField(() => ScrapeOptionsDto) scrapeOptions?: ScrapeOptionsDto;
  /** Not an option of v2: only the translation of a v1 body sets it. */
  maxPathDepth?: number;
}
