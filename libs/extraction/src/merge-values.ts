/**
 * Facts from several texts as one value: parts of a long page, or pages of a job.
 *
 * - A value that says nothing (null, blank text, empty lists and objects) gives way to one that does.
 * - Objects are merged field by field, fields in the schema's order and then as they appear.
 * - Lists are joined in the order of the texts. Objects about the same thing (see `entity-groups.ts`) become one where the first
 *   stood; a text stands once. Numbers repeated by one source are a series and stay; numbers that another source repeats do not.
 * - One fact told differently: `true` beats `false`, which mostly means that a text does not speak of it; of other values the one
 *   that most texts tell, of equally many the first.
 *
 * Pure and deterministic; the result may still lack what the schema requires.
 */
import type { JsonSchema } from '@troupe/contracts';
import { EntityGroups } from './entity-groups.js';
import { isEmpty, isObject, valueKey, type JsonObject } from './json-value.js';
import { shapeOf, type SchemaShape } from './schema-shape.js';

export interface SourcedValue {
  value: unknown;
  /** Where it was read, the URL of a page. Parts of one page have one source. */
  source: string;
}

export interface MergedValue {
  value: unknown;
  /** Path of each single fact (`company.name`, `products[0].price`, `tags[1]`) -> sources that told it so, in order. */
  sources: Record<string, string[]>;
}

/** Deeper values are taken whole from the first that tells any. */
const MAX_DEPTH = 32;
const PLAIN_KEY = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;

export function mergeValues(schema: JsonSchema | null, values: readonly SourcedValue[]): MergedValue {
  const steps = mergeSteps(schema, values);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** The same, yielding after every thing: thousands of them would hold up other work of the process. */
export function* mergeSteps(
  schema: JsonSchema | null,
  values: readonly SourcedValue[],
): Generator<void, MergedValue, void> {
  const merge = new Merge(schema);
  const value = yield* merge.node(values, { schema, path: '', depth: 0 });
  return { value: value ?? null, sources: Object.fromEntries(merge.sources) };
}

interface Place {
  schema: JsonSchema | null;
  path: string;
  depth: number;
}

type Steps<T> = Generator<void, T, void>;

class Merge {
  readonly sources = new Map<string, string[]>();

  constructor(private readonly root: JsonSchema | null) {}

  *node(values: readonly SourcedValue[], place: Place): Steps<unknown> {
    const told = values.filter(({ value }) => !isEmpty(value));
    const first = told[0];
    if (first === undefined) return emptyOf(values);
    const kind = kindOf(first.value);
    const alike = told.filter(({ value }) => kindOf(value) === kind);
    if (place.depth >= MAX_DEPTH || kind === 'scalar') return this.fact(alike, place);
    const shape = shapeOf(this.root, place.schema);
    return kind === 'list' ? yield* this.list(alike, shape, place) : yield* this.object(values, shape, place);
  }

  private *object(values: readonly SourcedValue[], shape: SchemaShape, { path, depth }: Place): Steps<unknown> {
    const objects = values.filter(({ value }) => isObject(value)) as { value: JsonObject; source: string }[];
    const present = new Set(objects.flatMap(({ value }) => Object.keys(value)));
    const known = [...shape.properties.keys()].filter((name) => present.has(name));
    const merged: [string, unknown][] = [];
    for (const name of new Set([...known, ...present])) {
      const fields = objects
        .filter(({ value }) => Object.hasOwn(value, name))
        .map(({ value, source }) => ({ value: value[name], source }));
      const schema = shape.properties.get(name) ?? null;
      merged.push([name, yield* this.node(fields, { schema, path: fieldPath(path, name), depth: depth + 1 })]);
    }
    return Object.fromEntries(merged);
  }

  private *list(lists: readonly SourcedValue[], shape: SchemaShape, { path, depth }: Place): Steps<unknown[]> {
    const groups = yield* groupItems(lists, shape.uniqueItems);
    const merged: unknown[] = [];
    for (const members of groups.slice(0, shape.maxItems ?? groups.length)) {
      const place = { schema: shape.items, path: `${path}[${merged.length}]`, depth: depth + 1 };
      merged.push(yield* this.node(members, place));
      yield;
    }
    return merged;
  }

  private fact(values: readonly SourcedValue[], { path }: Place): unknown {
    const votes = new Map<string, SourcedValue[]>();
    for (const told of values) {
      const key = valueKey(told.value);
      const same = votes.get(key);
      if (same === undefined) votes.set(key, [told]);
      else same.push(told);
    }
    const chosen =
      votes.get('true') ?? [...votes.values()].reduce((best, next) => (next.length > best.length ? next : best));
    this.sources.set(path, [...new Set(chosen.map(({ source }) => source))]);
    return chosen[0]!.value;
  }
}

function kindOf(value: unknown): 'list' | 'object' | 'scalar' {
  if (Array.isArray(value)) return 'list';
  return isObject(value) ? 'object' : 'scalar';
}

/** No source tells anything: the most that was given, so that a list stays a list and an object keeps its empty fields. */
function emptyOf(values: readonly SourcedValue[]): unknown {
  const given = values.map(({ value }) => value).filter((value) => value !== undefined);
  const container = given.find((value) => isObject(value) && Object.keys(value).length > 0) ?? given.find(isObject);
  if (container !== undefined) return container;
  return given.some(Array.isArray) ? [] : given[0];
}

/** Members of each item of the joined list, in its order. */
function* groupItems(lists: readonly SourcedValue[], areUnique: boolean): Steps<SourcedValue[][]> {
  const entities = new EntityGroups<SourcedValue>();
  const series = new Series();
  for (const { value, source } of lists) {
    for (const item of value as unknown[]) {
      const isNumber = typeof item === 'number' || typeof item === 'boolean';
      const member = { value: item, source };
      if (isNumber && !areUnique) entities.add({ '': series.place(item, source) }, member);
      else if (!isEmpty(item)) entities.add(item, member);
      yield;
    }
  }
  return entities.groups.map(({ members }) => members);
}

/** Names the place of a number in a joined list: its n-th time in one source is the n-th time in another. */
class Series {
  private readonly times = new Map<string, number>();

  place(item: unknown, source: string): string {
    const key = JSON.stringify([source, item]);
    const times = (this.times.get(key) ?? 0) + 1;
    this.times.set(key, times);
    return `${JSON.stringify(item)} ${times}`;
  }
}

function fieldPath(path: string, name: string): string {
  if (!PLAIN_KEY.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
