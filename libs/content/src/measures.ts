import { F, T, TEXT, flagsOf } from './tags.js';
import { scanNode } from './text-scan.js';
import type { Tree } from './tree.js';

/** Text in characters that are no white space, per subtree, of what a mask shows. */
export interface Measures {
  /** Of each text node by itself, whatever the mask. */
  readonly ownText: Int32Array;
  /** What `scanText` found in each text node between its white space, 0 for other nodes and for what is never shown. */
  readonly ownFound: Uint8Array;
  readonly text: Int32Array;
  /** Text inside links. */
  readonly linkText: Int32Array;
  readonly links: Int32Array;
}

/** What a text node is by itself. */
export type OwnText = Pick<Measures, 'ownText' | 'ownFound'>;

/** One pass forward to skip what is dropped, one backward to add children to parents. */
export function measure(tree: Tree, mask: Uint8Array, known?: OwnText): Measures {
  const { count, tag, end, parent } = tree;
  const { ownText, ownFound } = known ?? scanTexts(tree);
  const text = new Int32Array(count);
  const linkText = new Int32Array(count);
  const links = new Int32Array(count);
  for (let node = 0; node < count;) {
    if (mask[node] === 0) {
      node = end[node]!;
      continue;
    }
    if (tag[node] === TEXT && mask[node] === 1) text[node] = ownText[node]!;
    if (tag[node] === T.a) links[node] = 1;
    node++;
  }
  for (let node = count - 1; node > 0; node--) {
    const up = parent[node]!;
    if (tag[node] === T.a) linkText[node] = text[node]!;
    text[up]! += text[node]!;
    linkText[up]! += linkText[node]!;
    links[up]! += links[node]!;
  }
  return { ownText, ownFound, text, linkText, links };
}

function scanTexts(tree: Tree): OwnText {
  const { count, tag, source, from, to, parent } = tree;
  const ownText = new Int32Array(count);
  const ownFound = new Uint8Array(count);
  for (let node = 0; node < count; node++) {
    if (tag[node] !== TEXT || flagsOf(tag[parent[node]!]!) & F.invisible) continue;
    ownFound[node] = scanNode(source, from[node]!, to[node]!, node, ownText);
  }
  return { ownText, ownFound };
}
