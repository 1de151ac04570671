/**
 * Nodes of a page while it is parsed.
 *
 * As long as every node lands behind the one before, their order of creation is document order and nothing else is kept.
 * The first node that belongs elsewhere (foster parenting, misnested formatting) turns sibling links on; `finish` then
 * numbers the nodes anew in one walk.
 */
import { DOCUMENT } from './tags.js';
import { Tree, type TreeArrays } from './tree.js';

/** Deeper elements become siblings, as in browsers; keeps recursion over the tree and searches for open elements bounded. */
export const MAX_DEPTH = 512;

function grow<A extends Uint16Array | Int32Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2);
  larger.set(array);
  return larger;
}

/** In one piece of memory, which costs half of ten. */
function arraysFor(nodes: number, attrs: number): TreeArrays {
  const { BYTES_PER_ELEMENT } = Int32Array;
  const memory = new ArrayBuffer((4 * nodes + 5 * attrs) * BYTES_PER_ELEMENT + nodes * Uint16Array.BYTES_PER_ELEMENT);
  let used = 0;
  const next = (length: number): Int32Array => {
    const array = new Int32Array(memory, used, length);
    used += array.byteLength;
    return array;
  };
  return {
    parent: next(nodes),
    end: next(nodes),
    from: next(nodes),
    to: next(nodes),
    attrHash: next(attrs),
    attrNameFrom: next(attrs),
    attrNameTo: next(attrs),
    attrFrom: next(attrs),
    attrTo: next(attrs),
    tag: new Uint16Array(memory, used, nodes),
  };
}

/** Neighbours of each node; 0, the document, stands for none. */
interface SiblingLinks {
  first: Int32Array;
  last: Int32Array;
  next: Int32Array;
  previous: Int32Array;
}

export class NodeStore {
  readonly a: TreeArrays;
  count = 0;
  attrs = 0;
  private links: SiblingLinks | null = null;

  constructor(readonly html: string) {
    this.a = arraysFor((html.length >> 5) + 64, (html.length >> 6) + 32);
    this.add(DOCUMENT, -1, 0, 0);
  }

  /** A new last child. */
  add(tag: number, parent: number, from: number, to: number): number {
    const node = this.create(tag, parent, from, to);
    if (this.links !== null && parent >= 0) this.linkBefore(this.links, node, 0);
    return node;
  }

  /** A new sibling in front of `place`. */
  addBefore(place: number, tag: number, from: number, to: number): number {
    const links = this.linked();
    const node = this.create(tag, this.a.parent[place]!, from, to);
    this.linkBefore(links, node, place);
    return node;
  }

  /** A new element without a place, with tag and attributes of another. */
  clone(node: number): number {
    const { tag, from, to } = this.a;
    return this.create(tag[node]!, -1, from[node]!, to[node]!);
  }

  /** Takes `node` from where it is, if anywhere, and makes it the last child of `parent`, or the one in front of `place`. */
  move(node: number, parent: number, place = 0): void {
    const links = this.linked();
    if (this.a.parent[node]! >= 0) this.unlink(links, node);
    this.a.parent[node] = parent;
    this.linkBefore(links, node, place);
  }

  moveChildren(from: number, to: number): void {
    const { first } = this.linked();
    for (let child = first[from]!; child !== 0; child = first[from]!) this.move(child, to);
  }

  /** @param hash of the name, see `Tree.attrHash` */
  addAttr(hash: number, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    const { a } = this;
    const index = this.attrs++;
    if (index === a.attrHash.length) {
      a.attrHash = grow(a.attrHash);
      a.attrNameFrom = grow(a.attrNameFrom);
      a.attrNameTo = grow(a.attrNameTo);
      a.attrFrom = grow(a.attrFrom);
      a.attrTo = grow(a.attrTo);
    }
    a.attrHash[index] = hash;
    a.attrNameFrom[index] = nameFrom;
    a.attrNameTo[index] = nameTo;
    a.attrFrom[index] = valueFrom;
    a.attrTo[index] = valueTo;
  }

  /** From here on nodes may land inside elements that are no longer open. */
  leaveDocumentOrder(): void {
    this.linked();
  }

  finish(customTags: readonly string[]): Tree {
    const arrays = this.links === null ? this.a : this.renumber(this.links);
    return new Tree(this.html, this.count, this.attrs, customTags, arrays);
  }

  private create(tag: number, parent: number, from: number, to: number): number {
    const { a } = this;
    const node = this.count++;
    if (node === a.tag.length) this.growNodes();
    a.tag[node] = tag;
    a.parent[node] = parent;
    a.end[node] = node + 1;
    a.from[node] = from;
    a.to[node] = to;
    return node;
  }

  private growNodes(): void {
    const { a, links } = this;
    a.tag = grow(a.tag);
    a.parent = grow(a.parent);
    a.end = grow(a.end);
    a.from = grow(a.from);
    a.to = grow(a.to);
    if (links === null) return;
    links.first = grow(links.first);
    links.last = grow(links.last);
    links.next = grow(links.next);
    links.previous = grow(links.previous);
  }

  private linked(): SiblingLinks {
    if (this.links !== null) return this.links;
    const size = this.a.tag.length;
    const links = {
      first: new Int32Array(size),
      last: new Int32Array(size),
      next: new Int32Array(size),
      previous: new Int32Array(size),
    };
    for (let node = 1; node < this.count; node++) this.linkBefore(links, node, 0);
    return (this.links = links);
  }

  private linkBefore(links: SiblingLinks, node: number, place: number): void {
    const { first, last, next, previous } = links;
    const parent = this.a.parent[node]!;
    const before = place === 0 ? last[parent]! : previous[place]!;
    previous[node] = before;
    next[node] = place;
    if (before === 0) first[parent] = node;
    else next[before] = node;
    if (place === 0) last[parent] = node;
    else previous[place] = node;
  }

  private unlink({ first, last, next, previous }: SiblingLinks, node: number): void {
    const parent = this.a.parent[node]!;
    const before = previous[node]!;
    const after = next[node]!;
    if (before === 0) first[parent] = after;
    else next[before] = after;
    if (after === 0) last[parent] = before;
    else previous[after] = before;
  }

  /** Document order in one walk; what moves have put deeper than `MAX_DEPTH` becomes siblings. */
  private renumber({ first, next }: SiblingLinks): TreeArrays {
    const { a: old, count } = this;
    const a = {
      ...old,
      tag: new Uint16Array(count),
      parent: new Int32Array(count),
      end: new Int32Array(count),
      from: new Int32Array(count),
      to: new Int32Array(count),
    };
    const path = new Int32Array(MAX_DEPTH);
    let node = 0;
    let depth = 0;
    for (let i = 0; i < count; i++) {
      a.tag[i] = old.tag[node]!;
      a.parent[i] = depth === 0 ? -1 : path[Math.min(depth, MAX_DEPTH) - 1]!;
      a.end[i] = i + 1;
      a.from[i] = old.from[node]!;
      a.to[i] = old.to[node]!;
      if (depth < MAX_DEPTH) path[depth] = i;
      if (first[node] !== 0) {
        node = first[node]!;
        depth++;
        continue;
      }
      while (node !== 0 && next[node] === 0) {
        node = old.parent[node]!;
        depth--;
        if (depth < MAX_DEPTH) a.end[path[depth]!] = i + 1;
      }
      node = next[node]!;
    }
    return a;
  }
}
