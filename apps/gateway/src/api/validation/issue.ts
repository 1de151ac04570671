/** Problems of a request body, in the spelling of zod 3 that clients know (docs/api/errors.md). */
import { TroupeError } from '@troupe/contracts';
import type { CompileTask } from '../../compile/compile.worker.js';

export type IssuePath = (string | number)[];

export interface Issue {
  code:
    | 'invalid_type'
    | 'unrecognized_keys'
    | 'too_small'
    | 'too_big'
    | 'invalid_enum_value'
    | 'invalid_string'
    | 'invalid_union'
    | 'not_supported'
    | 'to_compile'
    | 'custom';
  path: IssuePath;
  message: string;
  [extra: string]: unknown;
}

/**
 * Thrown when a body does not fit its schema; carries every issue, not only the first. An option that is not offered
 * here comes first, as 501: it is no mistake of the caller's, and correcting the other issues would not help.
 */
export class InvalidBodyError extends TroupeError {
  constructor(readonly issues: Issue[]) {
    const missing = issues.find(({ code }) => code === 'not_supported');
    const telling = missing ?? (issues[0]?.code === 'custom' ? issues[0] : undefined);
    super(missing === undefined ? 'BAD_REQUEST' : 'NOT_SUPPORTED', telling?.message ?? 'Bad Request', {
      details: issues,
    });
    this.name = 'InvalidBodyError';
  }
}

/** The word zod uses for the type of a JSON value. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

export function wrongType(expected: string, value: unknown, path: IssuePath = []): Issue {
  const received = typeName(value);
  const message = received === 'undefined' ? 'Required' : `Expected ${expected}, received ${received}`;
  return { code: 'invalid_type', expected, received, path, message };
}

export function unknownKeys(keys: string[], path: IssuePath = []): Issue {
  return { code: 'unrecognized_keys', keys, path, message: `Unrecognized key(s): ${keys.join(', ')}` };
}

const MEASURE = {
  number: { subject: 'Number', unit: '' },
  string: { subject: 'String', unit: ' character(s)' },
  array: { subject: 'Array', unit: ' element(s)' },
} as const;
type Measure = keyof typeof MEASURE;

export function tooSmall(type: Measure, minimum: number, path: IssuePath = [], inclusive = true): Issue {
  const { subject, unit } = MEASURE[type];
  return {
    code: 'too_small',
    minimum,
    type,
    inclusive,
    path,
    message: `${subject} must be ${inclusive ? '≥' : '>'} ${minimum}${unit}`,
  };
}

export function tooBig(type: Measure, maximum: number, path: IssuePath = []): Issue {
  const { subject, unit } = MEASURE[type];
  return { code: 'too_big', maximum, type, inclusive: true, path, message: `${subject} must be ≤ ${maximum}${unit}` };
}

export function notInEnum(options: readonly string[], received: unknown, path: IssuePath = []): Issue {
  const message = `Invalid enum value. Expected ${options.map((option) => `'${option}'`).join(' | ')}, received ${JSON.stringify(received)}`;
  return { code: 'invalid_enum_value', received, options, path, message };
}

export function invalidUrl(message: string, path: IssuePath = []): Issue {
  return { code: 'invalid_string', validation: 'url', path, message };
}

export function noUnionMember(message: string, path: IssuePath = []): Issue {
  return { code: 'invalid_union', path, message };
}

export function customIssue(message: string, path: IssuePath = []): Issue {
  return { code: 'custom', path, message };
}

/**
 * A value that must be compiled to be checked: no issue yet. Checks return it among their issues, and so it gets its
 * path; `readBody` takes it out again.
 */
export interface ToCompile extends Issue {
  code: 'to_compile';
  task: CompileTask;
  /** It needs a language model, and is not looked at where there is none. */
  needsModel: boolean;
}

export function toCompile(task: CompileTask, needsModel = false): ToCompile {
  return { code: 'to_compile', task, needsModel, path: [], message: 'not compiled yet' };
}

export function isToCompile(issue: Issue): issue is ToCompile {
  return issue.code === 'to_compile';
}

/** A known option with a value that is not offered. It is never ignored silently. */
export function notOffered(what: string, path: IssuePath = []): Issue {
  return { code: 'not_supported', path, message: `${what} is not supported by this version` };
}

/** Neither the installation nor the team has a language model (docs/api/formats.md). */
export function noModel(what: string, path: IssuePath = []): Issue {
  return customIssue(`${what} needs a language model, and none is configured`, path);
}

/** The same issues, seen from one level further out. */
export function under(prefix: IssuePath, issues: Issue[]): Issue[] {
  return prefix.length === 0 ? issues : issues.map((issue) => ({ ...issue, path: [...prefix, ...issue.path] }));
}
