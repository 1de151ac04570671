/** Checks the schemas that callers send for a model's answer, or for facts. */
import { schemaSizeProblem } from '@troupe/json-schema';
import { isPlainObject } from './fields.js';
import { customIssue, toCompile, wrongType, type Issue } from './issue.js';

/** Finds an unusable schema before a page is fetched. */
export function jsonSchemaIssues(value: unknown, { needsModel }: { needsModel: boolean }): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const problem = schemaSizeProblem(value);
  if (problem !== null) return [customIssue(problem)];
  return [toCompile({ kind: 'schema', text: JSON.stringify(value) }, needsModel)];
}
