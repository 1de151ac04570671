import type { JsonSchema } from '@troupe/contracts';
import { isObject } from '@troupe/extraction';
import { normalise } from '@troupe/json-schema';
import { problemsOf } from '@troupe/judging';
import type { Fitted } from './merge.handler.js';

/** Brings the facts of all pages into the form that the schema asks for. A list of which no page has an item is empty. */
export async function fitValue(schema: JsonSchema, given: unknown): Promise<Fitted> {
  const { value, notes } = normalise(schema, withMissingLists(schema, given));
  return { value, notes, problems: await problemsOf(schema, { value }) };
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
