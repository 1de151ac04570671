/** Where classes, ids and other attributes stand on a page: flat lists in document order, built when first asked for. */
import { A, FNV_OFFSET, FNV_PRIME, hashName, hashRange } from '../tags.js';
import type { Tree } from '../tree.js';

const SPACE = 32;
const AMPERSAND = 38;

/** Marks of elements, one after the other: several of one element for several classes. */
interface Marks {
  /** Ascending. */
  nodes: number[];
  /** Hash of the class or id, in lower case. */
  hashes: number[];
}

export class PageIndex {
  private classes: Marks | null = null;
  private ids: Marks | null = null;
  private readonly holders = new Map<number, number[]>();

  constructor(private readonly tree: Tree) {}

  /** Inside the range, in document order; those that have the class are among them. */
  withClass(name: string, from: number, to: number): number[] {
    this.classes ??= this.build(A.class, addWords);
    return marked(this.classes, hashName(name), from, to);
  }

  /** As `withClass`. */
  withId(id: string, from: number, to: number): number[] {
    this.ids ??= this.build(A.id, addWhole);
    return marked(this.ids, hashName(id), from, to);
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

  private build(attribute: number, enter: (source: string, range: Range, node: number, marks: Marks) => void): Marks {
    const { tree } = this;
    const marks: Marks = { nodes: [], hashes: [] };
    for (let node = 1; node < tree.count; node++) {
      const index = tree.isText(node) ? -1 : tree.attrIndex(node, attribute);
      if (index < 0) continue;
      const range = { from: tree.attrFrom[index]!, to: tree.attrTo[index]! };
      if (!hasReference(tree.source, range)) enter(tree.source, range, node, marks);
      else {
        const value = tree.attrValue(index);
        enter(value, { from: 0, to: value.length }, node, marks);
      }
    }
    return marks;
  }
}

interface Range {
  from: number;
  to: number;
}

function hasReference(source: string, { from, to }: Range): boolean {
  for (let i = from; i < to; i++) if (source.charCodeAt(i) === AMPERSAND) return true;
  return false;
}

function addWords(source: string, { from, to }: Range, node: number, { nodes, hashes }: Marks): void {
  let hash = FNV_OFFSET;
  let isEmpty = true;
  for (let i = from; i <= to; i++) {
    let c = i < to ? source.charCodeAt(i) : SPACE;
    if (c > SPACE) {
      if (c >= 65 && c <= 90) c |= 0x20;
      hash = Math.imul(hash ^ c, FNV_PRIME);
      isEmpty = false;
    } else if (!isEmpty) {
      nodes.push(node);
      hashes.push(hash);
      hash = FNV_OFFSET;
      isEmpty = true;
    }
  }
}

function addWhole(source: string, { from, to }: Range, node: number, { nodes, hashes }: Marks): void {
  nodes.push(node);
  hashes.push(hashRange(source, from, to));
}

function marked({ nodes, hashes }: Marks, hash: number, from: number, to: number): number[] {
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
