import { F, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';

/** Text in characters that are no white space, per subtree, of what a mask shows. */
export interface Measures {
  /** Of each text node by itself, whatever the mask. */
  readonly ownText: Int32Array;
  readonly text: Int32Array;
  /** Text inside links. */
  readonly linkText: Int32Array;
  readonly links: Int32Array;
}

/** One pass forward to skip what is dropped, one backward to add children to parents. */
export function measure(tree: Tree, mask: Uint8Array, known?: Int32Array): Measures {
  const { count, tag, end, parent } = tree;
  const ownText = known ?? ownTextLengths(tree);
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
  return { ownText, text, linkText, links };
}

function ownTextLengths(tree: Tree): Int32Array {
  const { count, tag, source, from, to, parent } = tree;
  const lengths = new Int32Array(count);
  for (let node = 0; node < count; node++) {
    if (tag[node] !== TEXT || flagsOf(tag[parent[node]!]!) & F.invisible) continue;
    let length = 0;
    // 1 above code 32, else 0: without a branch it takes half the time.
    for (let i = from[node]!, last = to[node]!; i < last; i++) length += (32 - source.charCodeAt(i)) >>> 31;
    lengths[node] = length;
  }
  return lengths;
}
