import { describe, expect, it } from '@jest/globals';
import {
  compileSchema,
  normalise,
  providerSchema,
  readDate,
  readDateTime,
  readNumber,
  schemaProblem,
} from './index.js';

describe('a schema', () => {
  it.each([
    [{ type: 'object', properties: { a: { type: 'string' } } }],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }], definitions: {} }],
    [{ items: [{ type: 'string' }], additionalItems: false }],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'number' }], $defs: {} }],
    [{ $ref: '#/$defs/a', $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } } }],
    [{ type: 'string', pattern: '^(?!x).*@y$', format: 'no-known-format' }],
    [{ type: 'string', examples: ['a'], 'x-order': 3 }],
  ])('%j can be used', (schema) => expect(schemaProblem(schema)).toBeNull());

  it.each([
    [{ type: 'objekt' }, 'type'],
    [{ properties: { a: { minimum: 'one' } } }, 'minimum'],
    [{ $ref: 'https://elsewhere.test/schema.json' }, 'reference'],
    [{ $ref: '#/$defs/none' }, 'reference'],
    [{ type: 'string', pattern: '(' }, 'expression'],
    [{ $schema: 'http://json-schema.org/draft-04/schema#' }, 'draft'],
    [{ $async: true }, '$async'],
    [['string'], 'object'],
    [{ description: 'x'.repeat(300_000) }, 'longer'],
    [JSON.parse('{"not":'.repeat(60) + '{}' + '}'.repeat(60)) as object, 'deeper'],
  ])('%.80j cannot', (schema, word) => expect(schemaProblem(schema)).toContain(word));

  it('does not meet another one with the same id', () => {
    expect(schemaProblem({ $id: 'https://a.test/s', type: 'string' })).toBeNull();
    expect(schemaProblem({ $id: 'https://a.test/s', type: 'number' })).toBeNull();
    expect(compileSchema({ $id: 'https://a.test/s', type: 'number' }).problemsOf('x')).toEqual([
      'the value must be number',
    ]);
  });

  it('says what is wrong with a value, all of it', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', format: 'date' }, b: { enum: ['x'] } },
      required: ['c'],
    };
    const problems = compileSchema(schema).problemsOf({ a: 'soon', b: 'y' });
    expect(problems.join('; ')).toMatch(
      /required property 'c'.*\/a must match format "date".*\/b must be one of \["x"\]/,
    );
  });

  it('tries a pattern in linear time', () => {
    const from = performance.now();
    expect(compileSchema({ type: 'string', pattern: '^(a+)+$' }).problemsOf(`${'a'.repeat(50_000)}!`)).toHaveLength(1);
    expect(performance.now() - from).toBeLessThan(10_000);
  });

  it('may contain itself', () => {
    const { problemsOf } = compileSchema({ type: 'object', properties: { a: { $ref: '#' }, b: { type: 'string' } } });
    expect(problemsOf({ a: { a: { b: 'x' } } })).toEqual([]);
    expect(problemsOf({ a: { a: { b: 1 } } })).toEqual(['/a/a/b must be string']);
  });

  it('that is nothing but itself does not hang', () => {
    expect(compileSchema({ $ref: '#' }).problemsOf({ a: 1 })).toEqual(['the value is nested too deeply']);
    expect(schemaProblem({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toContain('does not compile');
  });

  it('is checked at the same speed after many others', () => {
    for (let n = 0; n < 250; n++) expect(schemaProblem({ $id: `https://${n}.test`, enum: [n] })).toBeNull();
    expect(compileSchema({ enum: [3] }).problemsOf(4)).toEqual(['the value must be one of [3]']);
  });
});

describe('a number is read', () => {
  it.each([
    ['1,299.00 €', 1299],
    ['1.299,00 €', 1299],
    ['EUR 12,5', 12.5],
    ["1'299.50", 1299.5],
    ['1 299,50', 1299.5],
    ['1,299', 1299],
    ['1.299.000', 1299000],
    ['−3.5 °C', -3.5],
    ['12%', 12],
    ['2.4 million', 2_400_000],
    ['$0.99', 0.99],
    ['3 m', 3],
    ['1e3', 1000],
  ])('%s', (text, number) => expect(readNumber(text)).toBe(number));

  it.each(['3 – 5', '2 for 10 €', 'none', '', '10:30'])('not from "%s"', (text) => expect(readNumber(text)).toBeNull());
});

describe('a date is read', () => {
  it.each([
    ['March 5, 2024', '2024-03-05'],
    ['5 March 2024', '2024-03-05'],
    ['5th of March 2024', '2024-03-05'],
    ['Tue, 05 Mar 2024 10:30:00 GMT', '2024-03-05'],
    ['2024/3/5', '2024-03-05'],
    ['2024-03-05T10:00:00Z', '2024-03-05'],
    ['25.12.2023', '2023-12-25'],
    ['12/25/2023', '2023-12-25'],
  ])('%s', (text, date) => expect(readDate(text)).toBe(date));

  it.each(['03/04/2024', '31 February 2024', 'yesterday', '2024'])('not from %s', (text) =>
    expect(readDate(text)).toBeNull(),
  );

  it('with its time and zone', () => {
    expect(readDateTime('5 March 2024, 9:05 +0100')).toBe('2024-03-05T09:05:00+01:00');
    expect(readDateTime('2024-03-05T10:00:00')).toBe('2024-03-05T10:00:00Z');
    expect(readDateTime('March 5, 2024')).toBe('2024-03-05T00:00:00Z');
  });
});

describe('a value is brought into form', () => {
  const of = (property: object, value: unknown) =>
    (normalise({ type: 'object', properties: { a: property }, required: ['a'] }, { a: value }).value as { a: unknown })
      .a;

  it.each<[object, unknown, unknown]>([
    [{ type: 'number' }, '1,299.00 €', 1299],
    [{ type: ['number', 'null'] }, '9 €', 9],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, '12 pieces', 12],
    [{ type: 'integer' }, '1.5', '1.5'],
    [{ type: 'boolean' }, 'Yes', true],
    [{ type: 'boolean' }, 0, false],
    [{ type: 'string' }, 42, '42'],
    [{ type: 'string' }, '  a ', 'a'],
    [{ type: 'string', format: 'date' }, '5 March 2024', '2024-03-05'],
    [{ type: 'string', format: 'date-time' }, '2024-03-05T10:00:00Z', '2024-03-05T10:00:00Z'],
    [{ enum: ['In Stock', 'SOLD_OUT'] }, 'sold out', 'SOLD_OUT'],
    [{ type: 'array', items: { type: 'string' } }, 'one', ['one']],
    [{ type: 'array', items: { type: 'number' } }, ['1 €', '2 €'], [1, 2]],
    [{ type: 'array', items: { type: 'number' } }, null, []],
    [{ type: 'array', items: { type: 'number' } }, '[1,2]', [1, 2]],
    [{ type: 'object', properties: { b: { type: 'number' } } }, '{"b":"3"}', { b: 3 }],
    [{ type: 'string' }, ['only'], ['only']],
    [{ $ref: '#/properties/a/allOf/0', allOf: [{ type: 'number' }] }, '3', 3],
  ])('%j takes %j as %j', (property, value, expected) => expect(of(property, value)).toEqual(expected));

  it('drops what was not asked for, keeps what may be there', () => {
    const closed = { type: 'object', properties: { a: {} }, additionalProperties: false };
    expect(normalise(closed, { a: 1, b: 2 })).toEqual({ value: { a: 1 }, notes: ['/b was not asked for'] });
    expect(normalise({ type: 'object', properties: { a: {} } }, { b: 2 }).value).toEqual({ b: 2 });
  });

  it('a missing fact is null where it may be, absent where it may, and never made up', () => {
    const schema = {
      type: 'object',
      properties: { must: { type: ['string', 'null'] }, may: { type: 'string' }, firm: { type: 'string' } },
      required: ['must', 'firm'],
    };
    expect(normalise(schema, { may: null }).value).toEqual({ must: null });
    expect(normalise(schema, { firm: null }).value).toEqual({ must: null, firm: null });
  });

  it('says what it changed', () => {
    const schema = { type: 'object', properties: { price: { type: 'number' } } };
    expect(normalise(schema, { price: '9 €' }).notes).toEqual(['/price: "9 €" became 9']);
  });

  it('picks the alternative that a value is meant for', () => {
    const cat = { type: 'object', properties: { kind: { const: 'cat' }, lives: { type: 'integer' } } };
    const dog = { type: 'object', properties: { kind: { const: 'dog' }, age: { type: 'integer' } } };
    expect(normalise({ oneOf: [cat, dog] }, { kind: 'dog', age: '3 years' }).value).toEqual({ kind: 'dog', age: 3 });
  });

  it('leaves a name of the language’s own alone', () => {
    const value = JSON.parse('{"__proto__": {"x": 1}}') as unknown;
    const made = normalise({ type: 'object' }, value).value as object;
    expect(Object.keys(made)).toEqual(['__proto__']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('for a provider', () => {
  it('every property is required, optional ones may be null', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' }, b: { enum: ['x'] } }, required: ['a'] };
    expect(providerSchema(schema)).toMatchObject({
      strict: true,
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, b: { anyOf: [{ enum: ['x'] }, { type: 'null' }] } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
    });
  });

  it('references are written out', () => {
    const schema = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/n' } },
      required: ['a'],
      $defs: { n: { type: 'number' } },
    };
    expect(providerSchema(schema).schema).toMatchObject({ properties: { a: { type: 'number' } } });
  });

  it.each([
    [{ type: 'object', properties: { a: {} } }],
    [{ type: 'object', additionalProperties: { type: 'string' } }],
    [{ type: 'object', properties: { a: { type: 'string', minLength: 1 } } }],
    [{ type: 'object', properties: { a: { $ref: '#' } } }],
  ])('%j is sent as it is', (schema) => expect(providerSchema(schema)).toMatchObject({ strict: false, schema }));

  it('a list is wrapped in an object and taken out again', () => {
    const { schema, unwrap } = providerSchema({ type: 'array', items: { type: 'string' } });
    expect(schema).toMatchObject({ type: 'object', required: ['value'] });
    expect(unwrap({ value: ['a'] })).toEqual(['a']);
    expect(unwrap(['a'])).toEqual(['a']);
  });
});
