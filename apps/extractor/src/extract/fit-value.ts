import type { JsonSchema } from '@troupe/contracts';
import { isObject } from '@troupe/extraction';
import { compileSchema, normalise } from '@troupe/json-schema';
import type { Fitted } from './merge.handler.js';

/** Brings the facts of all pages into the form that the schema asks for. A list of which no page has an item is empty. */
export function fitValue(schema: JsonSchema, given: unknown): Fitted {
  const { value, notes } = normalise(schema, withMissingLists(schema, given));
  return { value, notes, problems: compileSchema(schema).problemsOf(value) };
}

/** Required lists that are not there are put as null, which the form of a list turns into an empty one. */
function withMissingLists({ required, properties }: JsonSchema, value: unknown): unknown {
  if (!Array.isArray(required) || !isObject(value) || !isObject(properties)) return value;
  const lists = required.filter((name: string) => isList(properties[name]) && !Object.hasOwn(value, name));
  return { ...value, ...Object.fromEntries(lists.map((name: string) => [name, null])) };
}

function isList(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'array' || (Array.isArray(schema.type) && schema.type.includes('array')));
}
