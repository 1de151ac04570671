import { describe, expect, it } from '@jest/globals';
import { partialSchema } from './partial-schema.js';

describe('partialSchema', () => {
  it('keeps the fields and drops what only the whole must have, at every level', () => {
    const schema = {
      type: 'object',
      required: ['items'],
      properties: {
        items: { type: 'array', minItems: 2, items: { $ref: '#/$defs/item' } },
        either: { anyOf: [{ type: 'null' }, { type: 'object', required: ['a'], properties: { a: {} } }] },
      },
      $defs: { item: { type: 'object', required: ['name'], properties: { name: { type: 'string', minLength: 1 } } } },
    };
    expect(partialSchema(schema)).toEqual({
      type: 'object',
      properties: {
        items: { type: 'array', items: { $ref: '#/$defs/item' } },
        either: { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: {} } }] },
      },
      $defs: { item: { type: 'object', properties: { name: { type: 'string', minLength: 1 } } } },
    });
  });

  it('knows fields that are named like keywords, and data from schemas', () => {
    const schema = {
      properties: { required: { type: 'boolean' }, minItems: { enum: [{ required: 1 }] } },
      default: { required: ['x'] },
      additionalProperties: false,
    };
    expect(partialSchema(schema)).toEqual(schema);
  });
});
