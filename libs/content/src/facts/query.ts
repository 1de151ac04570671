/** A selector as a search below an element: CSS, or XPath when it begins with `/` or `./`. */
import { TroupeError } from '@troupe/contracts';
import { compileScoped, type KeyedMatcher, type SelectorKey, TEXT } from '@troupe/html';
import type { FactsSource, Query } from './node-search.js';
import { firstAtLeast } from './page-index.js';
import { compileXPath } from './xpath.js';

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

/** Reason why a text is no usable CSS selector or XPath; null: it is one. */
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
  readonly keys: readonly SelectorKey[];

  constructor(private readonly matchers: readonly KeyedMatcher[]) {
    this.keys = matchers.flatMap(({ key, before }) => [key, before]).filter((key) => key !== null);
  }

  find(source: FactsSource, scope: number, enough: number): number[] {
    source.tree.search.scope = scope;
    let found: number[] = [];
    for (const matcher of this.matchers) {
      const more = matching(source, scope, matcher, enough);
      if (more.length > 0) found = found.length === 0 ? more : inOrder([...found, ...more]);
    }
    return found;
  }
}

/** In document order, each node once. */
function inOrder(nodes: number[]): number[] {
  return [...new Set(nodes)].sort((a, b) => a - b);
}

function matching(source: FactsSource, scope: number, matcher: KeyedMatcher, enough: number): number[] {
  const { tree, index } = source;
  const { key, test } = matcher;
  const from = Math.max(scope + 1, firstPlace(source, matcher));
  const to = tree.end[scope]!;
  const places = key === null ? null : index.at(key);
  const found: number[] = [];
  if (places === null) {
    for (let node = from; node < to && found.length < enough; node++) {
      tree.search.spend(1);
      if (tree.tag[node] !== TEXT && test(tree, node)) found.push(node);
    }
    return found;
  }
  for (let i = firstAtLeast(places, from); i < places.length && found.length < enough; i++) {
    const node = places[i]!;
    if (node >= to) break;
    tree.search.spend(1);
    if (test(tree, node)) found.push(node);
  }
  return found;
}

/** Where elements that match may begin; Infinity: there are none. */
function firstPlace({ index }: FactsSource, { before }: KeyedMatcher): number {
  const places = before === null ? null : index.at(before);
  return places === null ? 0 : (places[0] ?? Infinity);
}
