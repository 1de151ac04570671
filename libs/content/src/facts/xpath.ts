/**
 * XPath over a `Tree`, from an element down: `/a` and `./a` are its children, `//a` and `.//a` anything below it. All work is
 * counted by `tree.search`.
 */
import { TroupeError } from '@troupe/contracts';
import { collapsed } from '../metadata/white-space.js';
import { DOCUMENT, hashName, MAX_SELECTOR_CHARS, type SelectorKey, TEXT, type Tree } from '@troupe/html';
import type { FactsSource, Query } from './node-search.js';
import { firstAtLeast } from './page-index.js';
import {
  countsPlaces,
  parseXPath,
  type Axis,
  type Expression,
  type FunctionName,
  type Operator,
  type Step,
} from './xpath-parser.js';

/** @throws TroupeError BAD_REQUEST when the text is no XPath or uses something that is not supported. */
export function compileXPath(text: string): Query {
  const paths = parsed(text);
  const attributes = new Set(paths.map(attributeAtEnd));
  if (attributes.size > 1) throw badXPath(text, 'all its paths must end with the same attribute, or none');
  const [attribute = null] = attributes;
  return {
    attribute,
    keys: paths.flat().flatMap(({ axis, test }) => (axis === 'descendant' ? tagKey(test) : null) ?? []),
    find: (source, scope, enough) => {
      if (paths.length === 1) return follow(source, [scope], paths[0]!, enough);
      return inOrder(
        source.tree,
        paths.flatMap((steps) => follow(source, [scope], steps, enough)),
      );
    },
  };
}

function parsed(text: string): Step[][] {
  if (text.length > MAX_SELECTOR_CHARS)
    throw badXPath(text.slice(0, 100), `it is longer than ${MAX_SELECTOR_CHARS} characters`);
  try {
    return parseXPath(text);
  } catch (error) {
    throw badXPath(text, error instanceof Error ? error.message : 'it cannot be read', error);
  }
}

function badXPath(text: string, why: string, cause?: unknown): TroupeError {
  return new TroupeError('BAD_REQUEST', `"${text}" is not a usable XPath: ${why}`, { cause });
}

function attributeAtEnd(steps: readonly Step[]): string | null {
  const last = steps.at(-1);
  return last?.axis === 'attribute' && last.test !== '*' ? last.test : null;
}

// ---- steps

/** Where a step leads; a step to an attribute leads to the elements that have it. */
function follow(source: FactsSource, from: readonly number[], steps: readonly Step[], enough = Infinity): number[] {
  let nodes: readonly number[] = from;
  for (let i = 0; i < steps.length && nodes.length > 0; i++)
    nodes = takeStep(source, nodes, steps[i]!, i === steps.length - 1 ? enough : Infinity);
  return [...nodes];
}

/** @param enough the first ones will do */
function takeStep(source: FactsSource, from: readonly number[], step: Step, enough: number): number[] {
  const { tree } = source;
  const isDown = step.axis === 'descendant' || step.axis === 'descendant-or-self';
  const starts = isDown && !step.predicates.some(countsPlaces) ? outermost(tree, from) : from;
  if (starts.length === 1) {
    const isReversed = isReverse(step.axis);
    return inOrder(tree, fromOne(source, starts[0]!, step, isReversed ? Infinity : enough), isReversed);
  }
  return inOrder(
    tree,
    starts.flatMap((node) => fromOne(source, node, step)),
  );
}

function fromOne(source: FactsSource, node: number, { axis, test, predicates }: Step, enough = Infinity): number[] {
  let found = candidates(source, node, axis, test);
  for (let i = 0; i < predicates.length; i++)
    found = passing(source, found, predicates[i]!, i === predicates.length - 1 ? enough : Infinity);
  return found;
}

function passing(
  { tree, index }: FactsSource,
  nodes: readonly number[],
  predicate: Expression,
  enough: number,
): number[] {
  const passed: number[] = [];
  const context: Context = { tree, index, node: 0, place: 0, size: nodes.length };
  for (let i = 0; i < nodes.length && passed.length < enough; i++) {
    context.node = nodes[i]!;
    context.place = i + 1;
    if (holds(predicate, context)) passed.push(context.node);
  }
  return passed;
}

function isReverse(axis: Axis): boolean {
  return axis === 'ancestor' || axis === 'ancestor-or-self' || axis === 'preceding-sibling';
}

/** Each node once, in document order. */
function inOrder(tree: Tree, nodes: number[], mayBeUnordered = true): number[] {
  if (!mayBeUnordered || nodes.length < 2) return nodes;
  tree.search.spend(nodes.length);
  nodes.sort((a, b) => a - b);
  return nodes.filter((node, i) => i === 0 || node !== nodes[i - 1]);
}

/** Nodes of an ascending list that are not inside another one of it. */
function outermost(tree: Tree, ascending: readonly number[]): number[] {
  const outer: number[] = [];
  let covered = -1;
  for (const node of ascending) {
    if (node < covered) continue;
    outer.push(node);
    covered = tree.end[node]!;
  }
  return outer;
}

/** In the order of the axis: away from the node. */
function candidates(source: FactsSource, node: number, axis: Axis, test: string): number[] {
  const { tree } = source;
  switch (axis) {
    case 'attribute':
      return hasAttribute(tree, node, test) ? [node] : [];
    case 'self':
      return fitting(tree, [node], test);
    case 'descendant':
      return below(source, node, test);
    case 'descendant-or-self':
      return inRange(tree, node, tree.end[node]!, test);
    case 'child':
      return tree.isText(node) ? [] : amongSiblings(tree, node + 1, tree.end[node]!, test);
    case 'following-sibling':
      return node === 0 ? [] : amongSiblings(tree, tree.end[node]!, tree.end[tree.parent[node]!]!, test);
    case 'preceding-sibling':
      return node === 0 ? [] : amongSiblings(tree, tree.parent[node]! + 1, node, test).reverse();
    case 'parent':
      return node === 0 ? [] : fitting(tree, [tree.parent[node]!], test);
    case 'ancestor':
      return fitting(tree, upwards(tree, tree.parent[node]!), test);
    case 'ancestor-or-self':
      return fitting(tree, upwards(tree, node), test);
  }
}

function hasAttribute(tree: Tree, node: number, name: string): boolean {
  tree.search.spend(1);
  if (tree.isText(node)) return false;
  return name === '*' ? tree.to[node]! > tree.from[node]! : tree.attrIndex(node, hashName(name)) >= 0;
}

function upwards(tree: Tree, node: number): number[] {
  const nodes: number[] = [];
  for (let up = node; up >= 0; up = tree.parent[up]!) nodes.push(up);
  return nodes;
}

/** Tags that a test lets through: one, or a least one. */
interface TagTest {
  only: number;
  least: number;
}

const ANY_TAG = -1;

function tagTest(tree: Tree, test: string): TagTest {
  if (test === 'node()') return { only: ANY_TAG, least: TEXT };
  if (test === 'text()') return { only: TEXT, least: TEXT };
  if (test === '*') return { only: ANY_TAG, least: DOCUMENT + 1 };
  return { only: tree.tagNumber(test), least: TEXT };
}

function fits(tag: number, { only, least }: TagTest): boolean {
  return only === ANY_TAG ? tag >= least : tag === only;
}

function fitting(tree: Tree, nodes: readonly number[], test: string): number[] {
  tree.search.spend(nodes.length);
  const wanted = tagTest(tree, test);
  return nodes.filter((node) => fits(tree.tag[node]!, wanted));
}

/** null: the test is about more than a name. */
function tagKey(test: string): SelectorKey | null {
  return test === '*' || test.endsWith('()') ? null : { type: 'tag', name: test };
}

function below({ tree, index }: FactsSource, node: number, test: string): number[] {
  const key = tagKey(test);
  const places = key === null ? null : index.at(key);
  const end = tree.end[node]!;
  if (places === null) return inRange(tree, node + 1, end, test);
  const found = places.slice(firstAtLeast(places, node + 1), firstAtLeast(places, end));
  tree.search.spend(found.length + 1);
  return found;
}

function inRange(tree: Tree, from: number, to: number, test: string): number[] {
  tree.search.spend(to - from);
  const wanted = tagTest(tree, test);
  const found: number[] = [];
  for (let node = from; node < to; node++) if (fits(tree.tag[node]!, wanted)) found.push(node);
  return found;
}

function amongSiblings(tree: Tree, from: number, to: number, test: string): number[] {
  const wanted = tagTest(tree, test);
  const found: number[] = [];
  let steps = 0;
  for (let node = from; node < to; node = tree.end[node]!) {
    steps++;
    if (fits(tree.tag[node]!, wanted)) found.push(node);
  }
  tree.search.spend(steps);
  return found;
}

// ---- conditions

/** Reading this number of characters costs as much as looking at a node: 64. */
const CHARS_PER_STEP_LOG2 = 6;

interface Context extends FactsSource {
  node: number;
  /** From 1. */
  place: number;
  size: number;
}

/** Strings: of the nodes or attributes that a path leads to. */
type Value = string | number | boolean | string[];

type Comparison = Extract<Expression, { type: 'compare' }>;

function holds(predicate: Expression, context: Context): boolean {
  const value = evaluate(predicate, context);
  return typeof value === 'number' ? value === context.place : truth(value);
}

function truth(value: Value): boolean {
  return typeof value === 'object'
    ? value.length > 0
    : typeof value === 'number'
      ? value !== 0 && !Number.isNaN(value)
      : Boolean(value);
}

function textOf(value: Value): string {
  return typeof value === 'object' ? (value[0] ?? '') : String(value);
}

function numberOf(value: Value): number {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') return value;
  const text = textOf(value).trim();
  return text === '' ? NaN : Number(text);
}

function evaluate(expression: Expression, context: Context): Value {
  context.tree.search.spend(1);
  switch (expression.type) {
    case 'text':
    case 'number':
      return expression.value;
    case 'or':
      return truth(evaluate(expression.left, context)) || truth(evaluate(expression.right, context));
    case 'and':
      return truth(evaluate(expression.left, context)) && truth(evaluate(expression.right, context));
    case 'compare':
      if (asksForLonger(expression, context)) return false;
      return compares(expression.operator, evaluate(expression.left, context), evaluate(expression.right, context));
    case 'path':
      return stringsAt(expression.steps, context);
    case 'call':
      return call(expression.name, expression.args, context);
  }
}

/** Texts of what a path leads to. */
function stringsAt(steps: readonly Step[], context: Context): string[] {
  const { tree } = context;
  const nodes = follow(context, [context.node], steps);
  const attribute = attributeAtEnd(steps);
  if (attribute === null) return nodes.map((one) => content(tree, one));
  const hash = hashName(attribute);
  return nodes.map((one) => tree.attr(one, hash) ?? '');
}

function content(tree: Tree, node: number): string {
  const text = tree.textContent(node);
  tree.search.spend(tree.end[node]! - node + (text.length >> CHARS_PER_STEP_LOG2));
  return text;
}

/** Whether the node's text must be longer than it is even as written: reading it makes it no longer. */
function asksForLonger({ operator, left, right }: Comparison, { tree, node }: Context): boolean {
  if (right.type !== 'number' || (operator !== '>' && operator !== '>=') || !isOwnLength(left)) return false;
  const enough = operator === '>' ? right.value + 1 : right.value;
  let length = 0;
  let at = node;
  for (const end = tree.end[node]!; at < end && length < enough; at++)
    if (tree.tag[at] === TEXT) length += tree.to[at]! - tree.from[at]!;
  tree.search.spend(at - node);
  return length < enough;
}

/** `string-length()` of the node, its white space normalised or not. */
function isOwnLength(expression: Expression): boolean {
  if (expression.type !== 'call' || expression.name !== 'string-length') return false;
  const [text] = expression.args;
  return isSelf(text) || (text?.type === 'call' && text.name === 'normalize-space' && isSelf(text.args[0]));
}

/** The node itself, as an argument: left out, or a dot. */
function isSelf(text: Expression | undefined): boolean {
  if (text === undefined) return true;
  if (text.type !== 'path' || text.steps.length !== 1) return false;
  const { axis, test, predicates } = text.steps[0]!;
  return axis === 'self' && test === 'node()' && predicates.length === 0;
}

/** With strings of a path: whether any of them fits. */
function compares(operator: Operator, left: Value, right: Value): boolean {
  if (typeof left === 'object') return left.some((one) => compares(operator, one, right));
  if (typeof right === 'object') return right.some((one) => compares(operator, left, one));
  if (operator === '=' || operator === '!=') return isEqual(left, right) === (operator === '=');
  const [a, b] = [numberOf(left), numberOf(right)];
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

function isEqual(left: Exclude<Value, string[]>, right: Exclude<Value, string[]>): boolean {
  if (typeof left === 'boolean' || typeof right === 'boolean') return truth(left) === truth(right);
  if (typeof left === 'number' || typeof right === 'number') return numberOf(left) === numberOf(right);
  return left === right;
}

function call(name: FunctionName, args: readonly Expression[], context: Context): Value {
  const { tree, node } = context;
  const value = (i: number): Value => (i < args.length ? evaluate(args[i]!, context) : content(tree, node));
  switch (name) {
    case 'contains':
      return textOf(value(0)).includes(textOf(value(1)));
    case 'starts-with':
      return textOf(value(0)).startsWith(textOf(value(1)));
    case 'ends-with':
      return textOf(value(0)).endsWith(textOf(value(1)));
    case 'normalize-space':
      return collapsed(textOf(value(0)));
    case 'lower-case':
      return textOf(value(0)).toLowerCase();
    case 'string':
      return textOf(value(0));
    case 'string-length':
      return textOf(value(0)).length;
    case 'number':
      return numberOf(value(0));
    case 'count':
      return (value(0) as string[]).length;
    case 'name':
      return tree.isText(node) ? '' : tree.name(node);
    case 'position':
      return context.place;
    case 'last':
      return context.size;
    case 'not':
      return !truth(value(0));
    case 'true':
      return true;
    case 'false':
      return false;
  }
}
