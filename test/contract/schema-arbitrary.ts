/**
 * Bodies made from the description of the interface: mostly what a schema asks for, so that they get past the first check, with
 * something hostile in any place. Addresses are of the loopback or of nobody, whatever else is odd about them.
 */
import fc, { type Arbitrary } from 'fast-check';

export type Schema = Record<string, unknown>;

export interface Materials {
  schemas: Record<string, Schema>;
  /** A page that answers. */
  page: string;
  /** Ids of jobs that there are. */
  ids: string[];
}

const MAX_DEPTH = 5;
/** Deeper than any reader that calls itself likes. */
const DEEP_LEVELS = 5_000;

/** Names that mean something to JavaScript, to Postgres, or to a library on the way. */
export const ODD_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
  'length',
  'size',
  '$ref',
  '$id',
  '',
  '\u0000',
  '\ud800',
  'a.b[0]',
];
export const ODD_TEXTS = [
  ...ODD_NAMES,
  ' ',
  'null',
  '-1',
  '1e999',
  '(?<a>',
  '[',
  '*',
  '../..',
  '%',
  '%00',
  '\ufeff',
  '\udc00\ud800',
  'ı',
  "'; --",
  '{{x}}',
  'x'.repeat(5_000),
];
const ODD_NUMBERS = [0, -0, -1, 1, 0.1, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324];

const own = (name: string, value: unknown): object => Object.fromEntries([[name, value]]);

/** Stands for a value that `JSON.stringify` could not write. */
const DEEP = { list: '@deep list@', object: '@deep object@' };

const nested = (open: string, close: string) => `${open.repeat(DEEP_LEVELS)}1${close.repeat(DEEP_LEVELS)}`;

/** The JSON of a generated value. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(`"${DEEP.list}"`, nested('[', ']'))
    .replaceAll(`"${DEEP.object}"`, nested('{"a":', '}'));
}

const oddName = fc.constantFrom(...ODD_NAMES);
const oddText = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ maxLength: 12, unit: 'binary' }));
const plainText = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom('a', 'en', 'us', 'price', 'p', 'h1'));

/** Anything that JSON can say. */
export const oddValue: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [null], [[]], ...ODD_NUMBERS) },
  { weight: 3, arbitrary: oddText },
  {
    weight: 3,
    arbitrary: fc.tuple(oddName, fc.constantFrom<unknown>(null, 1, 'x', [], {})).map(([n, v]) => own(n, v)),
  },
  { weight: 1, arbitrary: fc.constantFrom(DEEP.list, DEEP.object) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
);

/** Bodies of one schema. */
export class BodyMaker {
  constructor(private readonly materials: Materials) {}

  of(schema: Schema): Arbitrary<unknown> {
    return fc.oneof({ weight: 12, arbitrary: this.proper(schema, 0, '') }, { weight: 1, arbitrary: oddValue });
  }

  private proper(schema: Schema, depth: number, name: string): Arbitrary<unknown> {
    const known = this.byName(name);
    if (known !== null) return known;
    if (typeof schema.$ref === 'string') return this.proper(this.resolve(schema.$ref), depth, name);
    const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
    if (options !== undefined) return fc.oneof(...options.map((option) => this.maybeOdd(option, depth, name)));
    if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
    if ('const' in schema) return fc.constant(schema.const);
    const types = [schema.type].flat().filter((type) => typeof type === 'string');
    if (types.length === 0 || depth > MAX_DEPTH) return oddValue;
    return fc.oneof(...types.map((type) => this.ofType(type, schema, depth)));
  }

  private ofType(type: string, schema: Schema, depth: number): Arbitrary<unknown> {
    switch (type) {
      case 'object':
        return this.object(schema, depth);
      case 'array':
        return fc.array(this.maybeOdd((schema.items ?? {}) as Schema, depth + 1, ''), { maxLength: 4 });
      case 'integer':
      case 'number':
        return number(schema, type);
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      default:
        return fc.oneof({ weight: 2, arbitrary: plainText }, { weight: 1, arbitrary: oddText });
    }
  }

  private object(schema: Schema, depth: number): Arbitrary<object> {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
    const required = new Set((schema.required ?? []) as string[]);
    const all = properties.map(([name, inner]) => {
      const entry = this.maybeOdd(inner, depth + 1, name).map((value) => [[name, value]] as [string, unknown][]);
      const chance = required.has(name) ? 20 : 0.25;
      return fc.oneof({ weight: Math.round(chance * 4), arbitrary: entry }, { weight: 4, arbitrary: fc.constant([]) });
    });
    const foreign = fc.oneof(
      { weight: 6, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.tuple(oddName, oddValue).map((entry) => [entry]) },
    );
    return fc.tuple(...all, foreign).map((entries) => Object.fromEntries(entries.flat()) as object);
  }

  private maybeOdd(schema: Schema, depth: number, name: string): Arbitrary<unknown> {
    return fc.oneof({ weight: 9, arbitrary: this.proper(schema, depth, name) }, { weight: 1, arbitrary: oddValue });
  }

  /** What the description leaves open, and what must not lead anywhere. */
  private byName(name: string): Arbitrary<unknown> | null {
    switch (name) {
      case 'url':
        return this.address();
      case 'urls':
        return fc.array(this.address(), { maxLength: 4 });
      case 'webhook':
        return this.webhook();
      case 'formats':
        return fc.array(this.format(), { maxLength: 3 });
      case 'schema':
        return this.jsonSchema();
      case 'appendToId':
        return fc.oneof(fc.constantFrom(...this.materials.ids), oddValue);
      case 'limit':
        return fc.oneof(fc.constantFrom<unknown>(1, 2), oddValue);
      case 'timeout':
        return fc.oneof(fc.constantFrom<unknown>(2_000, 5_000), fc.constantFrom<unknown>(-1, '1', null, 0.5, {}));
      case 'waitFor':
        return fc.constantFrom<unknown>(0, 1, -1, '1', null, 0.5, {});
      case 'actions':
        return fc.array(this.action(), { maxLength: 2 });
      default:
        return null;
    }
  }

  private address(): Arbitrary<unknown> {
    const { page } = this.materials;
    const good = [page, `${page}/a?b=%`, `${page}/#/x`, `${page}/*`];
    const nowhere = [
      'http://no-such-host.invalid/',
      'no-such-host.invalid',
      `http://no-such-host.invalid/${'a'.repeat(2_000)}`,
    ];
    const wrong = [
      '',
      'http://',
      'mailto:x',
      'javascript:1',
      'http://[',
      'http://\u0000',
      'http://\ud800.invalid/',
      'http://xn--a.invalid',
    ];
    return fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...good) },
      { weight: 2, arbitrary: fc.constantFrom(...nowhere) },
      { weight: 2, arbitrary: fc.constantFrom<unknown>(...wrong, 5, null, {}, []) },
    );
  }

  private webhook(): Arbitrary<unknown> {
    const url = fc.constantFrom<unknown>('http://no-such-host.invalid/hook', 'nonsense', '', null, 5);
    const headers = fc.oneof(fc.dictionary(oddText, oddText, { maxKeys: 2 }), oddValue);
    const whole = fc.record({ url, headers, metadata: oddValue, events: oddValue }, { requiredKeys: ['url'] });
    return fc.oneof(url, whole);
  }

  private format(): Arbitrary<unknown> {
    const text = fc.oneof(plainText, oddText);
    const selectors = fc.oneof(fc.array(fc.record({ selector: text, attribute: text }), { maxLength: 2 }), oddValue);
    return fc.oneof(
      fc.constantFrom<unknown>('markdown', 'html', 'links', 'images', 'summary', 'branding', 'nope', 'audio'),
      fc.record(
        { type: fc.constant('json'), schema: this.jsonSchema(), prompt: text },
        { requiredKeys: ['type', 'schema'] },
      ),
      fc.record({ type: fc.constant('json'), selectors: oddValue }),
      fc.record({ type: fc.constant('attributes'), selectors }),
      fc.record(
        { type: fc.constant('changeTracking'), tag: text, schema: this.jsonSchema(), modes: oddValue },
        { requiredKeys: ['type'] },
      ),
      fc.record(
        { type: fc.constantFrom('question', 'highlights', 'query'), question: text, query: text, prompt: text },
        { requiredKeys: ['type'] },
      ),
      oddValue,
    );
  }

  /** None that would wait. */
  private action(): Arbitrary<unknown> {
    const type = fc.constantFrom('click', 'write', 'press', 'scroll', 'scrape', 'fly', '__proto__');
    return fc.oneof(
      fc.record({ type, selector: oddValue, text: oddValue, key: oddValue }, { requiredKeys: ['type'] }),
      oddValue,
    );
  }

  private jsonSchema(): Arbitrary<unknown> {
    const leaf = fc.constantFrom<unknown>(
      { type: 'string' },
      { type: ['number', 'null'] },
      { enum: ['a', null] },
      { $ref: '#' },
      { $ref: '#/$defs/__proto__' },
      { type: 'string', pattern: '(' },
      { type: 'nonsense' },
      true,
    );
    const name = fc.oneof(oddName, plainText);
    const properties = fc
      .array(fc.tuple(name, leaf), { maxLength: 3 })
      .map((entries) => Object.fromEntries(entries) as object);
    const whole = fc.record(
      {
        type: fc.constant('object'),
        properties,
        required: fc.array(name, { maxLength: 2 }),
        $defs: properties,
        default: oddValue,
      },
      { requiredKeys: ['type', 'properties'] },
    );
    return fc.oneof({ weight: 5, arbitrary: whole }, { weight: 1, arbitrary: oddValue });
  }

  private resolve(ref: string): Schema {
    return this.materials.schemas[ref.split('/').at(-1)!]!;
  }
}

function number({ minimum, maximum }: Schema, type: string): Arbitrary<unknown> {
  const min = typeof minimum === 'number' ? minimum : 0;
  const max = typeof maximum === 'number' ? Math.min(maximum, min + 1_000) : min + 1_000;
  const proper =
    type === 'integer'
      ? fc.integer({ min: Math.ceil(min), max: Math.floor(max) })
      : fc.double({ min, max, noNaN: true });
  return fc.oneof({ weight: 4, arbitrary: proper }, { weight: 1, arbitrary: fc.constantFrom(...ODD_NUMBERS) });
}
