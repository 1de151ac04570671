/** Options of a scrape in v1 words (docs/api/v1.md), shared by scrape, batch and crawl bodies. */
import { V1_NAMES, MODEL_PROMPT, type FormatInput } from '@troupe/formats';
import {
  BooleanField,
  Field,
  isBlank,
  isPlainObject,
  keyIssues,
  listIssues,
  MAX_PROMPT_CHARS,
  numberIssues,
  textIssues,
} from '../validation/fields.js';
import { customIssue, notInEnum, under, wrongType, type Issue } from '../validation/issue.js';
import { optionIssues } from '../validation/option-issues.js';
import { combinationIssues, formatIssues, MAX_FORMATS } from '../v2/formats.dto.js';
import { locationIssues, SharedScrapeOptionsDto, type LocationInput } from '../v2/scrape-options.dto.js';

const NAMES = [...V1_NAMES.keys()];

export class ScrapeOptionsV1Dto extends SharedScrapeOptionsDto {
  @Field(formatsIssues) formats?: string[];
  @Field((value, body) => jsonOptionsIssues('json', value, body)) jsonOptions?: Record<string, unknown>;
  @Field((value, body) => jsonOptionsIssues('extract', value, body)) extract?: Record<string, unknown>;
  @Field(changeTrackingIssues) changeTrackingOptions?: Record<string, unknown>;
  @BooleanField() parsePDF?: boolean;
  @Field(locationIssues) geolocation?: LocationInput;
  @Field(agentIssues) agent?: Record<string, unknown>;
}

/** Options of formats, which v1 has beside the formats' names. */
export type FormatOptionsV1 = Pick<ScrapeOptionsV1Dto, 'jsonOptions' | 'extract' | 'changeTrackingOptions'>;

/** One of v1's names in the words of v2. */
export function formatFromV1(name: string, options: FormatOptionsV1 = {}): FormatInput {
  const known = V1_NAMES.get(name);
  const own = known?.options === undefined ? undefined : optionsOf(options, known.options);
  return known?.toV2?.(own) ?? name;
}

/** The options of a format in a body, by their key. */
function optionsOf(body: FormatOptionsV1, key: string): Record<string, unknown> | undefined {
  return body[key as keyof FormatOptionsV1];
}

function formatsIssues(value: unknown, body: object): Issue[] {
  const issues = listIssues(value, formatNameIssues, { maxItems: MAX_FORMATS });
  if (issues.length > 0) return issues;
  const names = value as string[];
  const options = body as ScrapeOptionsV1Dto;
  const isTracked = isPlainObject(options.changeTrackingOptions) ? options.changeTrackingOptions : undefined;
  const words = names.filter((name) => !V1_NAMES.get(name)?.needsOptions);
  return [
    ...missingOptions(names, options),
    ...(names.includes('json') && names.includes('extract')
      ? [customIssue('Formats json and extract are the same: only one of them may be requested')]
      : []),
    ...combinationIssues(words.map((name) => formatFromV1(name, { changeTrackingOptions: isTracked }))),
  ];
}

function formatNameIssues(name: unknown): Issue[] {
  if (typeof name !== 'string') return [wrongType('string', name)];
  return V1_NAMES.has(name) ? [] : [notInEnum(NAMES, name)];
}

function missingOptions(names: string[], body: ScrapeOptionsV1Dto): Issue[] {
  return [...V1_NAMES].flatMap(([name, { options = name, needsOptions }]) => {
    const isMissing = needsOptions === true && names.includes(name) && optionsOf(body, options) === undefined;
    return isMissing ? [customIssue(`Format ${name} requires ${options}`)] : [];
  });
}

function jsonOptionsIssues(format: 'json' | 'extract', value: unknown, body: object): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const { formats } = body as ScrapeOptionsV1Dto;
  const key = V1_NAMES.get(format)?.options ?? format;
  const isAsked = Array.isArray(formats) && formats.includes(format);
  return [
    ...(isAsked ? [] : [customIssue(`${key} is only allowed with format ${format}`)]),
    ...keyIssues(value, ['schema', 'systemPrompt', 'prompt', 'mode', 'temperature', 'agent']),
    ...(isEmptyWish(value) ? [customIssue(`${key} needs a prompt or a schema`)] : []),
    ...optionIssues(MODEL_PROMPT, value),
    ...optional(value, 'systemPrompt', (text) => textIssues(text, { maxLength: MAX_PROMPT_CHARS })),
    ...optional(value, 'mode', (mode) => (mode === 'llm' ? [] : [notInEnum(['llm'], mode)])),
    ...optional(value, 'temperature', (number) => numberIssues(number, { integer: false })),
    ...optional(value, 'agent', agentIssues),
  ];
}

function isEmptyWish({ prompt, schema, systemPrompt }: Record<string, unknown>): boolean {
  return schema === undefined && isBlank(prompt) && isBlank(systemPrompt);
}

/** The options are those of v2's format object. */
function changeTrackingIssues(value: unknown): Issue[] {
  return isPlainObject(value) ? formatIssues({ ...value, type: 'changeTracking' }) : [wrongType('object', value)];
}

function agentIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  return [
    ...keyIssues(value, ['model', 'prompt', 'sessionId', 'waitBeforeClosingMs']),
    ...(['model', 'prompt', 'sessionId'] as const).flatMap((key) =>
      optional(value, key, (text) => textIssues(text, { maxLength: MAX_PROMPT_CHARS })),
    ),
    ...optional(value, 'waitBeforeClosingMs', (ms) => numberIssues(ms, { min: 0 })),
  ];
}

function optional(owner: Record<string, unknown>, key: string, check: (value: unknown) => Issue[]): Issue[] {
  return owner[key] === undefined ? [] : under([key], check(owner[key]));
}
