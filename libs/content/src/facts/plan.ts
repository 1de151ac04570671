/** A schema of selectors, made ready: every selector compiled and every name hashed once, however many elements are read. */
import type { SelectorSchema } from '@troupe/contracts';
import { hashName } from '../tags.js';
import type { Query } from './node-search.js';
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

/** @throws TroupeError BAD_REQUEST for a bad selector */
export function planOf(schema: SelectorSchema): Plan {
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
export function queriesOf(plan: Plan): Query[] {
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
