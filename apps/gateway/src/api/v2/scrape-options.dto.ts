/** Options of a scrape, shared by scrape, batch and crawl bodies (docs/api/scrape.md). */
import {
  isPlainObject,
  keyIssues,
  BooleanField,
  EnumField,
  Field,
  HeadersField,
  ListField,
  NumberField,
  numberIssues,
  TextField,
  TextListField,
  textIssues,
} from '../validation/fields.js';
import {
  customIssue,
  noUnionMember,
  notInEnum,
  notOffered,
  toCompile,
  under,
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

/** An option of our own. */
const REVALIDATE =
  'For a page in the cache that is older than maxAge and was made by scripts: when its site answers 304 to its source, what the scripts made of it stands. Without, such a page is always made again.';

/** Fields that every body and `scrapeOptions` may carry. */
export class OriginDto {
  @TextField() origin?: string;
  @TextField({ maxLength: 64 }) integration?: string;
}

/** Options with the same names in v1 and v2. */
export class SharedScrapeOptionsDto extends OriginDto {
  @BooleanField({ default: true }) onlyMainContent?: boolean;
  @TextListField({ maxItems: MAX_SELECTORS }) includeTags?: string[];
  @ListField(excludeTagIssues, { maxItems: MAX_SELECTORS, items: { type: 'string' } }) excludeTags?: string[];
  @NumberField({ min: 0 }) maxAge?: number;
  @HeadersField() headers?: Record<string, string>;
  @NumberField({ min: 0, max: 60_000, also: waitForIssues, default: 0 }) waitFor?: number;
  @BooleanField({ default: false }) mobile?: boolean;
  @BooleanField() skipTlsVerification?: boolean;
  @NumberField({ min: 1000 }) timeout?: number;
  @Field((value, body) => actionsIssues(value, (body as SharedScrapeOptionsDto).waitFor), { schema: ACTIONS_SCHEMA })
  actions?: Record<string, unknown>[];
  @Field(locationIssues, { schema: LOCATION_SCHEMA }) location?: LocationInput;
  @BooleanField({ default: true }) removeBase64Images?: boolean;
  @BooleanField({ default: true }) blockAds?: boolean;
  @EnumField(['basic', 'stealth', 'auto', 'enhanced']) proxy?: string;
  @BooleanField({ default: true }) storeInCache?: boolean;
  @EnumField(['source'], { description: REVALIDATE }) revalidate?: 'source';
  @BooleanField({ default: false }) zeroDataRetention?: boolean;
}

export class ScrapeOptionsDto extends SharedScrapeOptionsDto {
  @Field(formatsIssues, { schema: FORMATS_SCHEMA }) formats?: FormatInput[];
  @NumberField({ min: 0 }) minAge?: number;
  @ListField(parserIssues, { items: PARSER_SCHEMA }) parsers?: ParserInput[];
}

function waitForIssues(waitFor: number, body: object): Issue[] {
  const { timeout } = body as SharedScrapeOptionsDto;
  return typeof timeout === 'number' && waitFor > timeout / 2
    ? [customIssue('waitFor must not exceed half of timeout')]
    : [];
}

/** `*text*` is a pattern over tag names and attributes; everything else a CSS selector. */
function excludeTagIssues(value: unknown): Issue[] {
  const issues = textIssues(value, {});
  if (issues.length > 0) return issues;
  const pattern = /^\*(.+)\*$/s.exec(value as string)?.[1];
  return pattern === undefined ? [] : [toCompile({ kind: 'pattern', text: pattern })];
}

const PDF_MODES = ['fast', 'auto', 'ocr'];
const PDF_SWITCHES = ['pages', 'blocks', 'pageMarkers', 'pageMarkdown'];
const MAX_PDF_PAGES = 10_000;

function parserIssues(parser: unknown): Issue[] {
  if (typeof parser === 'string') return PARSER_TYPES.includes(parser) ? [] : [notInEnum(PARSER_TYPES, parser)];
  if (!isPlainObject(parser)) return [noUnionMember('Invalid parser: expected a name or an object with a type')];
  if (!PARSER_TYPES.includes(parser.type as string)) return [notInEnum(PARSER_TYPES, parser.type, ['type'])];
  return parser.type === 'pdf' ? pdfIssues(parser) : keyIssues(parser, ['type']);
}

function pdfIssues(parser: Record<string, unknown>): Issue[] {
  const { mode, maxPages, blocks } = parser;
  return [
    ...keyIssues(parser, ['type', 'mode', 'maxPages', ...PDF_SWITCHES]),
    ...(mode === undefined || PDF_MODES.includes(mode as string) ? [] : [notInEnum(PDF_MODES, mode, ['mode'])]),
    ...(maxPages === undefined ? [] : under(['maxPages'], numberIssues(maxPages, { min: 1, max: MAX_PDF_PAGES }))),
    ...PDF_SWITCHES.filter((key) => parser[key] !== undefined && typeof parser[key] !== 'boolean').map((key) =>
      wrongType('boolean', parser[key], [key]),
    ),
    ...(blocks === true ? [notOffered('The option blocks of the PDF parser', ['blocks'])] : []),
  ];
}

const COUNTRY = /^[a-z]{2}$/i;
const TOLERATED_COUNTRIES = ['us-generic', 'us-whitelist'];

export function locationIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const issues = keyIssues(value, ['country', 'languages']);
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
