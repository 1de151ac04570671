/** A search for nodes of a page, whatever language it is written in. */
import type { SelectorKey, Tree } from '@troupe/html';
import type { PageIndex } from './page-index.js';

export interface FactsSource {
  readonly tree: Tree;
  /** A query finds the same without its keys in it, only more slowly. */
  readonly index: PageIndex;
}

export interface Query {
  /** Name of the attribute that is meant of what is found; null: the element (or text) itself. */
  readonly attribute: string | null;
  /** Keys that it looks for in the index. */
  readonly keys: readonly SelectorKey[];
  /**
   * Nodes below `scope` in document order; at least the first `enough` of them, if there are so many.
   * @throws SearchExhausted
   */
  find(source: FactsSource, scope: number, enough: number): number[];
}
