/** The `formats` array: strings and strict objects (docs/api/formats.md). */
import { readSelectors } from '@troupe/content';
import { type FormatName } from '@troupe/contracts';
import { checkSelector } from '@troupe/html';
import {
  isBlank,
  isPlainObject,
  keyIssues,
  listIssues,
  MAX_PROMPT_CHARS,
  numberIssues,
  textIssues,
} from '../validation/fields.js';
import { jsonSchemaIssues } from '../validation/json-schema.js';
import {
  customIssue,
  isToCompile,
  noModel,
  noUnionMember,
  notInEnum,
  notOffered,
  under,
  wrongType,
  type Issue,
} from '../validation/issue.js';

export type FormatInput = string | { type: string; [option: string]: unknown };

export const OFFERED_FORMATS: readonly FormatName[] = [
  'markdown',
  'html',
  'rawHtml',
  'links',
  'images',
  'screenshot',
  'branding',
  'attributes',
  'json',
  'summary',
  'question',
  'highlights',
];

/** Not made from the page alone, so the model knows it by a field of its own. */
export const TRACKING = 'changeTracking';

/** Keys that the objects of formats may have beside their type. */
const FORMAT_KEYS: Record<string, readonly string[]> = {
  summary: [],
  screenshot: ['fullPage', 'quality', 'viewport'],
  json: ['prompt', 'schema', 'checkPromptInjection', 'selectors', 'learn'],
  changeTracking: ['modes', 'schema', 'prompt', 'tag'],
  branding: [],
  attributes: ['selectors'],
  question: ['question'],
  highlights: ['query'],
  query: ['prompt', 'mode'],
};
const BEYOND_SCOPE = ['rawBase64', 'deterministicJson', 'product', 'menu', 'audio', 'video'];
const KNOWN_FORMATS = [...new Set([...OFFERED_FORMATS, ...Object.keys(FORMAT_KEYS)])];
/** Legal only as an object. */
const NEEDS_OPTIONS = new Set(['json', 'attributes', 'question', 'highlights', 'query']);
/** Written by a language model. */
const MODEL_FORMATS = new Set(['json', 'summary', 'question', 'highlights', 'query']);
/** What a `query` may ask for: an answer, or passages. */
const QUERY_MODES = ['freeform', 'directQuote'];
export const MAX_FORMATS = 50;
const MAX_TAG_CHARS = 200;
/** Pairs of a selector and an attribute. */
const MAX_ATTRIBUTES = 100;
const MAX_ATTRIBUTE_CHARS = 200;

/** A name, or an object with the name as its `type` and the options of that format. */
export const FORMATS_SCHEMA = {
  type: 'array',
  maxItems: MAX_FORMATS,
  items: {
    anyOf: [
      { type: 'string', enum: KNOWN_FORMATS.filter((name) => !NEEDS_OPTIONS.has(name)) },
      { type: 'object', required: ['type'], properties: { type: { type: 'string', enum: KNOWN_FORMATS } } },
    ],
  },
};

export function formatName(format: FormatInput): string {
  return typeof format === 'string' ? format : format.type;
}

export function isOffered(name: string): name is FormatName {
  return (OFFERED_FORMATS as readonly string[]).includes(name);
}

export function formatsIssues(value: unknown): Issue[] {
  const issues = listIssues(value, formatIssues, { maxItems: MAX_FORMATS });
  return issues.some((issue) => !isToCompile(issue))
    ? issues
    : [...issues, ...combinationIssues(value as FormatInput[])];
}

export function formatIssues(format: unknown): Issue[] {
  if (typeof format === 'string')
    return nameIssues(format, []) ?? (NEEDS_OPTIONS.has(format) ? [needsObject(format)] : []);
  if (!isPlainObject(format)) return [noUnionMember(`Invalid format: expected a name or an object with a type`)];
  if (typeof format.type !== 'string') return [wrongType('string', format.type, ['type'])];
  return nameIssues(format.type, ['type']) ?? objectIssues(format.type, format);
}

function nameIssues(name: string, path: string[]): Issue[] | null {
  if (BEYOND_SCOPE.includes(name)) return [notOffered(`Format ${name}`, path)];
  return KNOWN_FORMATS.includes(name) ? null : [notInEnum(KNOWN_FORMATS, name, path)];
}

function needsObject(name: string): Issue {
  return customIssue(`Format ${name} must be an object with its options`);
}

function objectIssues(name: string, format: Record<string, unknown>): Issue[] {
  const strict = name === 'screenshot' ? [] : keyIssues(format, ['type', ...(FORMAT_KEYS[name] ?? [])]);
  return [...strict, ...optionIssues(name, format)];
}

function optionIssues(name: string, format: Record<string, unknown>): Issue[] {
  switch (name) {
    case 'json':
      return jsonIssues(format);
    case 'screenshot':
      return screenshotIssues(format);
    case 'changeTracking':
      return trackingIssues(format);
    case 'question':
      return under(['question'], textIssues(format.question, { minLength: 1, maxLength: MAX_PROMPT_CHARS }));
    case 'highlights':
      return under(['query'], textIssues(format.query, { minLength: 1, maxLength: MAX_PROMPT_CHARS }));
    case 'query':
      return queryIssues(format);
    case 'attributes':
      return under(['selectors'], listIssues(format.selectors, attributeIssues, { maxItems: MAX_ATTRIBUTES }));
    default:
      return [];
  }
}

function jsonIssues(format: Record<string, unknown>): Issue[] {
  if (format.checkPromptInjection === true) return [notOffered('checkPromptInjection', ['checkPromptInjection'])];
  if (hasSelectors(format)) return factsIssues(format);
  if (isBlank(format.prompt) && format.schema === undefined)
    return [customIssue('Format json needs a prompt, a schema or selectors')];
  return [...wishIssues(format), ...learnIssues(format)];
}

/** Whether facts are picked from the page without a model (docs/selectors.md). */
function hasSelectors(format: FormatInput | Record<string, unknown>): boolean {
  return typeof format === 'object' && format.type === 'json' && format.selectors !== undefined;
}

function factsIssues({ selectors, prompt, learn, schema }: Record<string, unknown>): Issue[] {
  const read = readSelectors(selectors);
  const problems = 'problems' in read ? read.problems.map(({ path, message }) => customIssue(message, path)) : [];
  return [
    ...under(['selectors'], problems),
    ...(prompt === undefined ? [] : [customIssue('Selectors answer without a model: a prompt has no use', ['prompt'])]),
    ...(learn === undefined ? [] : [customIssue('There is nothing to learn beside selectors', ['learn'])]),
    ...wishIssues({ schema }, { needsModel: false }),
  ];
}

function learnIssues({ learn, schema }: Record<string, unknown>): Issue[] {
  if (learn === undefined) return [];
  if (typeof learn !== 'boolean') return [wrongType('boolean', learn, ['learn'])];
  return learn && schema === undefined ? [customIssue('Only a schema can be learned', ['learn'])] : [];
}

/** `prompt` and `schema` of whatever a model fills in. */
export function wishIssues(
  { prompt, schema }: Record<string, unknown>,
  { needsModel } = { needsModel: true },
): Issue[] {
  return [
    ...(prompt === undefined ? [] : under(['prompt'], textIssues(prompt, { maxLength: MAX_PROMPT_CHARS }))),
    ...(schema === undefined ? [] : under(['schema'], jsonSchemaIssues(schema, { needsModel }))),
  ];
}

function queryIssues({ prompt, mode }: Record<string, unknown>): Issue[] {
  return [
    ...under(['prompt'], textIssues(prompt, { minLength: 1, maxLength: MAX_PROMPT_CHARS })),
    ...(mode === undefined || QUERY_MODES.includes(mode as string) ? [] : [notInEnum(QUERY_MODES, mode, ['mode'])]),
  ];
}

const MAX_VIEWPORT = { width: 7680, height: 4320 };

export function screenshotIssues(format: Record<string, unknown>): Issue[] {
  const issues: Issue[] = [];
  if (format.fullPage !== undefined && typeof format.fullPage !== 'boolean')
    issues.push(wrongType('boolean', format.fullPage, ['fullPage']));
  if (format.quality !== undefined)
    issues.push(...under(['quality'], numberIssues(format.quality, { min: 1, max: 100 })));
  if (format.viewport !== undefined) issues.push(...under(['viewport'], viewportIssues(format.viewport)));
  return issues;
}

function viewportIssues(viewport: unknown): Issue[] {
  if (!isPlainObject(viewport)) return [wrongType('object', viewport)];
  return (['width', 'height'] as const).flatMap((side) =>
    under([side], numberIssues(viewport[side], { min: 1, max: MAX_VIEWPORT[side] })),
  );
}

const TRACKING_MODES = ['git-diff', 'json'];

function modeIssues(mode: unknown): Issue[] {
  return TRACKING_MODES.includes(mode as string) ? [] : [notInEnum(TRACKING_MODES, mode)];
}

function trackingIssues({ modes, tag, ...wish }: Record<string, unknown>): Issue[] {
  return [
    ...wishIssues(wish),
    ...(modes === undefined ? [] : under(['modes'], listIssues(modes, modeIssues))),
    ...(tag === undefined || tag === null ? [] : under(['tag'], textIssues(tag, { maxLength: MAX_TAG_CHARS }))),
  ];
}

function attributeIssues(entry: unknown): Issue[] {
  if (!isPlainObject(entry)) return [wrongType('object', entry)];
  return [
    ...under(['selector'], selectorIssues(entry.selector)),
    ...under(['attribute'], textIssues(entry.attribute, { minLength: 1, maxLength: MAX_ATTRIBUTE_CHARS })),
  ];
}

/** A selector that cannot be used is found before a page is asked for. */
function selectorIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { minLength: 1 });
  const problem = issues.length > 0 ? null : checkSelector(value as string);
  return problem === null ? issues : [customIssue(problem)];
}

/** Selectors of the `attributes` formats of one request. */
function attributeCount(formats: FormatInput[]): number {
  return formats
    .filter((format) => formatName(format) === 'attributes')
    .flatMap((format) => (typeof format === 'object' ? format.selectors : [])).length;
}

export function combinationIssues(formats: FormatInput[]): Issue[] {
  const issues: Issue[] = [];
  const names = formats.map(formatName);
  const screenshots = new Set(formats.filter((format) => formatName(format) === 'screenshot').map(screenshotIdentity));
  if (screenshots.size > 1) issues.push(customIssue('Only one screenshot format may be requested'));
  if (names.includes('changeTracking') && !names.includes('markdown')) {
    issues.push(customIssue('The changeTracking format requires the markdown format'));
  }
  if (attributeCount(formats) > MAX_ATTRIBUTES) {
    issues.push(customIssue(`At most ${MAX_ATTRIBUTES} selectors may be given for attributes`));
  }
  return [...issues, ...repeatedKeyIssues(formats)];
}

/** A document has each of these keys once. */
function repeatedKeyIssues(formats: FormatInput[]): Issue[] {
  const asked = new Map<string, Set<string>>();
  for (const format of formats) {
    const key = factsKey(format);
    if (key !== null) asked.set(key, (asked.get(key) ?? new Set()).add(JSON.stringify(format)));
  }
  return [...asked]
    .filter(([, formats]) => formats.size > 1)
    .map(([key]) => customIssue(`Only one format may be requested that gives ${key}`));
}

/** Key of the document that the options of a format decide; null for other formats. */
function factsKey(format: FormatInput): string | null {
  if (typeof format === 'string') return null;
  if (format.type === 'json') return 'json';
  if (format.type === 'question') return 'answer';
  if (format.type === 'highlights') return 'highlights';
  if (format.type === 'query') return format.mode === 'directQuote' ? 'highlights' : 'answer';
  return null;
}

/** What of well-formed formats cannot be had in a deployment without a language model. */
export function modelIssues(formats: readonly FormatInput[]): Issue[] {
  return formats.flatMap((format, index) => under([index], formatModelIssues(format)));
}

function formatModelIssues(format: FormatInput): Issue[] {
  const name = formatName(format);
  if (name === TRACKING) {
    const mode = trackingModes(format).indexOf('json');
    return mode < 0 ? [] : [noModel('The json mode of changeTracking', ['modes', mode])];
  }
  return MODEL_FORMATS.has(name) && !hasSelectors(format) ? [noModel(`Format ${v1NameOf(format) ?? name}`)] : [];
}

function trackingModes(format: FormatInput): unknown[] {
  return typeof format === 'object' && Array.isArray(format.modes) ? format.modes : [];
}

/** `extract`, which a body of v1 says for json. */
function v1NameOf(format: FormatInput): string | null {
  return typeof format === 'object' && typeof format.key === 'string' ? format.key : null;
}

export function needsModel(format: FormatInput): boolean {
  return formatModelIssues(format).length > 0;
}

function screenshotIdentity(format: FormatInput): string {
  return typeof format === 'string' ? JSON.stringify({ type: format }) : JSON.stringify(format);
}
