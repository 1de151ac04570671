/** CSS selectors over a `Tree`: parsed by css-what, matched right to left on the arrays. */
import {
  AttributeAction,
  SelectorType,
  parse,
  type AttributeSelector,
  type PseudoSelector,
  type Selector,
} from 'css-what';
import { TroupeError } from '@troupe/contracts';
import { RE2JS } from 're2js';
import { DOCUMENT, TEXT, hashName, lookupTag } from './tags.js';
import type { Tree } from './tree.js';

type Test = (tree: Tree, node: number) => boolean;

/** True when the element matches. */
export type Matcher = Test;

/** Length of a selector's text. */
export const MAX_SELECTOR_CHARS = 2000;

/** @throws TroupeError BAD_REQUEST when the text is no selector or uses something that is not supported. */
export function compileSelector(text: string): Matcher {
  return compiling(text, () => anyOf(parse(text)));
}

/** A property of elements; names of tags and attributes in lower case. */
export interface SelectorKey {
  readonly type: 'tag' | 'class' | 'id' | 'attribute';
  readonly name: string;
}

/** One of the selectors that a comma joins, with a property that all its matches have. */
export interface KeyedMatcher {
  readonly test: Matcher;
  /** null: any element may match. */
  readonly key: SelectorKey | null;
  /** A tag that comes before each of them, as an ancestor or otherwise; null: none is known. */
  readonly before: SelectorKey | null;
}

/**
 * As `compileSelector`, for searches below one element, its `:scope`: a selector may begin with a combinator, which then
 * follows that element. @throws TroupeError BAD_REQUEST
 */
export function compileScoped(text: string): KeyedMatcher[] {
  return compiling(text, () => {
    const groups = parse(text).map((tokens) => (isLeading(tokens[0]) ? [SCOPE, ...tokens] : tokens));
    if (groups.length === 0) throw badSelector('', 'is empty');
    return groups.map((tokens) => ({ test: compileComplex(tokens), key: keyOf(tokens), before: tagBefore(tokens) }));
  });
}

const SCOPE: PseudoSelector = { type: SelectorType.Pseudo, name: 'scope', data: null };

function isLeading(token: Selector | undefined): boolean {
  return token !== undefined && combinator(token.type) !== null;
}

/** The most selective condition of the last compound. */
function keyOf(tokens: readonly Selector[]): KeyedMatcher['key'] {
  let key: KeyedMatcher['key'] = null;
  for (let i = tokens.length - 1; i >= 0 && !isLeading(tokens[i]); i--) {
    const token = tokens[i]!;
    // Tags are found without looking at any attribute.
    if (isAttributeKey(key)) key = tagOf(token) ?? key;
    if (token.type !== SelectorType.Attribute) continue;
    if (token.action !== AttributeAction.Not) key ??= { type: 'attribute', name: token.name.toLowerCase() };
    if (token.value === '' || token.ignoreCase === true) continue;
    if (token.name === 'id' && token.action === AttributeAction.Equals) return { type: 'id', name: token.value };
    if (token.name === 'class' && token.action === AttributeAction.Element) key = { type: 'class', name: token.value };
  }
  return key;
}

/** Key of the part of a selector before its last combinator, which comes earlier in the document than the match. */
function tagBefore(tokens: readonly Selector[]): SelectorKey | null {
  const last = tokens.findLastIndex(isLeading);
  return tokens.slice(0, Math.max(0, last)).reduce<SelectorKey | null>((found, token) => found ?? tagOf(token), null);
}

/** null: the token asks for no tag, or for one that other elements may stand for. */
function tagOf(token: Selector): SelectorKey | null {
  if (token.type !== SelectorType.Tag || token.name.toLowerCase() === 'iframe') return null;
  return { type: 'tag', name: token.name.toLowerCase() };
}

function isAttributeKey(key: KeyedMatcher['key']): boolean {
  return key === null || key.type === 'attribute';
}

function compiling<T>(text: string, compile: () => T): T {
  if (text.length > MAX_SELECTOR_CHARS)
    throw badSelector(text.slice(0, 100), `is longer than ${MAX_SELECTOR_CHARS} characters`);
  try {
    return compile();
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    throw badSelector(text, error instanceof Error ? error.message : 'cannot be read', error);
  }
}

/** Reason why a text is no usable selector; null: it is one. */
export function checkSelector(text: string): string | null {
  try {
    compileSelector(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'This is not a usable CSS selector';
  }
}

function badSelector(text: string, why: string, cause?: unknown): TroupeError {
  return new TroupeError('BAD_REQUEST', `"${text}" is not a usable CSS selector: ${why}`, { cause });
}

function anyOf(groups: Selector[][]): Test {
  if (groups.length === 0) throw badSelector('', 'is empty');
  const tests = groups.map(compileComplex);
  return tests.length === 1 ? tests[0]! : (tree, node) => tests.some((test) => test(tree, node));
}

function compileComplex(tokens: Selector[]): Test {
  if (tokens.length === 0) throw badSelector('', 'is empty');
  let left: Test | null = null;
  let compound: Test[] = [];
  for (const token of tokens) {
    const combine = combinator(token.type);
    if (combine === null) {
      compound.push(compileSimple(token));
      continue;
    }
    if (compound.length === 0) throw new Error('a combinator has nothing before it');
    const subject: Test = allOf(left === null ? compound : [...compound, left]);
    left = combine(subject);
    compound = [];
  }
  if (compound.length === 0) throw new Error('it ends with a combinator');
  return allOf(left === null ? compound : [...compound, left]);
}

function allOf([first, second, ...others]: Test[]): Test {
  if (second === undefined) return first!;
  if (others.length > 0) return allOf([first!, allOf([second, ...others])]);
  return (tree, node) => first!(tree, node) && second(tree, node);
}

function combinator(type: SelectorType): ((left: Test) => Test) | null {
  switch (type) {
    case SelectorType.Child:
      return (left) => (tree, node) => isElement(tree, tree.parent[node]!) && left(tree, tree.parent[node]!);
    case SelectorType.Descendant:
      return (left) => (tree, node) => {
        const { parent, search } = tree;
        let up = parent[node]!;
        let steps = 0;
        while (isElement(tree, up) && !left(tree, up)) {
          up = parent[up]!;
          steps++;
        }
        search.spend(steps);
        return isElement(tree, up);
      };
    case SelectorType.Adjacent:
      return (left) => (tree, node) => {
        const before = previousElement(tree, node);
        return before >= 0 && left(tree, before);
      };
    case SelectorType.Sibling:
      return (left) => (tree, node) => someElement(tree, tree.parent[node]!, node, left);
    case SelectorType.Parent:
    case SelectorType.ColumnCombinator:
      throw badSelector(type, 'this combinator is not supported');
    default:
      return null;
  }
}

function isElement(tree: Tree, node: number): boolean {
  return node > 0 && tree.tag[node] !== TEXT && tree.tag[node] !== DOCUMENT;
}

function isRoot(tree: Tree, node: number): boolean {
  return tree.tag[tree.parent[node]!] === DOCUMENT;
}

/** Some element child of `parent` before the node `limit` passes. */
function someElement(tree: Tree, parent: number, limit: number, test: Test): boolean {
  for (let child = parent + 1; child < limit; child = tree.end[child]!) {
    tree.search.spend(1);
    if (tree.tag[child] !== TEXT && test(tree, child)) return true;
  }
  return false;
}

function previousElement(tree: Tree, node: number): number {
  let before = -1;
  for (let child = tree.parent[node]! + 1; child < node; child = tree.end[child]!) {
    tree.search.spend(1);
    if (tree.tag[child] !== TEXT) before = child;
  }
  return before;
}

/** A browser puts the contents of a frame in the place of the frame. */
const INLINED_FRAME = hashName('data-iframe-src');

function compileSimple(token: Selector): Test {
  switch (token.type) {
    case SelectorType.Tag: {
      const name = token.name.toLowerCase();
      if (name === 'iframe')
        return (tree, node) => tree.name(node) === name || tree.attrIndex(node, INLINED_FRAME) >= 0;
      return hasName(name);
    }
    case SelectorType.Universal:
      return () => true;
    case SelectorType.Attribute:
      return compileAttribute(token);
    case SelectorType.Pseudo:
      return compilePseudo(token);
    default:
      throw badSelector(token.type, 'this kind of selector is not supported');
  }
}

function hasName(name: string): Test {
  const tag = lookupTag(name, 0, name.length);
  return tag > 0 ? (tree, node) => tree.tag[node] === tag : (tree, node) => tree.name(node) === name;
}

function compileAttribute(token: AttributeSelector): Test {
  const name = token.name.toLowerCase();
  const hash = hashName(name);
  if (token.action === AttributeAction.Exists) return (tree, node) => tree.attrIndex(node, hash) >= 0;
  const ignoreCase = token.ignoreCase === true || (token.ignoreCase === null && name === 'type');
  const wanted = ignoreCase ? token.value.toLowerCase() : token.value;
  const compare = comparison(token.action, wanted);
  return (tree, node) => {
    const value = tree.attr(node, hash);
    return compare(value === null ? null : ignoreCase ? value.toLowerCase() : value);
  };
}

function comparison(action: AttributeAction, wanted: string): (value: string | null) => boolean {
  switch (action) {
    case AttributeAction.Equals:
      return (value) => value === wanted;
    case AttributeAction.Not:
      return (value) => value !== wanted;
    case AttributeAction.Start:
      return (value) => value !== null && wanted !== '' && value.startsWith(wanted);
    case AttributeAction.End:
      return (value) => value !== null && wanted !== '' && value.endsWith(wanted);
    case AttributeAction.Any:
      return (value) => value !== null && wanted !== '' && value.includes(wanted);
    case AttributeAction.Hyphen:
      return (value) => value !== null && (value === wanted || value.startsWith(`${wanted}-`));
    case AttributeAction.Element:
      return (value) => value !== null && hasWord(value, wanted);
    default:
      throw badSelector(action, 'this comparison is not supported');
  }
}

const SPACES = ' \t\n\r\f';

/** The wanted word among the value's words, without splitting it. */
function hasWord(value: string, wanted: string): boolean {
  if (wanted === '') return false;
  for (let at = value.indexOf(wanted); at >= 0; at = value.indexOf(wanted, at + wanted.length)) {
    const startsWord = at === 0 || SPACES.includes(value[at - 1]!);
    const after = at + wanted.length;
    if (startsWord && (after === value.length || SPACES.includes(value[after]!))) return true;
  }
  return false;
}

function compilePseudo({ name, data }: PseudoSelector): Test {
  if (Array.isArray(data)) return compileNested(name, data);
  if (typeof data === 'string') return compileNth(name, data);
  switch (name) {
    case 'first-child':
      return (tree, node) => position(tree, node, false, null) === 1;
    case 'last-child':
      return (tree, node) => position(tree, node, true, null) === 1;
    case 'only-child':
      return (tree, node) => position(tree, node, false, null) === 1 && position(tree, node, true, null) === 1;
    case 'first-of-type':
      return (tree, node) => position(tree, node, false, tree.tag[node]!) === 1;
    case 'last-of-type':
      return (tree, node) => position(tree, node, true, tree.tag[node]!) === 1;
    case 'empty':
      return (tree, node) => tree.end[node] === node + 1;
    case 'root':
      return isRoot;
    case 'scope':
      return (tree, node) => (tree.search.scope === 0 ? isRoot(tree, node) : node === tree.search.scope);
    default:
      throw badSelector(`:${name}`, 'this pseudo-class is not supported');
  }
}

function compileNested(name: string, groups: Selector[][]): Test {
  if (name === 'has') return compileHas(groups);
  const test = anyOf(groups);
  if (name === 'not') return (tree, node) => !test(tree, node);
  if (name === 'is' || name === 'where' || name === 'matches') return test;
  throw badSelector(`:${name}`, 'this pseudo-class is not supported');
}

/** `:has()` with a descendant or, written with `>`, a child. */
function compileHas(groups: Selector[][]): Test {
  const tests = groups.map((tokens) => {
    const isChild = tokens[0]?.type === SelectorType.Child;
    const rest = isChild || tokens[0]?.type === SelectorType.Descendant ? tokens.slice(1) : tokens;
    return { isChild, test: compileComplex(rest) };
  });
  return (tree, node) => {
    for (let i = node + 1, to = tree.end[node]!; i < to; i++) {
      tree.search.spend(1);
      if (tree.tag[i] === TEXT) continue;
      if (tests.some(({ isChild, test }) => (!isChild || tree.parent[i] === node) && test(tree, i))) return true;
    }
    return false;
  };
}

function compileNth(name: string, formula: string): Test {
  if (name === 'contains' || name === 'icontains') throw badSelector(`:${name}`, 'this pseudo-class is not supported');
  const [step, offset] = parseNth(formula);
  const fromEnd = name.startsWith('nth-last');
  const ofType = name.endsWith('of-type');
  if (!/^nth-(last-)?(child|of-type)$/.test(name)) throw badSelector(`:${name}`, 'this pseudo-class is not supported');
  return (tree, node) => {
    const n = position(tree, node, fromEnd, ofType ? tree.tag[node]! : null) - offset;
    return step === 0 ? n === 0 : n % step === 0 && n / step >= 0;
  };
}

function parseNth(formula: string): [step: number, offset: number] {
  const text = formula.replaceAll(' ', '').toLowerCase();
  if (text === 'odd') return [2, 1];
  if (text === 'even') return [2, 0];
  const parts = /^([+-]?\d{0,6})n([+-]\d{1,6})?$|^([+-]?\d{1,6})$/.exec(text);
  if (parts === null) throw badSelector(formula, 'is no position');
  if (parts[3] !== undefined) return [0, Number(parts[3])];
  const step = parts[1] === '' || parts[1] === '+' ? 1 : parts[1] === '-' ? -1 : Number(parts[1]);
  return [step, Number(parts[2] ?? 0)];
}

/** Place among the element siblings, 1 = first; `tag` counts only siblings of that tag. */
function position(tree: Tree, node: number, fromEnd: boolean, tag: number | null): number {
  const parent = tree.parent[node]!;
  const first = fromEnd ? tree.end[node]! : parent + 1;
  const to = fromEnd ? tree.end[parent]! : node;
  let place = 1;
  for (let child = first; child < to; child = tree.end[child]!) {
    tree.search.spend(1);
    if (tree.tag[child] !== TEXT && (tag === null || tree.tag[child] === tag)) place++;
  }
  return place;
}

/** Elements that match, document order. */
export function selectAll(tree: Tree, matcher: Matcher): number[] {
  const found: number[] = [];
  for (let node = 1; node < tree.count; node++) if (tree.tag[node] !== TEXT && matcher(tree, node)) found.push(node);
  return found;
}

const WRAPPED_PATTERN = /^\*(.+)\*$/s;
const LITERAL = /^[\w\s-]+$/;

/**
 * A selector of `excludeTags`: CSS, or `*pattern*`, an RE2 pattern that is looked for in the tag name and in the
 * attributes (`name="value"`), whatever the case. @throws TroupeError BAD_REQUEST
 */
export function compileExclude(text: string): Matcher {
  const pattern = WRAPPED_PATTERN.exec(text)?.[1];
  if (pattern === undefined || pattern.trim() === '') return compileSelector(text);
  const isFound = LITERAL.test(pattern) ? containing(pattern) : matching(pattern);
  return (tree, node) => {
    if (isFound(tree.name(node))) return true;
    for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
      if (isFound(`${tree.attrName(i)}="${tree.attrValue(i)}"`)) return true;
    }
    return false;
  };
}

function containing(pattern: string): (text: string) => boolean {
  const wanted = pattern.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

function matching(pattern: string): (text: string) => boolean {
  try {
    const regex = RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE);
    return (text) => regex.test(text);
  } catch (error) {
    throw badSelector(`*${pattern}*`, error instanceof Error ? error.message : 'cannot be read', error);
  }
}
