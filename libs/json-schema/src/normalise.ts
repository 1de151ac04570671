/**
 * A model's value, brought into the form that a schema asks for where its meaning is plain: numbers and dates as they are
 * written on pages, words of an enum in another case, one value where a list is asked. Nothing is added but nulls for
 * required fields that may be null.
 */
import type { JsonSchema } from '@troupe/contracts';
import { readDate, readDateTime } from './read-date.js';
import { readNumber } from './read-number.js';
import { allowsNull, isSchema, optionsOf, propertiesOf, requiredOf, resolveRef, typesOf } from './shape.js';

export interface Normalised {
  value: unknown;
  /** Changes that the reader of the value may want to know: `/price: "9 €" became 9`. */
  notes: string[];
}

const MAX_DEPTH = 60;
const MAX_NOTES = 20;
const MAX_SHOWN_CHARS = 60;
const YES = new Set(['true', 'yes', 'y', '1', 'on']);
const NO = new Set(['false', 'no', 'n', '0', 'off']);

export function normalise(schema: JsonSchema, value: unknown): Normalised {
  const notes: string[] = [];
  const made = new Normaliser(schema, notes).fit(schema, value, '', 0);
  return { value: made, notes };
}

class Normaliser {
  constructor(
    private readonly root: JsonSchema,
    private readonly notes: string[],
  ) {}

  fit(schema: JsonSchema, value: unknown, path: string, depth: number): unknown {
    if (depth > MAX_DEPTH) return value;
    const at = this.chosen(resolveRef(schema, this.root), value);
    if (value === null || value === undefined) return value;
    if (Array.isArray(at.enum)) return this.fitEnum(at.enum, value, path);
    if ('const' in at) return this.fitEnum([at.const], value, path);
    const parts = Array.isArray(at.allOf) ? at.allOf.filter(isSchema) : [];
    const whole = parts.reduce((fitted: unknown, part) => this.fit(part, fitted, path, depth + 1), value);
    const types = typesOf(at).filter((type) => type !== 'null');
    if (types.some((type) => isOfType(type, whole))) return this.fitInside(at, whole, path, depth);
    const wanted = types[0] ?? (isSchema(at.properties) ? 'object' : isSchema(at.items) ? 'array' : null);
    if (wanted === null || types.length > 1) return this.fitInside(at, whole, path, depth);
    return this.fitInside(at, this.convert(wanted, whole, path), path, depth);
  }

  /** The alternative that a value is meant for: the one with its constants, else with its type, else the first. */
  private chosen(schema: JsonSchema, value: unknown): JsonSchema {
    const options = optionsOf(schema).map((option) => resolveRef(option, this.root));
    if (options.length === 0) return schema;
    const real = options.filter((option) => !(typesOf(option).length === 1 && typesOf(option)[0] === 'null'));
    const best =
      real.find((option) => this.hasConstants(option, value)) ??
      real.find((option) => typesOf(option).some((type) => isOfType(type, value))) ??
      real[0];
    const { anyOf: _anyOf, oneOf: _oneOf, ...beside } = schema;
    return best === undefined ? beside : { ...beside, ...best };
  }

  private hasConstants(option: JsonSchema, value: unknown): boolean {
    if (!isSchema(value)) return false;
    const constants = Object.entries(propertiesOf(option)).filter(([, property]) => 'const' in property);
    return constants.length > 0 && constants.every(([name, property]) => value[name] === property.const);
  }

  private fitInside(schema: JsonSchema, value: unknown, path: string, depth: number): unknown {
    if (Array.isArray(value)) return this.fitItems(schema, value, path, depth);
    if (isSchema(value)) return this.fitProperties(schema, value, path, depth);
    return typeof value === 'string' ? this.fitText(schema, value, path) : value;
  }

  private fitItems(schema: JsonSchema, items: unknown[], path: string, depth: number): unknown[] {
    const first = Array.isArray(schema.prefixItems)
      ? schema.prefixItems
      : Array.isArray(schema.items)
        ? schema.items
        : [];
    return items.map((item, index) => {
      const of: unknown = first[index] ?? schema.items;
      return isSchema(of) ? this.fit(of, item, `${path}/${index}`, depth + 1) : item;
    });
  }

  private fitProperties(schema: JsonSchema, value: JsonSchema, path: string, depth: number): JsonSchema {
    const properties = propertiesOf(schema);
    const required = new Set(requiredOf(schema));
    const made: JsonSchema = {};
    for (const [name, inner] of Object.entries(value)) {
      const property = Object.hasOwn(properties, name) ? properties[name]! : null;
      if (property === null) {
        if (this.mayHave(schema, name)) set(made, name, inner);
        else this.note(`${path}/${name} was not asked for`);
        continue;
      }
      const fitted = this.fit(property, inner, `${path}/${name}`, depth + 1);
      const kept = fitted ?? this.missing(property, required.has(name));
      if (kept !== undefined) set(made, name, kept);
    }
    for (const name of required) {
      if (Object.hasOwn(made, name) || !Object.hasOwn(properties, name)) continue;
      if (allowsNull(properties[name]!, this.root)) set(made, name, null);
    }
    return made;
  }

  /** A missing fact: null where that is allowed or where there is no other way to say it, else left out. */
  private missing(property: JsonSchema, isRequired: boolean): null | undefined | unknown[] {
    if (allowsNull(property, this.root)) return null;
    if (!isRequired) return undefined;
    const at = resolveRef(property, this.root);
    return typesOf(at).includes('array') && !at.minItems ? [] : null;
  }

  private mayHave(schema: JsonSchema, name: string): boolean {
    if (schema.additionalProperties !== false && schema.unevaluatedProperties !== false) return true;
    // The validator judges what a pattern or another part of the schema allows.
    if (schema.allOf !== undefined || schema.$dynamicRef !== undefined) return true;
    return isSchema(schema.patternProperties) && name !== '' && Object.keys(schema.patternProperties).length > 0;
  }

  private convert(wanted: string, value: unknown, path: string): unknown {
    if (wanted === 'array')
      return [typeof value === 'string' ? (parsed(value, Array.isArray) ?? value) : value].flat(1);
    if (wanted === 'object') return typeof value === 'string' ? (parsed(value, isSchema) ?? value) : value;
    const single = Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
    const made = this.converted(wanted, single);
    if (made === undefined) return value;
    if (made !== value) this.changed(path, value, made);
    return made;
  }

  private converted(wanted: string, value: unknown): unknown {
    if (wanted === 'string') return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
    if (wanted === 'boolean') return booleanOf(value);
    const number = typeof value === 'string' ? readNumber(value) : typeof value === 'number' ? value : null;
    if (number === null) return undefined;
    return wanted === 'number' || Number.isInteger(number) ? number : undefined;
  }

  private fitEnum(allowed: unknown[], value: unknown, path: string): unknown {
    if (allowed.some((each) => each === value)) return value;
    if (Array.isArray(value) && value.length === 1) return this.fitEnum(allowed, value[0], path);
    const word = plainWord(value);
    const found = allowed.filter((each) => word !== '' && plainWord(each) === word);
    if (found.length !== 1) return value;
    this.changed(path, value, found[0]);
    return found[0];
  }

  private fitText(schema: JsonSchema, value: string, path: string): string {
    const text = value.trim();
    const read = schema.format === 'date' ? readDate : schema.format === 'date-time' ? readDateTime : null;
    if (read === null || isWritten(schema.format as string, text)) return text;
    const made = read(text);
    if (made === null) return text;
    this.changed(path, text, made);
    return made;
  }

  private changed(path: string, from: unknown, to: unknown): void {
    this.note(`${path === '' ? 'the value' : path}: ${shown(from)} became ${shown(to)}`);
  }

  private note(text: string): void {
    if (this.notes.length < MAX_NOTES) this.notes.push(text);
  }
}

/** Also a name like `__proto__` is a plain key. */
function set(target: JsonSchema, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function isOfType(type: string, value: unknown): boolean {
  return type === typeOf(value) || (type === 'number' && typeof value === 'number');
}

function booleanOf(value: unknown): boolean | undefined {
  const word = typeof value === 'string' || typeof value === 'number' ? String(value).trim().toLowerCase() : '';
  if (YES.has(word)) return true;
  return NO.has(word) ? false : undefined;
}

function plainWord(value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return '';
  return String(value)
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
    .trim();
}

function parsed<T>(text: string, is: (value: unknown) => value is T): T | null {
  try {
    const value: unknown = JSON.parse(text);
    return is(value) ? value : null;
  } catch {
    return null;
  }
}

function isWritten(format: string, text: string): boolean {
  if (format === 'date') return /^\d{4}-\d{2}-\d{2}$/.test(text);
  return /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})$/i.test(text);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}
