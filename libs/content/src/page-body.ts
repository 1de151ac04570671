/**
 * What a page says itself about where its body is. Inside a body blocks stay unless they are furniture: the estimates of
 * blocks decide where structure does not.
 */
import { CONTEXT, isInside, type Blocks } from './blocks.js';
import { A, F, T, flagsOf, hashName } from './tags.js';
import type { Tree } from './tree.js';
import { WordKinds } from './word-kinds.js';
import { kindBits } from './words.js';

/** Words that generators of documentation put into classes and into `meta name=generator`, and few others do. */
const DOCUMENTATION = new WordKinds(
  [
    [1, 'titlepage navheader navfooter refnamediv refsynopsisdiv variablelist informaltable docbook publican'],
    [1, 'documentwrapper bodywrapper sphinxsidebar docutils toctree refentry'],
    [1, 'headertitle memproto memitem doxygen'],
    [1, 'sectionbody admonitionblock listingblock asciidoc asciidoctor makeinfo texi2any texinfo'],
    [1, 'javadoc docblock rustdoc rdoc typedoc mkdocs docusaurus vitepress typeset gitbook groff'],
  ],
  200,
);

/** What stands in a body and is none of it, however many words it has. */
const FURNITURE = kindBits('nav', 'breadcrumb', 'share', 'ad', 'modal', 'form', 'filter', 'paging', 'related', 'promo');
/** What may be part of the body, so that it is furniture only when it is mostly links. */
const LINKED_FURNITURE = kindBits('header', 'footer', 'sidebar', 'action', 'related', 'paging', 'form', 'promo');
const DOCUMENTATION_FURNITURE = kindBits('nav', 'breadcrumb', 'share', 'ad', 'modal');
const CHROME_CONTEXT = CONTEXT.nav | CONTEXT.dialog | CONTEXT.hidden;
const MOSTLY_LINKS = 0.5;

/** A body that a page names holds at least this share of what was kept; another one is the deepest element that does. */
const NAMED_SHARE = Number(process.env.NAMED ?? 0.5);
const HOLDING_SHARE = Number(process.env.HOLDING ?? 0.95);

/** Blocks less likely than this are left out of the body of a page that is no documentation. */
const LEAST_NAMED = Number(process.env.LN ?? 0.1);
const LEAST_HELD = Number(process.env.LH ?? 0.2);
const LEAST_PLAIN = Number(process.env.LP ?? 0.03);
const PL = Number(process.env.PL ?? 0);
const TELLING = [
  -1,
  ~kindBits('content', 'article', 'figure', 'code', 'hero', 'toc', 'list', 'tab', 'product', 'spec', 'post', 'review'),
];

export interface JudgedBody {
  tree: Tree;
  blocks: Blocks;
  /** Per node bits of `KINDS`, and the nodes that hold blocks. */
  kinds: Int32Array;
  elements: Int32Array;
  estimates: Float32Array;
  /** Per block 1 or 0; changed in place. */
  kept: Uint8Array;
}

/** Keeps what stands in the body of the page. */
export function keepBody(judged: JudgedBody): void {
  const { tree, blocks, kinds, elements, estimates, kept } = judged;
  const isDocumentation = isOfDocumentation(judged);
  const { root, isNamed } = findBody(judged, isDocumentation);
  const from = blocks.before[root]!;
  const to = blocks.before[tree.end[root]!]!;
  const first = isDocumentation || isNamed ? from : kept.indexOf(1);
  const last = isDocumentation || isNamed ? to - 1 : kept.lastIndexOf(1);
  const furniture = findFurniture(judged, root, isDocumentation);
  const isPlain = !elements.some(
    (node) => node > root && node < tree.end[root]! && (kinds[node]! & TELLING[PL]!) !== 0,
  );
  const least = isDocumentation
    ? Number(process.env.LD ?? 0)
    : isPlain
      ? LEAST_PLAIN
      : isNamed
        ? LEAST_NAMED
        : LEAST_HELD;
  for (let block = Math.max(from, first); block < to && block <= last; block++) {
    if (estimates[block]! >= least && furniture[tree.parent[blocks.first[block]!]!] === 0) kept[block] = 1;
  }
}

/** The only `main`, or the only `article`; else the deepest element that holds nearly all that was kept. */
function findBody(
  { tree, blocks, elements, kept }: JudgedBody,
  isDocumentation: boolean,
): { root: number; isNamed: boolean } {
  const keptChars = new Int32Array(blocks.count + 1);
  for (let block = 0; block < blocks.count; block++) {
    keptChars[block + 1] = keptChars[block]! + (kept[block] === 1 ? blocks.chars[block]! : 0);
  }
  const all = keptChars[blocks.count]!;
  const keptIn = (node: number): number =>
    keptChars[blocks.before[tree.end[node]!]!]! - keptChars[blocks.before[node]!]!;
  for (const bit of [CONTEXT.article, CONTEXT.main]) {
    const roots = elements.filter(
      (node) => (blocks.context[node]! & bit) !== 0 && (blocks.context[tree.parent[node]!]! & bit) === 0,
    );
    if (roots.length === 1 && keptIn(roots[0]!) >= all * NAMED_SHARE) return { root: roots[0]!, isNamed: true };
  }
  let root = 0;
  if (isDocumentation) return { root: elements.find((node) => tree.tag[node] === T.body) ?? 0, isNamed: false };
  for (const node of elements) if (node < tree.end[root]! && keptIn(node) >= all * HOLDING_SHARE) root = node;
  return { root, isNamed: false };
}

function isOfDocumentation({ tree, elements }: JudgedBody): boolean {
  const says = (node: number, attribute: number): boolean => {
    const index = tree.attrIndex(node, attribute);
    return index >= 0 && DOCUMENTATION.in(tree.source, tree.attrFrom[index]!, tree.attrTo[index]!) !== 0;
  };
  for (let node = 1; node < tree.count && tree.tag[node] !== T.body; node++) {
    if (tree.tag[node] === T.meta && says(node, A.content) && isGenerator(tree, node)) return true;
  }
  return elements.some((node) => (flagsOf(tree.tag[node]!) & F.block) !== 0 && says(node, A.class));
}

function isGenerator(tree: Tree, meta: number): boolean {
  const index = tree.attrIndex(meta, A.name);
  return index >= 0 && tree.attrValue(index).toLowerCase() === 'generator';
}

/** Per node inside of the root: 1 for furniture and all in it. */
function findFurniture(
  { tree, blocks, kinds, elements }: JudgedBody,
  root: number,
  isDocumentation: boolean,
): Uint8Array {
  const furniture = new Uint8Array(tree.count);
  const { chars, linkChars } = blocks;
  const bits = isDocumentation ? DOCUMENTATION_FURNITURE : FURNITURE;
  const around = blocks.context[root]!;
  if (isDocumentation)
    for (const node of elements) if (isStep(tree, node)) furniture[stepsAround(tree, blocks, node)] = 1;
  for (const node of elements) {
    if (node <= root || node >= tree.end[root]!) continue;
    if (
      furniture[node] === 1 ||
      furniture[tree.parent[node]!] === 1 ||
      kinds[node]! & bits ||
      blocks.context[node]! & ~around & CHROME_CONTEXT
    ) {
      furniture[node] = 1;
      continue;
    }
    if ((kinds[node]! & LINKED_FURNITURE) === 0) continue;
    let held = 0;
    let linked = 0;
    for (let block = blocks.before[node]!; block < blocks.before[tree.end[node]!]!; block++) {
      held += chars[block]!;
      linked += linkChars[block]!;
    }
    if (linked > held * MOSTLY_LINKS) furniture[node] = 1;
  }
  return furniture;
}

const ACCESSKEY = hashName('accesskey');
const STEP_KEYS = new Set(['p', 'n', 'u', 'h']);
const STEPS = new Set(['prev', 'previous', 'next', 'up', 'contents']);
const MAX_STEPS_CHARS = 600;

/** A link to the page before, after or above. */
function isStep(tree: Tree, node: number): boolean {
  if (tree.tag[node] !== T.a) return false;
  const key = tree.attrIndex(node, ACCESSKEY);
  if (key >= 0 && STEP_KEYS.has(tree.attrValue(key).toLowerCase())) return true;
  const rel = tree.attrIndex(node, A.rel);
  return rel >= 0 && STEPS.has(tree.attrValue(rel).toLowerCase());
}

/** The widest short element around it that holds no heading. */
function stepsAround(tree: Tree, blocks: Blocks, step: number): number {
  let widest = step;
  for (let up = tree.parent[step]!; up > 0 && tree.tag[up] !== T.body; up = tree.parent[up]!) {
    let chars = 0;
    for (let block = blocks.before[up]!; block < blocks.before[tree.end[up]!]!; block++) {
      chars += blocks.chars[block]!;
      if (chars > MAX_STEPS_CHARS || isInside(blocks, block, CONTEXT.heading)) return widest;
    }
    widest = up;
  }
  return widest;
}
