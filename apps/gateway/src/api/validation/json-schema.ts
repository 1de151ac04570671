/** Schemas that callers send for what a model shall fill in. */
import { schemaProblem } from '@troupe/json-schema';
import { isPlainObject } from './fields.js';
import { customIssue, wrongType, type Issue } from './issue.js';

/** A schema that cannot be used is found before a page is asked for. */
export function jsonSchemaIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const problem = schemaProblem(value);
  return problem === null ? [] : [customIssue(problem)];
}
