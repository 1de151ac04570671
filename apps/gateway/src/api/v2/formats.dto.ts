/** The `formats` array: strings and strict objects (spec/formats.md). */
import { checkSelector } from '@troupe/content';
import { type FormatName } from '@troupe/contracts';
import {
  isPlainObject,
  keyIssues,
  listIssues,
  MAX_PROMPT_CHARS,
  numberIssues,
  textIssues,
} from '../validation/fields.js';
import { customIssue, noModel, noUnionMember, notInEnum, under, wrongType, type Issue } from '../validation/issue.js';

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
];

/** Not made from the page alone, so the model knows it by a field of its own. */
export const TRACKING = 'changeTracking';

/** Keys that the objects of formats may have beside their type. */
const FORMAT_KEYS: Record<string, readonly string[]> = {
  summary: [],
  screenshot: ['fullPage', 'quality', 'viewport'],
  json: ['prompt', 'schema', 'checkPromptInjection'],
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
/** Written by a language model; `extract` is v1's name of `json`. */
const MODEL_FORMATS = new Set(['json', 'extract', 'summary', 'question', 'highlights', 'query']);
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
  return issues.length > 0 ? issues : requestIssues(value as FormatInput[]);
}

/** What is wrong with well-formed formats: together, or in a deployment without a language model. */
export function requestIssues(formats: FormatInput[]): Issue[] {
  return [...combinationIssues(formats), ...modelIssues(formats)];
}

export function formatIssues(format: unknown): Issue[] {
  if (typeof format === 'string')
    return nameIssues(format, []) ?? (NEEDS_OPTIONS.has(format) ? [needsObject(format)] : []);
  if (!isPlainObject(format)) return [noUnionMember(`Invalid format: expected a name or an object with a type`)];
  if (typeof format.type !== 'string') return [wrongType('string', format.type, ['type'])];
  return nameIssues(format.type, ['type']) ?? objectIssues(format.type, format);
}

function nameIssues(name: string, path: string[]): Issue[] | null {
  if (BEYOND_SCOPE.includes(name)) return [customIssue(`Format ${name} is not supported`, path)];
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
      return under(['prompt'], textIssues(format.prompt, { minLength: 1, maxLength: MAX_PROMPT_CHARS }));
    case 'attributes':
      return under(['selectors'], listIssues(format.selectors, attributeIssues, { maxItems: MAX_ATTRIBUTES }));
    default:
      return [];
  }
}

function jsonIssues(format: Record<string, unknown>): Issue[] {
  if (format.checkPromptInjection === true) {
    return [
      customIssue('checkPromptInjection is not supported and cannot be ignored safely', ['checkPromptInjection']),
    ];
  }
  if (format.prompt === undefined && format.schema === undefined)
    return [customIssue('Format json needs a prompt or a schema')];
  return format.prompt === undefined
    ? []
    : under(['prompt'], textIssues(format.prompt, { maxLength: MAX_PROMPT_CHARS }));
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

function modeIssues(mode: unknown): Issue[] {
  if (mode === 'json') return [noModel('The json mode of changeTracking')];
  return mode === 'git-diff' ? [] : [notInEnum(['git-diff', 'json'], mode)];
}

function trackingIssues({ modes, tag }: Record<string, unknown>): Issue[] {
  return [
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

function combinationIssues(formats: FormatInput[]): Issue[] {
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
  return issues;
}

function modelIssues(formats: FormatInput[]): Issue[] {
  return formats.flatMap((format, index) =>
    needsModel(format) ? [noModel(`Format ${formatName(format)}`, [index])] : [],
  );
}

export function needsModel(format: FormatInput): boolean {
  return MODEL_FORMATS.has(formatName(format));
}

function screenshotIdentity(format: FormatInput): string {
  return typeof format === 'string' ? JSON.stringify({ type: format }) : JSON.stringify(format);
}
