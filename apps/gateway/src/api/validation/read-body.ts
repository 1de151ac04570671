/** From parsed JSON to a checked instance of a body class. */
import { validateSync } from 'class-validator';
import { TroupeError } from '@troupe/contracts';
import { fieldChecks, isPlainObject, isPrivateKey, nestedFields, verbatimFields, type Check } from './fields.js';
import {
  InvalidBodyError,
  isToCompile,
  notOffered,
  under,
  unknownKeys,
  wrongType,
  type Issue,
  type IssuePath,
  type ToCompile,
} from './issue.js';

/** Valid in current clients, without effect here (docs/api/README.md). */
export const IGNORED_KEYS: ReadonlySet<string> = new Set([
  'fastMode',
  'useMock',
  'redactPII',
  'threatProtection',
  'auditMetadata',
  'profile',
  'domainTools',
  'toolDetail',
  'lockdown',
  'checkPromptInjection',
  'onlyCleanContent',
  'safeMode',
  'enterprise',
  'useIndex',
  'ignoreCache',
  'urlTrace',
  'alexandria',
]);

const isTrue = (value: unknown) => value === true;

/** Ignoring these would mislead callers: they would trust in a protection, a login or a content that is not there. */
const NOT_OFFERED: Record<string, (value: unknown) => boolean> = {
  redactPII: Boolean,
  lockdown: isTrue,
  safeMode: isTrue,
  checkPromptInjection: isTrue,
  threatProtection: () => true,
  profile: () => true,
  onlyCleanContent: isTrue,
  alexandria: Boolean,
};

const WARNED: Record<string, (value: unknown) => boolean> = {
  domainTools: isTrue,
};

export interface ReadBody<T> {
  body: T;
  /** Options that were accepted without effect and should be mentioned in the reply. */
  warnings: string[];
}

export interface UncompiledBody<T> extends ReadBody<T> {
  /** Patterns and schemas that are not compiled yet. */
  toCompile: ToCompile[];
}

export function withoutEffect(option: string): string {
  return `The option ${option} has no effect.`;
}

/** Warnings as the key of a reply; absent without any. */
export function warningOf(warnings: readonly string[]): { warning?: string } {
  return warnings.length === 0 ? {} : { warning: warnings.join(' ') };
}

/**
 * Checks `raw` against a class of fields. `null` counts as absent, unknown keys are refused at every level, nothing is
 * converted. @throws InvalidBodyError with all issues but those of the compiler, which `BodyCheck` adds
 */
export function readBody<T extends object>(type: new () => T, raw: unknown): UncompiledBody<T> {
  checkDepth(raw);
  const found: Found = { issues: [], toCompile: [], warnings: [] };
  const body = readObject(type, raw, [], found);
  if (body === null || found.issues.length > 0) throw new InvalidBodyError(found.issues);
  return { body, warnings: found.warnings, toCompile: found.toCompile };
}

interface Found {
  issues: Issue[];
  toCompile: ToCompile[];
  warnings: string[];
}

function readObject<T extends object>(type: new () => T, raw: unknown, path: IssuePath, found: Found): T | null {
  if (!isPlainObject(raw)) {
    found.issues.push(wrongType('object', raw, path));
    return null;
  }
  const shape = shapeOf(type);
  const { flat, nested } = pickKnown(shape, raw, path, found);
  // Nothing is converted, so nothing is copied either: names such as `__proto__` inside a value are the caller's.
  const instance = Object.assign(new type(), flat);
  for (const { property, value } of validateSync(instance)) {
    for (const issue of under([...path, property], shape.checks.get(property)!(value, instance))) {
      if (isToCompile(issue)) found.toCompile.push(issue);
      else found.issues.push(issue);
    }
  }
  for (const [name, value] of nested) {
    const read = readObject(shape.nested.get(name)!(), value, [...path, name], found);
    Object.assign(instance, { [name]: read });
  }
  return instance;
}

interface Shape {
  checks: Map<string, Check>;
  verbatim: Map<string, true>;
  nested: Map<string, () => new () => object>;
}

const shapes = new WeakMap<object, Shape>();

function shapeOf(type: new () => object): Shape {
  let shape = shapes.get(type);
  if (!shape) {
    shape = { checks: fieldChecks.of(type), verbatim: verbatimFields.of(type), nested: nestedFields.of(type) };
    shapes.set(type, shape);
  }
  return shape;
}

function pickKnown(shape: Shape, raw: Record<string, unknown>, path: IssuePath, found: Found) {
  const flat: Record<string, unknown> = {};
  const nested: [string, unknown][] = [];
  const unknown: string[] = [];
  for (const [key, value] of Object.entries(raw)) {
    if (value === null || value === undefined) continue;
    if (shape.nested.has(key)) nested.push([key, value]);
    else if (shape.checks.has(key)) flat[key] = shape.verbatim.has(key) ? value : withoutNulls(value, 3);
    else if (IGNORED_KEYS.has(key)) judgeIgnored(key, value, path, found);
    else if (!isPrivateKey(key)) unknown.push(key);
  }
  if (unknown.length > 0) found.issues.push(unknownKeys(unknown, path));
  return { flat, nested };
}

function judgeIgnored(key: string, value: unknown, path: IssuePath, found: Found): void {
  if (NOT_OFFERED[key]?.(value)) found.issues.push(notOffered(key, [...path, key]));
  else if (WARNED[key]?.(value)) found.warnings.push(withoutEffect(key));
}

/** Optional keys of nested objects (format objects, location) may be null too; array items may not. */
function withoutNulls(value: unknown, depth: number): unknown {
  if (depth === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.some(isPlainObject) ? value.map((item) => withoutNulls(item, depth - 1)) : value;
  const entries = Object.entries(value).filter(([, entry]) => entry !== null);
  return Object.fromEntries(entries.map(([key, entry]) => [key, withoutNulls(entry, depth - 1)]));
}

/** Later readers of the values recurse for each level, and so does JSON.stringify. */
const MAX_DEPTH = 100;

/** Level by level, so that no depth is too much for this. @throws TroupeError BAD_REQUEST */
function checkDepth(raw: unknown): void {
  let level: unknown[] = [raw];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw new TroupeError('BAD_REQUEST', `Bad Request: the body is nested deeper than ${MAX_DEPTH} levels`);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}
