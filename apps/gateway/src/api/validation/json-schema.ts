/** Schemas that callers send for what a model shall fill in, or for facts. */
import { schemaSizeProblem } from '@troupe/json-schema';
import { isPlainObject } from './fields.js';
import { customIssue, toCompile, wrongType, type Issue } from './issue.js';

/** A schema that cannot be used is found before a page is asked for. */
export function jsonSchemaIssues(value: unknown, { needsModel }: { needsModel: boolean }): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const problem = schemaSizeProblem(value);
  if (problem !== null) return [customIssue(problem)];
  return [toCompile({ kind: 'schema', text: JSON.stringify(value) }, needsModel)];
}
