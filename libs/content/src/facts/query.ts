/** A selector as a search below an element: CSS, or XPath when it begins with `/` or `./`. */
import { TroupeError } from '@troupe/contracts';
import { compileScoped, type KeyedMatcher } from '../selector.js';
import { TEXT } from '../tags.js';
import type { Tree } from '../tree.js';
import type { IndexedWords, PageIndex } from './page-index.js';
import type { FactsSource, Query } from './node-search.js';
import { compileXPath } from './xpath.js';

type Key = NonNullable<KeyedMatcher['key']>;

const XPATH = /^\.?\//;
const MAX_KEPT = 1000;
const kept = new Map<string, Query>();

/** @throws TroupeError BAD_REQUEST when the text is no selector or uses something that is not supported */
export function compileQuery(text: string): Query {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const query = XPATH.test(text) ? compileXPath(text) : new CssQuery(compileScoped(text));
  if (kept.size >= MAX_KEPT) kept.clear();
  kept.set(text, query);
  return query;
}

/** What keeps a text from being a usable CSS selector or XPath; null: nothing. */
export function checkQuery(text: string): string | null {
  try {
    compileQuery(text);
    return null;
  } catch (error) {
    if (error instanceof TroupeError) return error.message;
    throw error;
  }
}

class CssQuery implements Query {
  readonly attribute = null;
  readonly words: IndexedWords;

  constructor(private readonly matchers: readonly KeyedMatcher[]) {
    const keys = matchers.flatMap(({ key }) => key ?? []);
    const named = (type: Key['type']): string[] => keys.filter((key) => key.type === type).map(({ name }) => name);
    this.words = { classes: named('class'), ids: named('id') };
  }

  find(source: FactsSource, scope: number, enough: number): number[] {
    source.tree.search.scope = scope;
    if (this.matchers.length === 1) return matching(source, scope, this.matchers[0]!, enough);
    const nodes = new Set(this.matchers.flatMap((matcher) => matching(source, scope, matcher, enough)));
    return [...nodes].sort((a, b) => a - b);
  }
}

function matching(source: FactsSource, scope: number, matcher: KeyedMatcher, enough: number): number[] {
  const { tree, index } = source;
  const { key } = matcher;
  if (key === null) return amongAll(tree, scope, matcher, enough);
  if (key.type === 'tag') return amongTag(tree, scope, matcher, enough);
  return among(tree, candidates(index, key, scope + 1, tree.end[scope]!), matcher, enough);
}

function candidates(index: PageIndex, { type, name }: Key, from: number, to: number): number[] {
  if (type === 'class') return index.withClass(name, from, to);
  return type === 'id' ? index.withId(name, from, to) : index.withAttribute(name, from, to);
}

function amongAll(tree: Tree, scope: number, { test }: KeyedMatcher, enough: number): number[] {
  const found: number[] = [];
  for (let node = scope + 1, to = tree.end[scope]!; node < to && found.length < enough; node++) {
    tree.search.spend(1);
    if (tree.tag[node] !== TEXT && test(tree, node)) found.push(node);
  }
  return found;
}

function amongTag(tree: Tree, scope: number, { key, test }: KeyedMatcher, enough: number): number[] {
  const tag = tree.tagNumber(key!.name);
  const found: number[] = [];
  const tags = tree.tag;
  const to = tree.end[scope]!;
  tree.search.spend((to - scope) >> 3);
  for (let node = scope + 1; node < to && found.length < enough; node++) {
    if (tags[node] !== tag) continue;
    tree.search.spend(1);
    if (test(tree, node)) found.push(node);
  }
  return found;
}

function among(tree: Tree, nodes: readonly number[], { test }: KeyedMatcher, enough: number): number[] {
  tree.search.spend(nodes.length);
  const found: number[] = [];
  for (let i = 0; i < nodes.length && found.length < enough; i++) if (test(tree, nodes[i]!)) found.push(nodes[i]!);
  return found;
}
