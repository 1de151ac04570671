/** The `formats` array: strings and strict objects (docs/api/formats.md), checked by the list of `libs/formats`. */
import { readSelectors, writeSelectors } from '@troupe/content';
import {
  formatKind,
  formatName,
  FORMATS,
  FORMATS_NOT_OFFERED,
  formatWords,
  modelPartOf,
  type FormatInput,
  type FormatKind,
  type FormatWords,
  type SelectorLanguage,
} from '@troupe/formats';
import { isPlainObject, keyIssues, listIssues } from '../validation/fields.js';
import {
  customIssue,
  isToCompile,
  noModel,
  noUnionMember,
  notInEnum,
  notOffered,
  wrongType,
  type Issue,
} from '../validation/issue.js';
import { optionIssues } from '../validation/option-issues.js';

export { formatName, type FormatInput } from '@troupe/formats';

/** Not made from the page alone, so the model knows it by a field of its own. */
export const TRACKING = 'changeTracking';

export const MAX_FORMATS = 50;
const KNOWN_FORMATS = FORMATS.map(({ name }) => name);

/** A name, or an object with the name as its `type` and the options of that format. */
export const FORMATS_SCHEMA = {
  type: 'array',
  maxItems: MAX_FORMATS,
  items: {
    anyOf: [
      { type: 'string', enum: FORMATS.filter((kind) => !kind.needsOptions).map(({ name }) => name) },
      { type: 'object', required: ['type'], properties: { type: { type: 'string', enum: KNOWN_FORMATS } } },
    ],
  },
};

export const SELECTORS: SelectorLanguage = {
  read: (words) => {
    const read = readSelectors(words);
    return 'schema' in read ? read.schema : null;
  },
  write: writeSelectors,
};

export function formatsIssues(value: unknown): Issue[] {
  const issues = listIssues(value, formatIssues, { maxItems: MAX_FORMATS });
  return issues.some((issue) => !isToCompile(issue))
    ? issues
    : [...issues, ...combinationIssues(value as FormatInput[])];
}

export function formatIssues(format: unknown): Issue[] {
  if (typeof format === 'string') {
    const needsOptions = formatKind(format)?.needsOptions === true;
    return nameIssues(format, []) ?? (needsOptions ? [needsObject(format)] : []);
  }
  if (!isPlainObject(format)) return [noUnionMember(`Invalid format: expected a name or an object with a type`)];
  if (typeof format.type !== 'string') return [wrongType('string', format.type, ['type'])];
  return nameIssues(format.type, ['type']) ?? objectIssues(formatKind(format.type)!, format as FormatWords);
}

function nameIssues(name: string, path: string[]): Issue[] | null {
  if (FORMATS_NOT_OFFERED.includes(name)) return [notOffered(`Format ${name}`, path)];
  return formatKind(name) === undefined ? [notInEnum(KNOWN_FORMATS, name, path)] : null;
}

function needsObject(name: string): Issue {
  return customIssue(`Format ${name} must be an object with its options`);
}

function objectIssues(kind: FormatKind, words: FormatWords): Issue[] {
  const options = kind.options ?? {};
  const strict = kind.isLoose ? [] : keyIssues(words, ['type', ...Object.keys(options)]);
  const objection = kind.objection?.(words) ?? null;
  if (objection !== null) return [...strict, customIssue(objection)];
  return [...strict, ...optionIssues(kind.optionsFor?.(words) ?? options, words)];
}

/** Issues of formats that are each fine but cannot be combined. */
export function combinationIssues(formats: FormatInput[]): Issue[] {
  const asked = FORMATS.map((kind) => ({ kind, all: formats.filter((format) => formatName(format) === kind.name) }));
  const objections = [
    ...asked.filter(({ kind, all }) => kind.isSingle && distinct(all) > 1).map(({ kind }) => onlyOne(kind)),
    ...asked.filter(({ all }) => all.length > 0).flatMap(({ kind }) => lackingBeside(kind, formats)),
    ...asked.flatMap(({ kind, all }) => kind.objectionToAll?.(all) ?? []),
    ...repeatedKeys(formats).map((key) => `Only one format may be requested that gives ${key}`),
  ];
  return objections.map((message) => customIssue(message));
}

function distinct(formats: FormatInput[]): number {
  return new Set(formats.map((format) => JSON.stringify(formatWords(format)))).size;
}

function onlyOne({ name }: FormatKind): string {
  return `Only one ${name} format may be requested`;
}

function lackingBeside({ name, requires }: FormatKind, formats: FormatInput[]): string[] {
  const isLacking = requires !== undefined && !formats.some((format) => formatName(format) === requires);
  return isLacking ? [`The ${name} format requires the ${requires} format`] : [];
}

/** A document has each key once. */
function repeatedKeys(formats: FormatInput[]): string[] {
  const asked = new Map<string, FormatInput[]>();
  for (const format of formats) {
    const key = formatKind(formatName(format))?.fills?.(formatWords(format));
    if (key !== undefined) asked.set(key, [...(asked.get(key) ?? []), format]);
  }
  return [...asked].filter(([, all]) => distinct(all) > 1).map(([key]) => key);
}

/** Issues of well-formed formats in a deployment without a language model. */
export function modelIssues(formats: readonly FormatInput[]): Issue[] {
  return formats.flatMap((format, index) => {
    const part = modelPartOf(format);
    return part === null ? [] : [noModel(part.what, [index, ...part.path])];
  });
}

export function needsModel(format: FormatInput): boolean {
  return modelPartOf(format) !== null;
}
