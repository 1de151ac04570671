import { F, T, TEXT, flagsOf } from './tags.js';
import { scanNodes, type OwnTexts } from './text-scan.js';
import type { Tree } from './tree.js';

/** Text in characters that are no white space, per subtree, of what a mask shows; and the text nodes, whatever the mask. */
export interface Measures extends OwnTexts {
  readonly text: Int32Array;
  /** Text inside links. */
  readonly linkText: Int32Array;
  readonly links: Int32Array;
}

/** One pass forward to skip what is dropped, one backward to add children to parents. */
export function measure(tree: Tree, mask: Uint8Array): Measures {
  const { count, tag, end, parent } = tree;
  const own = scanTexts(tree);
  const text = new Int32Array(count);
  const linkText = new Int32Array(count);
  const links = new Int32Array(count);
  for (let node = 0; node < count;) {
    if (mask[node] === 0) {
      node = end[node]!;
      continue;
    }
    if (tag[node] === TEXT && mask[node] === 1) text[node] = own.ownText[node]!;
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
  return { ...own, text, linkText, links };
}

function scanTexts(tree: Tree): OwnTexts {
  const { count, tag, source, parent } = tree;
  const own: OwnTexts = {
    ownText: new Int32Array(count),
    ownFound: new Uint8Array(count),
    ownWords: new Int32Array(count),
    ownSentences: new Int32Array(count),
    ownSigns: new Uint8Array(count),
  };
  const texts = new Int32Array(count);
  let found = 0;
  for (let node = 0; node < count; node++)
    if (tag[node] === TEXT && !(flagsOf(tag[parent[node]!]!) & F.invisible)) texts[found++] = node;
  scanNodes(source, tree, texts.subarray(0, found), own);
  return own;
}
