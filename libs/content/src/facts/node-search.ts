/** A search for nodes of a page, whatever language it is written in. */
import type { Tree } from '../tree.js';
import type { IndexedWords, PageIndex } from './page-index.js';

export interface FactsSource {
  readonly tree: Tree;
  /** Knows the words of all queries that are asked of it. */
  readonly index: PageIndex;
}

export interface Query {
  /** Name of the attribute that is meant of what is found; null: the element (or text) itself. */
  readonly attribute: string | null;
  /** What it looks for in the index. */
  readonly words: IndexedWords;
  /**
   * Nodes below `scope` in document order; at least the first `enough` of them, if there are so many.
   * @throws SearchExhausted
   */
  find(source: FactsSource, scope: number, enough: number): number[];
}
