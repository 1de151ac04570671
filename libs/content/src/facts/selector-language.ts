/** Selectors as people write them (docs/selectors.md) to what is looked up on a page. */
import type { SelectorSchema } from '@troupe/contracts';
import { checkQuery } from './query.js';

export const MAX_SELECTOR_FIELDS = 200;
export const MAX_SELECTOR_DEPTH = 8;
const MAX_NAME_CHARS = 200;
const VALUE_KEYS: ReadonlySet<string> = new Set(['selector', 'attribute', 'type']);
const TYPES = ['string', 'number', 'integer', 'boolean', 'date', 'url'] as const;
/** Their values are addresses unless another type is asked for. */
const ADDRESSES: ReadonlySet<string> = new Set(['href', 'src', 'action', 'poster', 'cite', 'data-src', 'formaction']);
/** The element of the object around it. */
const SELF = '.';

export interface SelectorProblem {
  path: string[];
  message: string;
}

/** A schema, or everything that keeps the text from being one. */
export type ReadSelectors = { schema: SelectorSchema } | { problems: SelectorProblem[] };

/**
 * A string is the text of the first element that it finds; an object with `selector` says more about one value; another
 * object holds fields, below the first element of its `$` if it has one; an array of one of these is a list.
 */
export function readSelectors(wire: unknown): ReadSelectors {
  const reader = new LanguageReader();
  const schema = reader.read(wire, [], 1);
  return schema === null || reader.problems.length > 0 ? { problems: reader.problems } : { schema };
}

class LanguageReader {
  readonly problems: SelectorProblem[] = [];
  private fields = 0;

  read(wire: unknown, path: string[], depth: number): SelectorSchema | null {
    if (depth > MAX_SELECTOR_DEPTH)
      return this.refuse(path, `Selectors may be nested ${MAX_SELECTOR_DEPTH} levels deep`);
    if (typeof wire === 'string') return this.value({ selector: wire }, path);
    if (Array.isArray(wire)) return this.list(wire, path, depth);
    if (!isRecord(wire)) return this.refuse(path, 'Expected a selector, an object or a list of one of them');
    return isValue(wire) ? this.value(wire, path) : this.object(wire, path, depth);
  }

  private list(wire: unknown[], path: string[], depth: number): SelectorSchema | null {
    const [item] = wire;
    if (wire.length !== 1) return this.refuse(path, 'A list holds exactly one selector or object: what its items are');
    if (Array.isArray(item)) return this.refuse(path, 'A list of lists needs an object with $ between them');
    const known = this.problems.length;
    const read = this.read(item, [...path, '0'], depth + 1);
    if (read === null || read.type === 'list' || this.problems.length > known) return null;
    if (read.selector === null)
      return this.refuse(
        [...path, '0'],
        'The items of a list need a selector of their own: selector, or $ with fields',
      );
    return { type: 'list', selector: read.selector, item: { ...read, selector: null } };
  }

  private object(wire: Record<string, unknown>, path: string[], depth: number): SelectorSchema | null {
    const { $: around, ...fields } = wire;
    const selector = around === undefined ? null : this.selector(around, [...path, '$']);
    const names = Object.keys(fields);
    if (names.length === 0) return this.refuse(path, 'An object needs at least one field');
    this.fields += names.length;
    if (this.fields > MAX_SELECTOR_FIELDS)
      return this.refuse(path, `At most ${MAX_SELECTOR_FIELDS} fields may be asked for`);
    const read: [string, SelectorSchema][] = [];
    for (const name of names) {
      if (name.length > MAX_NAME_CHARS)
        return this.refuse(path, `Names of fields have at most ${MAX_NAME_CHARS} characters`);
      const field = this.read(fields[name], [...path, name], depth + 1);
      if (field !== null) read.push([name, field]);
    }
    return { type: 'object', selector, fields: Object.fromEntries(read) };
  }

  private value(wire: Record<string, unknown>, path: string[]): SelectorSchema | null {
    const unknown = Object.keys(wire).find((key) => !VALUE_KEYS.has(key));
    if (unknown !== undefined)
      return this.refuse(
        path,
        `Unknown option ${unknown.slice(0, 50)}: a value has selector, attribute and type. Fields beside a field named selector need $`,
      );
    const selector = this.selector(wire.selector, typeof wire.selector === 'string' ? path : [...path, 'selector']);
    const { attribute = null } = wire;
    if (
      attribute !== null &&
      (typeof attribute !== 'string' || attribute.trim() === '' || attribute.length > MAX_NAME_CHARS)
    )
      return this.refuse([...path, 'attribute'], 'Expected the name of an attribute');
    const name = attribute === null ? null : attribute.trim().toLowerCase();
    const type = wire.type ?? (name !== null && ADDRESSES.has(name) ? 'url' : 'string');
    if (!isType(type)) return this.refuse([...path, 'type'], `Expected one of ${TYPES.join(', ')}`);
    return { type: 'value', selector, attribute: name, as: type };
  }

  /** null: the element around. It is also returned for a selector that is reported as wrong. */
  private selector(wire: unknown, path: string[]): string | null {
    if (typeof wire !== 'string' || wire.trim() === '') return this.refuse(path, 'Expected a CSS selector or an XPath');
    const text = wire.trim();
    if (text === SELF) return null;
    const problem = checkQuery(text);
    return problem === null ? text : this.refuse(path, problem);
  }

  private refuse(path: string[], message: string): null {
    this.problems.push({ path, message });
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isValue(wire: Record<string, unknown>): boolean {
  return wire.selector !== undefined && wire.$ === undefined;
}

function isType(type: unknown): type is (typeof TYPES)[number] {
  return (TYPES as readonly unknown[]).includes(type);
}

/** The schema as people write it: `readSelectors` reads the same schema from it. */
export function writeSelectors(schema: SelectorSchema): unknown {
  return written(schema, null);
}

/** @param around selector of the list whose item it is */
function written(schema: SelectorSchema, around: string | null): unknown {
  if (schema.type === 'list') return [written(schema.item, schema.selector)];
  const selector = schema.selector ?? around;
  if (schema.type === 'object') {
    const fields = Object.entries(schema.fields).map(([name, field]) => [name, written(field, null)]);
    return { ...(selector === null ? {} : { $: selector }), ...Object.fromEntries(fields) };
  }
  const { attribute, as } = schema;
  if (attribute === null && as === 'string') return selector ?? SELF;
  return { selector: selector ?? SELF, ...(attribute === null ? {} : { attribute }), type: as };
}
