/** The words that schemas of answers are made of. */

/** JSON Schema 2020-12. */
export type Schema = Record<string, unknown>;

export const text: Schema = { type: 'string' };
export const flag: Schema = { type: 'boolean' };
export const number: Schema = { type: 'number' };
export const count: Schema = { type: 'integer', minimum: 0 };
/** A data URI, or an address. */
export const file: Schema = { type: 'string', format: 'uri' };

export const inComponents = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const listOf = (items: Schema): Schema => ({ type: 'array', items });
export const mapOf = (values: Schema): Schema => ({ type: 'object', additionalProperties: values });

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
