/** A schema of selectors, made ready: every selector compiled and every name hashed once, however many elements are read. */
import type { SelectorSchema } from '@troupe/contracts';
import { LRUCache } from 'lru-cache';
import { hashName } from '../tags.js';
import type { Query } from './node-search.js';
import { IndexKeys } from './page-index.js';
import { compileQuery } from './query.js';

export interface Attribute {
  name: string;
  hash: number;
}

interface Found {
  /** null: the place itself. */
  query: Query | null;
  /** Attribute that the query ends with; null: it ends with elements. */
  end: Attribute | null;
}

export interface ObjectPlan extends Found {
  type: 'object';
  names: readonly string[];
  /** As `names`. */
  fields: readonly Plan[];
}

export interface ListPlan {
  type: 'list';
  query: Query;
  end: Attribute | null;
  item: Plan;
}

type ValueSchema = Extract<SelectorSchema, { type: 'value' }>;

export interface ValuePlan extends Found {
  type: 'value';
  attribute: Attribute | null;
  as: ValueSchema['as'];
}

export type Plan = ObjectPlan | ListPlan | ValuePlan;

export interface CompiledFacts {
  readonly plan: Plan;
  /** Of all its queries. */
  readonly keys: IndexKeys;
}

/** Of the texts of all schemas that are kept. */
const MAX_KEPT_CHARS = 2_000_000;
const MAX_KEPT = 500;
const kept = new LRUCache<string, CompiledFacts>({
  max: MAX_KEPT,
  maxSize: MAX_KEPT_CHARS,
  sizeCalculation: (_, text) => text.length,
});

/** A schema comes with every page of its job, as a copy each time. @throws TroupeError BAD_REQUEST for a bad selector */
export function compileFacts(schema: SelectorSchema): CompiledFacts {
  const text = textOf(schema);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const plan = planOf(schema);
  const compiled = { plan, keys: new IndexKeys(queriesOf(plan).flatMap(({ keys }) => keys)) };
  kept.set(text, compiled);
  return compiled;
}

/** No other schema has the same; written in a quarter of the time that its JSON takes. */
function textOf(schema: SelectorSchema): string {
  const found = partOf(schema.selector);
  if (schema.type === 'value') return `=${found}${partOf(schema.attribute)}${schema.as}`;
  if (schema.type === 'list') return `[${found}${textOf(schema.item)}`;
  let text = `{${found}`;
  for (const name of Object.keys(schema.fields)) text += `${partOf(name)}${textOf(schema.fields[name]!)}`;
  return `${text}}`;
}

function partOf(text: string | null): string {
  return text === null ? '-' : `${text.length}:${text}`;
}

function planOf(schema: SelectorSchema): Plan {
  switch (schema.type) {
    case 'object':
      return {
        type: 'object',
        ...foundBy(schema.selector),
        names: Object.keys(schema.fields),
        fields: Object.values(schema.fields).map(planOf),
      };
    case 'list': {
      const query = compileQuery(schema.selector);
      return { type: 'list', query, end: attributeOf(query.attribute), item: planOf(schema.item) };
    }
    case 'value':
      return {
        type: 'value',
        ...foundBy(schema.selector),
        attribute: attributeOf(schema.attribute),
        as: schema.as,
      };
  }
}

/** All of a plan. */
function queriesOf(plan: Plan): Query[] {
  const own = plan.query === null ? [] : [plan.query];
  if (plan.type === 'list') return [...own, ...queriesOf(plan.item)];
  return plan.type === 'object' ? [...own, ...plan.fields.flatMap(queriesOf)] : own;
}

function foundBy(selector: string | null): Found {
  const query = selector === null ? null : compileQuery(selector);
  return { query, end: attributeOf(query?.attribute ?? null) };
}

function attributeOf(name: string | null): Attribute | null {
  return name === null ? null : { name, hash: hashName(name) };
}
