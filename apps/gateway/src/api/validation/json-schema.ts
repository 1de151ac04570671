/** Schemas that callers send for what a model shall fill in. */
import { isPlainObject } from './fields.js';
import { wrongType, type Issue } from './issue.js';

export function jsonSchemaIssues(value: unknown): Issue[] {
  return isPlainObject(value) ? [] : [wrongType('object', value)];
}
