/** Elements of a page by class and by id, built when first asked for. */
import { A, FNV_OFFSET, FNV_PRIME, hashName } from '../tags.js';
import type { Tree } from '../tree.js';

const SPACE = 32;
const NONE: readonly number[] = [];

type ByHash = Map<number, number[]>;

export class PageIndex {
  private classes: ByHash | null = null;
  private ids: ByHash | null = null;

  constructor(private readonly tree: Tree) {}

  /** In document order; those that have it are among them. */
  withClass(name: string): readonly number[] {
    this.classes ??= this.build(A.class, addWords);
    return this.classes.get(hashName(name)) ?? NONE;
  }

  /** As `withClass`. */
  withId(id: string): readonly number[] {
    this.ids ??= this.build(A.id, (text, node, index) => add(index, hashName(text), node));
    return this.ids.get(hashName(id)) ?? NONE;
  }

  private build(attribute: number, enter: (text: string, node: number, index: ByHash) => void): ByHash {
    const { tree } = this;
    const index: ByHash = new Map();
    for (let node = 1; node < tree.count; node++) {
      if (tree.isText(node)) continue;
      const value = tree.attr(node, attribute);
      if (value !== null) enter(value, node, index);
    }
    return index;
  }
}

/** Words by the hash of their letters in lower case, without cutting them out. */
function addWords(text: string, node: number, index: ByHash): void {
  let hash = FNV_OFFSET;
  let isEmpty = true;
  for (let i = 0; i <= text.length; i++) {
    let c = i < text.length ? text.charCodeAt(i) : SPACE;
    if (c > SPACE) {
      if (c >= 65 && c <= 90) c |= 0x20;
      hash = Math.imul(hash ^ c, FNV_PRIME);
      isEmpty = false;
    } else if (!isEmpty) {
      add(index, hash, node);
      hash = FNV_OFFSET;
      isEmpty = true;
    }
  }
}

function add(index: ByHash, hash: number, node: number): void {
  const nodes = index.get(hash);
  if (nodes === undefined) index.set(hash, [node]);
  else if (nodes.at(-1) !== node) nodes.push(node);
}
