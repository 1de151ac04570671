/** Options of a scrape, shared by scrape, batch and crawl bodies (spec/scrape.md). */
import { checkPattern } from '@troupe/frontier';
import {
  isPlainObject,
  BooleanField,
  EnumField,
  Field,
  HeadersField,
  ListField,
  NumberField,
  TextField,
  TextListField,
  textIssues,
} from '../validation/fields.js';
import {
  customIssue,
  noUnionMember,
  notInEnum,
  under,
  unknownKeys,
  wrongType,
  type Issue,
} from '../validation/issue.js';
import { ACTIONS_SCHEMA, actionsIssues } from './actions.dto.js';
import { FORMATS_SCHEMA, formatsIssues, type FormatInput } from './formats.dto.js';

export interface LocationInput {
  country?: string;
  languages?: string[];
}

export type ParserInput = string | { type: string; [option: string]: unknown };

const MAX_SELECTORS = 1000;
const PARSER_TYPES = ['pdf', 'image'];
const PARSER_SCHEMA = {
  anyOf: [
    { type: 'string', enum: PARSER_TYPES },
    { type: 'object', required: ['type'], properties: { type: { type: 'string', enum: PARSER_TYPES } } },
  ],
};
export const LOCATION_SCHEMA = {
  type: 'object',
  properties: {
    country: { type: ['string', 'null'], description: 'ISO 3166-1 alpha-2' },
    languages: { type: ['array', 'null'], items: { type: 'string' } },
  },
  additionalProperties: false,
};

/** Fields that every body and `scrapeOptions` may carry. */
export class OriginDto {
  @TextField() origin?: string;
  @TextField({ maxLength: 64 }) integration?: string;
}

export class ScrapeOptionsDto extends OriginDto {
  @Field(formatsIssues, { schema: FORMATS_SCHEMA }) formats?: FormatInput[];
  @BooleanField({ default: true }) onlyMainContent?: boolean;
  @TextListField({ maxItems: MAX_SELECTORS }) includeTags?: string[];
  @ListField(excludeTagIssues, { maxItems: MAX_SELECTORS, items: { type: 'string' } }) excludeTags?: string[];
  @NumberField({ min: 0 }) maxAge?: number;
  @NumberField({ min: 0 }) minAge?: number;
  @HeadersField() headers?: Record<string, string>;
  @NumberField({ min: 0, max: 60_000, also: waitForIssues, default: 0 }) waitFor?: number;
  @BooleanField({ default: false }) mobile?: boolean;
  @BooleanField() skipTlsVerification?: boolean;
  @NumberField({ min: 1000 }) timeout?: number;
  @ListField(parserIssues, { items: PARSER_SCHEMA }) parsers?: ParserInput[];
  @Field((value, body) => actionsIssues(value, (body as ScrapeOptionsDto).waitFor), { schema: ACTIONS_SCHEMA })
  actions?: Record<string, unknown>[];
  @Field(locationIssues, { schema: LOCATION_SCHEMA }) location?: LocationInput;
  @BooleanField({ default: true }) removeBase64Images?: boolean;
  @BooleanField({ default: true }) blockAds?: boolean;
  @EnumField(['basic', 'stealth', 'auto', 'enhanced']) proxy?: string;
  @BooleanField({ default: true }) storeInCache?: boolean;
  @BooleanField({ default: false }) zeroDataRetention?: boolean;
}

function waitForIssues(waitFor: number, body: object): Issue[] {
  const { timeout } = body as ScrapeOptionsDto;
  return typeof timeout === 'number' && waitFor > timeout / 2
    ? [customIssue('waitFor must not exceed half of timeout')]
    : [];
}

/** `*text*` is a pattern over tag names and attributes; everything else a CSS selector. */
function excludeTagIssues(value: unknown): Issue[] {
  const issues = textIssues(value, {});
  if (issues.length > 0) return issues;
  const pattern = /^\*(.+)\*$/s.exec(value as string)?.[1];
  const problem = pattern === undefined ? null : checkPattern(pattern);
  return problem === null ? [] : [customIssue(problem)];
}

const PDF_KEYS = ['mode', 'maxPages', 'pages', 'blocks', 'pageMarkers', 'pageMarkdown'];

function parserIssues(parser: unknown): Issue[] {
  if (typeof parser === 'string') return PARSER_TYPES.includes(parser) ? [] : [notInEnum(PARSER_TYPES, parser)];
  if (!isPlainObject(parser)) return [noUnionMember('Invalid parser: expected a name or an object with a type')];
  if (!PARSER_TYPES.includes(parser.type as string)) return [notInEnum(PARSER_TYPES, parser.type, ['type'])];
  const allowed = parser.type === 'pdf' ? PDF_KEYS : [];
  const unknown = Object.keys(parser).filter((key) => key !== 'type' && !allowed.includes(key));
  return unknown.length > 0 ? [unknownKeys(unknown)] : [];
}

const COUNTRY = /^[a-z]{2}$/i;
const TOLERATED_COUNTRIES = ['us-generic', 'us-whitelist'];

export function locationIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const issues: Issue[] = [];
  const unknown = Object.keys(value).filter((key) => key !== 'country' && key !== 'languages');
  if (unknown.length > 0) issues.push(unknownKeys(unknown));
  if (value.country !== undefined) issues.push(...under(['country'], countryIssues(value.country)));
  if (value.languages !== undefined) issues.push(...under(['languages'], languagesIssues(value.languages)));
  return issues;
}

function countryIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  const isKnown = COUNTRY.test(value) || TOLERATED_COUNTRIES.includes(value.toLowerCase());
  return isKnown ? [] : [customIssue('Invalid country code: expected ISO 3166-1 alpha-2')];
}

function languagesIssues(value: unknown): Issue[] {
  if (!Array.isArray(value)) return [wrongType('array', value)];
  return value.flatMap((language: unknown, index) => under([index], textIssues(language, {})));
}
