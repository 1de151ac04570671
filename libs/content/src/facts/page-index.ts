/** Where classes, ids and other attributes stand on a page: flat lists in document order, made when first asked for. */
import { A, TEXT, hashName } from '../tags.js';
import type { Tree } from '../tree.js';
import { WordSet } from './word-set.js';

/** All classes and ids that are ever asked for: one look at the page finds the elements of all of them. */
export interface IndexedWords {
  readonly classes: readonly string[];
  readonly ids: readonly string[];
}

type Places = Map<string, number[]>;

export class PageIndex {
  private classes: Places | null = null;
  private ids: Places | null = null;
  private readonly holders = new Map<string, number[]>();

  constructor(
    private readonly tree: Tree,
    private readonly words: IndexedWords,
  ) {}

  /** Inside the range, in document order; those that have the class are among them. */
  withClass(name: string, from: number, to: number): number[] {
    this.classes ??= placesOf(this.tree, A.class, this.words.classes);
    return inRange(this.classes.get(name)!, from, to);
  }

  /** As `withClass`. */
  withId(id: string, from: number, to: number): number[] {
    this.ids ??= placesOf(this.tree, A.id, this.words.ids);
    return inRange(this.ids.get(id)!, from, to);
  }

  /** Inside the range, in document order. @param name in lower case */
  withAttribute(name: string, from: number, to: number): number[] {
    let nodes = this.holders.get(name);
    if (nodes === undefined) {
      nodes = holdersOf(this.tree, hashName(name));
      this.holders.set(name, nodes);
    }
    return inRange(nodes, from, to);
  }
}

/** Elements with the attribute. */
function holdersOf(tree: Tree, hash: number): number[] {
  const { attrHash, count, from, tag, to } = tree;
  const nodes: number[] = [];
  if (!attrHash.includes(hash)) return nodes;
  for (let node = 1; node < count; node++) {
    if (tag[node] === TEXT) continue;
    let i = from[node]!;
    const end = to[node]!;
    while (i < end && attrHash[i] !== hash) i++;
    if (i < end) nodes.push(node);
  }
  return nodes;
}

/** Elements by the words that their attribute may hold: it holds them, or longer ones that begin so. */
function placesOf(tree: Tree, attribute: number, words: readonly string[]): Places {
  const { attrFrom, attrHash, attrTo, count, from, source, tag, to } = tree;
  const places: Places = new Map(words.map((word) => [word, []]));
  const set = new WordSet([...places.keys()]);
  const references = new References(source);
  let node = 1;
  const note = (word: string): void => addOnce(places.get(word)!, node);
  for (; node < count; node++) {
    if (tag[node] === TEXT) continue;
    let value = from[node]!;
    const end = to[node]!;
    while (value < end && attrHash[value] !== attribute) value++;
    if (value === end || attrTo[value]! - attrFrom[value]! < set.width) continue;
    // Decoded it may say anything.
    if (references.isIn(attrFrom[value]!, attrTo[value]!)) words.forEach(note);
    else set.eachIn(source, attrFrom[value]!, attrTo[value]!, note);
  }
  return places;
}

function addOnce(nodes: number[], node: number): void {
  if (nodes.at(-1) !== node) nodes.push(node);
}

/** Where character references may be: asked for one range after the other, the text is searched once. */
class References {
  private searchedFrom = Infinity;
  private next = -1;

  constructor(private readonly text: string) {}

  isIn(from: number, to: number): boolean {
    if (from < this.searchedFrom || from > this.next) {
      const found = this.text.indexOf('&', from);
      this.next = found < 0 ? Infinity : found;
      this.searchedFrom = from;
    }
    return this.next < to;
  }
}

function inRange(ascending: readonly number[], from: number, to: number): number[] {
  const found: number[] = [];
  for (let i = firstAtLeast(ascending, from); i < ascending.length && ascending[i]! < to; i++)
    found.push(ascending[i]!);
  return found;
}

/** Place of the first number in an ascending list that is not below `limit`. */
function firstAtLeast(ascending: readonly number[], limit: number): number {
  let from = 0;
  let to = ascending.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ascending[middle]! >= limit) to = middle;
    else from = middle + 1;
  }
  return from;
}
