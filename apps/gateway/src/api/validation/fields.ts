/**
 * Property decorators of request bodies: class-validator constraints that report zod-style issues.
 *
 * A value is never converted: `"true"` is no boolean and `"5"` no number. `undefined` means "not sent" and is fine
 * unless the field is required.
 */
import { headersBreach, isUuid } from '@troupe/contracts';
import { registerDecorator, type ValidationArguments } from 'class-validator';
import { customIssue, notInEnum, tooBig, tooSmall, under, unknownKeys, wrongType, type Issue } from './issue.js';

/** Issues of a value that was sent; `body` is the whole object, for rules across fields. */
export type Check = (value: unknown, body: object) => Issue[];

/** The values that a check accepts, as JSON Schema 2020-12. The API description is made of these. */
export type Schema = Record<string, unknown>;

export interface Presence {
  /** @default false */
  required?: boolean;
  /** For checks that are written by hand. @default anything */
  schema?: Schema;
  /** Kept as sent, `null` inside it too. @default false */
  verbatim?: boolean;
}

export interface Described {
  schema: Schema;
  required: boolean;
}

/** Property -> value, by the prototype that declares it. */
class FieldRegistry<V> {
  private readonly byPrototype = new Map<object, Map<string, V>>();

  declare(prototype: object, property: string, value: V): void {
    const own = this.byPrototype.get(prototype) ?? new Map<string, V>();
    this.byPrototype.set(prototype, own.set(property, value));
  }

  /** Values of a class and its bases; the class itself wins. */
  of(type: new () => object): Map<string, V> {
    const chain: object[] = [];
    for (
      let proto = type.prototype as object | null;
      proto !== null;
      proto = Object.getPrototypeOf(proto) as object | null
    ) {
      chain.unshift(proto);
    }
    return new Map(chain.flatMap((proto) => [...(this.byPrototype.get(proto) ?? [])]));
  }
}

/** class-validator tells which property failed. The issues come from these checks. */
export const fieldChecks = new FieldRegistry<Check>();
export const verbatimFields = new FieldRegistry<true>();
export const nestedFields = new FieldRegistry<() => new () => object>();
export const fieldSchemas = new FieldRegistry<Described>();

/** A field that passes when `check` finds nothing. */
export function Field(check: Check, presence: Presence = {}): PropertyDecorator {
  const whole: Check = (value, body) => (value === undefined && !presence.required ? [] : check(value, body));
  return (target, property) => {
    const propertyName = String(property);
    fieldChecks.declare(target, propertyName, whole);
    fieldSchemas.declare(target, propertyName, {
      schema: presence.schema ?? {},
      required: presence.required ?? false,
    });
    if (presence.verbatim) verbatimFields.declare(target, propertyName, true);
    registerDecorator({
      name: 'field',
      target: target.constructor,
      propertyName,
      validator: {
        validate: (value: unknown, args?: ValidationArguments) => whole(value, args?.object ?? {}).length === 0,
      },
    });
  };
}

/** A field that is an object with its own class of fields. */
export function NestedField(type: () => new () => object): PropertyDecorator {
  return (target, property) => {
    nestedFields.declare(target, String(property), type);
    Field(() => [])(target, property);
  };
}

export { MAX_PROMPT_CHARS } from '@troupe/formats';

export interface TextRule extends Presence {
  minLength?: number;
  maxLength?: number;
  /** The text goes into a table or the audit log as it is. @default false */
  stored?: boolean;
}

/** No table takes NUL, and no UTF-8 half a surrogate pair; other control characters are no part of a name. */
const NOT_STORABLE = /[\u0000-\u001f\u007f]|\p{Surrogate}/u;

export function TextField(rule: TextRule = {}): PropertyDecorator {
  const { minLength, maxLength } = rule;
  return Field((value) => textIssues(value, rule), { ...rule, schema: { type: 'string', minLength, maxLength } });
}

export function textIssues(value: unknown, rule: TextRule): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  if (rule.minLength !== undefined && value.length < rule.minLength) return [tooSmall('string', rule.minLength)];
  if (rule.maxLength !== undefined && value.length > rule.maxLength) return [tooBig('string', rule.maxLength)];
  const isWrong = rule.stored === true && NOT_STORABLE.test(value);
  return isWrong ? [customIssue('Control characters and halves of a surrogate pair cannot be stored')] : [];
}

/** Absent, or an empty text. */
export function isBlank(value: unknown): boolean {
  return value === undefined || (typeof value === 'string' && value.trim() === '');
}

/** The value of an absent field. It is named here for the API description, and applied by the mapper. */
export interface Default<T> {
  default?: T;
}

export function BooleanField(rule: Default<boolean> = {}): PropertyDecorator {
  const schema = { type: 'boolean', default: rule.default };
  return Field((value) => (typeof value === 'boolean' ? [] : [wrongType('boolean', value)]), { schema });
}

export interface NumberRule extends Default<number> {
  min?: number;
  /** The value must be above this, not merely equal. */
  above?: number;
  max?: number;
  /** @default true */
  integer?: boolean;
  /** A rule that needs other fields; asked only when the number itself is fine. */
  also?: (value: number, body: object) => Issue[];
}

export function NumberField(rule: NumberRule = {}): PropertyDecorator {
  return Field(
    (value, body) => {
      const issues = numberIssues(value, rule);
      return issues.length === 0 && rule.also ? rule.also(value as number, body) : issues;
    },
    { schema: numberSchema(rule) },
  );
}

export function numberSchema({ min, above, max, integer, default: absent }: NumberRule): Schema {
  const type = (integer ?? true) ? 'integer' : 'number';
  return { type, minimum: min, exclusiveMinimum: above, maximum: max, default: absent };
}

export function numberIssues(value: unknown, rule: NumberRule): Issue[] {
  if (typeof value !== 'number') return [wrongType('number', value)];
  if ((rule.integer ?? true) && !Number.isSafeInteger(value)) {
    return [
      {
        code: 'invalid_type',
        expected: 'integer',
        received: 'float',
        path: [],
        message: 'Expected integer, received float',
      },
    ];
  }
  if (rule.min !== undefined && value < rule.min) return [tooSmall('number', rule.min)];
  if (rule.above !== undefined && value <= rule.above) return [tooSmall('number', rule.above, [], false)];
  if (rule.max !== undefined && value > rule.max) return [tooBig('number', rule.max)];
  return [];
}

export function EnumField(
  options: readonly string[],
  { default: absent, description }: Default<string> & { description?: string } = {},
): PropertyDecorator {
  const check: Check = (value) => {
    if (typeof value !== 'string') return [wrongType('string', value)];
    return options.includes(value) ? [] : [notInEnum(options, value)];
  };
  const schema = { type: 'string', enum: options, default: absent };
  return Field(check, { schema: description === undefined ? schema : { ...schema, description } });
}

export interface ListRule extends Presence {
  minItems?: number;
  maxItems?: number;
  /** Schema of the items. @default anything */
  items?: Schema;
}

/** An array whose items are each checked. */
export function ListField(item: (value: unknown, index: number) => Issue[], rule: ListRule = {}): PropertyDecorator {
  const { minItems, maxItems, items = {} } = rule;
  const schema = { type: 'array', items, minItems, maxItems };
  return Field((value) => listIssues(value, item, rule), { ...rule, schema });
}

export function listIssues(
  value: unknown,
  item: (value: unknown, index: number) => Issue[],
  rule: ListRule = {},
): Issue[] {
  if (!Array.isArray(value)) return [wrongType('array', value)];
  if (rule.minItems !== undefined && value.length < rule.minItems) return [tooSmall('array', rule.minItems)];
  if (rule.maxItems !== undefined && value.length > rule.maxItems) return [tooBig('array', rule.maxItems)];
  return value.flatMap((entry: unknown, index) => under([index], item(entry, index)));
}

/** An array of strings. */
export function TextListField(rule: ListRule & { maxLength?: number } = {}): PropertyDecorator {
  const { maxLength } = rule;
  return ListField((value) => textIssues(value, { maxLength }), { ...rule, items: { type: 'string', maxLength } });
}

/** Clients mark their own notes with it; such keys are ignored at every level. */
export function isPrivateKey(key: string): boolean {
  return key.startsWith('__');
}

/** Issues of keys that an object checked by hand may not have. */
export function keyIssues(value: object, allowed: readonly string[]): Issue[] {
  const unknown = Object.keys(value).filter((key) => !allowed.includes(key) && !isPrivateKey(key));
  return unknown.length > 0 ? [unknownKeys(unknown)] : [];
}

export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const OWNED_BY_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const MAX_HEADERS = 100;

/** Request headers for the page: bounded, and only what may be set without breaking the connection. */
export function HeadersField(): PropertyDecorator {
  return Field((value) => headersIssues(value), {
    schema: { type: 'object', additionalProperties: { type: 'string' }, maxProperties: MAX_HEADERS },
  });
}

export interface HeadersRule {
  /** Lower-case names that may be sent although they are overridden. */
  overridden?: ReadonlySet<string>;
}

export function headersIssues(value: unknown, rule: HeadersRule = {}): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const { overridden } = rule;
  const entries = Object.entries(value);
  if (entries.length > MAX_HEADERS) return [customIssue(`At most ${MAX_HEADERS} headers may be set`)];
  const breach = headersBreach(value);
  if (breach !== null) return [customIssue(breach.message)];
  return entries.flatMap(([name, text]) => under([name], headerIssues(name, text, overridden)));
}

function headerIssues(name: string, value: unknown, overridden?: ReadonlySet<string>): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  if (!HEADER_NAME.test(name)) return [customIssue('Not a header name')];
  if (!HEADER_VALUE.test(value)) return [customIssue('Not a header value')];
  const key = name.toLowerCase();
  if (OWNED_BY_CONNECTION.has(key) && !overridden?.has(key)) return [customIssue(`Header ${name} cannot be set`)];
  return [];
}

export function UuidField(): PropertyDecorator {
  return Field(uuidIssues, { schema: { type: 'string', format: 'uuid' } });
}

/** Upper or lower case. */
export function uuidIssues(value: unknown): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  return isUuid(value.toLowerCase())
    ? []
    : [{ code: 'invalid_string', validation: 'uuid', path: [], message: 'Invalid uuid' }];
}
