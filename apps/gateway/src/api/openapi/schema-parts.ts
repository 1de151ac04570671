/** The words that schemas of answers are made of. */
import { type Schema } from '../validation/fields.js';

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const count: Schema = { type: 'integer', minimum: 0 };
export const time: Schema = { type: 'string', format: 'date-time' };
export const uuid: Schema = { type: 'string', format: 'uuid' };
export const address: Schema = { type: 'string', format: 'uri' };
export const success: Schema = { type: 'boolean', const: true };

export const inComponents = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
/** One of a few words. */
export const oneOf = (words: readonly string[]): Schema => ({ type: 'string', enum: [...words] });
/** Numbers by name. */
export const countsOf = (names: Schema): Schema => ({
  type: 'object',
  propertyNames: names,
  additionalProperties: count,
});
export const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });

/** An object whose keys are optional when their name ends in `?`. */
export function object(keys: Record<string, Schema>, more: Schema = {}): Schema {
  const names = Object.keys(keys);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), keys[name]!])),
    ...(required.length > 0 ? { required } : {}),
    ...more,
  };
}
