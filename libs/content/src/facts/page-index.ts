/** Where classes, ids and other attributes stand on a page: flat lists in document order, built when first asked for. */
import { A, FNV_OFFSET, FNV_PRIME, TEXT } from '../tags.js';
import type { Tree } from '../tree.js';

const SPACE = 32;

/** Words of an attribute's values, one after the other: several of one element for several classes. */
interface Words {
  /** Ascending. */
  nodes: number[];
  hashes: number[];
}

export class PageIndex {
  private classes: Words | null = null;
  private ids: Words | null = null;
  private readonly holders = new Map<number, number[]>();

  constructor(private readonly tree: Tree) {}

  /** Inside the range, in document order; those that have the class are among them. */
  withClass(name: string, from: number, to: number): number[] {
    this.classes ??= wordsOf(this.tree, A.class);
    return holding(this.classes, hashOf(name), from, to);
  }

  /** As `withClass`. */
  withId(id: string, from: number, to: number): number[] {
    this.ids ??= wordsOf(this.tree, A.id);
    return holding(this.ids, hashOf(id), from, to);
  }

  /** Inside the range, in document order. @param hash of the attribute's name */
  withAttribute(hash: number, from: number, to: number): number[] {
    const nodes = this.holdersOf(hash);
    const found: number[] = [];
    for (let i = firstAtLeast(nodes, from); i < nodes.length && nodes[i]! < to; i++) found.push(nodes[i]!);
    return found;
  }

  private holdersOf(hash: number): number[] {
    const known = this.holders.get(hash);
    if (known !== undefined) return known;
    const { tree } = this;
    const nodes: number[] = [];
    if (tree.attrHash.includes(hash)) {
      for (let node = 1; node < tree.count; node++)
        if (!tree.isText(node) && tree.attrIndex(node, hash) >= 0) nodes.push(node);
    }
    this.holders.set(hash, nodes);
    return nodes;
  }
}

function wordsOf(tree: Tree, attribute: number): Words {
  const { tag, count, source, attrFrom, attrTo } = tree;
  const words: Words = { nodes: [], hashes: [] };
  for (let node = 1; node < count; node++) {
    if (tag[node] === TEXT) continue;
    const index = tree.attrIndex(node, attribute);
    if (index < 0 || addWords(words, node, source, attrFrom[index]!, attrTo[index]!)) continue;
    const value = tree.attrValue(index);
    addWords(words, node, value.replaceAll('&', AMPERSAND_STAND_IN), 0, value.length);
  }
  return words;
}

const AMPERSAND = 38;
/** Stands for it in decoded values and in names that are looked for. */
const AMPERSAND_STAND_IN = '\uffff';

/** False, and nothing added, at a character reference: the value must be decoded first. */
function addWords({ nodes, hashes }: Words, node: number, text: string, from: number, to: number): boolean {
  const before = nodes.length;
  let hash = FNV_OFFSET;
  let length = 0;
  for (let i = from; i < to; i++) {
    const c = text.charCodeAt(i);
    if (c > SPACE) {
      if (c === AMPERSAND) {
        nodes.length = hashes.length = before;
        return false;
      }
      hash = Math.imul(hash ^ c, FNV_PRIME);
      length++;
    } else if (length > 0) {
      nodes.push(node);
      hashes.push(hash);
      hash = FNV_OFFSET;
      length = 0;
    }
  }
  if (length > 0) {
    nodes.push(node);
    hashes.push(hash);
  }
  return true;
}

/** As `addWords` hashes the first word of it. */
function hashOf(name: string): number {
  const words: Words = { nodes: [], hashes: [] };
  addWords(words, 0, name.replaceAll('&', AMPERSAND_STAND_IN), 0, name.length);
  return words.hashes[0] ?? FNV_OFFSET;
}

/** Those of a range that have the word, each once. */
function holding({ nodes, hashes }: Words, hash: number, from: number, to: number): number[] {
  const found: number[] = [];
  for (let i = firstAtLeast(nodes, from); i < nodes.length && nodes[i]! < to; i++)
    if (hashes[i] === hash && found.at(-1) !== nodes[i]) found.push(nodes[i]!);
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
