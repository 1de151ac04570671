/** A schema of selectors, made ready: every selector compiled and every name hashed once, however many elements are read. */
import type { SelectorSchema } from '@troupe/contracts';
import { hashName } from '@troupe/html';
import type { Query } from './node-search.js';
import { IndexKeys } from './page-index.js';
import { compileQuery } from './query.js';

export interface Attribute {
  name: string;
  hash: number;
}

interface Found {
  selector: string | null;
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
  selector: string;
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
  /** Keys of all its queries. */
  readonly keys: IndexKeys;
}

/** Number of plans that are kept. Reading a selector costs most, and is kept longer (query.ts). */
const MAX_KEPT = 30;
/** Those that were asked for last come first. */
const kept: CompiledFacts[] = [];

/** A schema comes with every page of its job, as a copy each time. @throws TroupeError BAD_REQUEST for a bad selector */
export function compileFacts(schema: SelectorSchema): CompiledFacts {
  const place = kept.findIndex(({ plan }) => isPlanOf(plan, schema));
  if (place === 0) return kept[0]!;
  const [known] = place < 0 ? [] : kept.splice(place, 1);
  const compiled = known ?? compile(schema);
  kept.unshift(compiled);
  if (kept.length > MAX_KEPT) kept.pop();
  return compiled;
}

function compile(schema: SelectorSchema): CompiledFacts {
  const plan = planOf(schema);
  return { plan, keys: new IndexKeys(queriesOf(plan).flatMap(({ keys }) => keys)) };
}

/** Whether the plan was made of this schema. */
function isPlanOf(plan: Plan, schema: SelectorSchema): boolean {
  if (plan.selector !== schema.selector) return false;
  if (schema.type === 'list') return plan.type === 'list' && isPlanOf(plan.item, schema.item);
  if (schema.type === 'value')
    return plan.type === 'value' && plan.as === schema.as && (plan.attribute?.name ?? null) === schema.attribute;
  if (plan.type !== 'object') return false;
  const names = Object.keys(schema.fields);
  return (
    names.length === plan.names.length &&
    names.every((name, i) => name === plan.names[i] && isPlanOf(plan.fields[i]!, schema.fields[name]!))
  );
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
      return {
        type: 'list',
        selector: schema.selector,
        query,
        end: attributeOf(query.attribute),
        item: planOf(schema.item),
      };
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

/** All queries of a plan. */
function queriesOf(plan: Plan): Query[] {
  const own = plan.query === null ? [] : [plan.query];
  if (plan.type === 'list') return [...own, ...queriesOf(plan.item)];
  return plan.type === 'object' ? [...own, ...plan.fields.flatMap(queriesOf)] : own;
}

function foundBy(selector: string | null): Found {
  const query = selector === null ? null : compileQuery(selector);
  return { selector, query, end: attributeOf(query?.attribute ?? null) };
}

function attributeOf(name: string | null): Attribute | null {
  return name === null ? null : { name, hash: hashName(name) };
}
