/** The words that schemas of answers are made of. */
import { count } from '@troupe/formats';
import { type Schema } from '../validation/fields.js';

export { count, flag, inComponents, listOf, object, text } from '@troupe/formats';

export const time: Schema = { type: 'string', format: 'date-time' };
export const uuid: Schema = { type: 'string', format: 'uuid' };
export const address: Schema = { type: 'string', format: 'uri' };
export const success: Schema = { type: 'boolean', const: true };

/** One of a few words. */
export const oneOf = (words: readonly string[]): Schema => ({ type: 'string', enum: [...words] });
/** Numbers by name. */
export const countsOf = (names: Schema): Schema => ({
  type: 'object',
  propertyNames: names,
  additionalProperties: count,
});
export const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] });
