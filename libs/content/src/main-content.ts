/**
 * Main content of a page: chrome out, then the block where the running text is, then link lists out.
 *
 * Everything works on text lengths per subtree. Each step has a ceiling on how much of the page it may take away, so a
 * misleading class name cannot empty a page.
 */
import { measure, type Measures } from './measures.js';
import { A, F, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';
import { CHROME, CONTENT, kindsOfElement } from './words.js';

/** Chrome that holds a larger part of the text than this is not chrome. */
const MAX_CHROME_SHARE = 0.35;
const MIN_PARAGRAPH_CHARS = 25;
/** The best block is taken for the content when it holds this part of all running text. */
const MIN_ARTICLE_SHARE = 0.6;
const MIN_MAIN_SHARE = 0.3;
const MAX_LINK_DENSITY = 0.7;
const HIDDEN_STYLE = /(?:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden)/i;

/** Mask of the main content, null when nothing would be left. */
export function selectMainContent(tree: Tree, mask: Uint8Array, measures: Measures): Uint8Array | null {
  const pruned = dropChrome(tree, mask, measures);
  const rest = measure(tree, pruned, measures);
  const scope = findScope(tree, pruned, rest);
  const article = findArticle(tree, pruned, rest, scope);
  const chosen = keepOnly(tree, pruned, article ?? scope);
  if (rest.text[scope]! * 0.5 > rest.linkText[scope]!) dropLinkLists(tree, chosen, rest, article ?? scope);
  return hasText(tree, chosen) ? chosen : null;
}

function hasText(tree: Tree, mask: Uint8Array): boolean {
  for (let node = 0; node < tree.count;) {
    if (mask[node] === 0) node = tree.end[node]!;
    else if (tree.tag[node] === TEXT && mask[node] === 1 && /\S/.test(tree.text(node))) return true;
    else node++;
  }
  return false;
}

// ---- chrome

function dropChrome(tree: Tree, mask: Uint8Array, measures: Measures): Uint8Array {
  const pruned = mask.slice();
  const total = measures.text[0]!;
  const holdsTitle = ancestorsOfTitles(tree);
  for (let node = 1; node < tree.count;) {
    if (pruned[node] === 0) {
      node = tree.end[node]!;
      continue;
    }
    const tag = tree.tag[node]!;
    if (
      tag !== TEXT &&
      isChrome(tree, node, tag, holdsTitle[node] === 1) &&
      measures.text[node]! <= total * MAX_CHROME_SHARE
    ) {
      pruned[node] = 0;
      node = tree.end[node]!;
      continue;
    }
    node++;
  }
  return pruned;
}

function ancestorsOfTitles(tree: Tree): Uint8Array {
  const holds = new Uint8Array(tree.count);
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] !== T.h1) continue;
    for (let up = node; up >= 0 && holds[up] === 0; up = tree.parent[up]!) holds[up] = 1;
  }
  return holds;
}

function isChrome(tree: Tree, node: number, tag: number, holdsTitle: boolean): boolean {
  if (tag === T.html || tag === T.body || tag === T.main || tag === T.article) return false;
  if (tag === T.nav || tag === T.dialog || tag === T.select || tag === T.button || tag === T.svg) return true;
  if (tag === T.footer || tag === T.aside) return !holdsTitle && !isInside(tree, node, T.blockquote);
  if (tag === T.header) return !holdsTitle && !isInside(tree, node, T.article) && !isInside(tree, node, T.main);
  if (tree.from[node] === tree.to[node]) return false;
  if (isHidden(tree, node)) return true;
  if ((flagsOf(tag) & F.block) === 0 && tag !== T.span && tag !== T.a) return false;
  if (flagsOf(tag) & F.heading) return false;
  return !holdsTitle && kindsOfElement(tree, node) === CHROME;
}

function isInside(tree: Tree, node: number, tag: number): boolean {
  for (let up = tree.parent[node]!; up > 0; up = tree.parent[up]!) if (tree.tag[up] === tag) return true;
  return false;
}

function isHidden(tree: Tree, node: number): boolean {
  if (tree.attrIndex(node, A.hidden) >= 0) return true;
  const style = tree.attrIndex(node, A.style);
  return style >= 0 && HIDDEN_STYLE.test(tree.attrValue(style));
}

// ---- where the content is

/** The `main` element (or role) with the most text if it holds a fair part of the page, else the whole document. */
function findScope(tree: Tree, mask: Uint8Array, { text }: Measures): number {
  let best = 0;
  for (let node = 1; node < tree.count;) {
    if (mask[node] === 0) {
      node = tree.end[node]!;
      continue;
    }
    const isMain = tree.tag[node] === T.main || (tree.tag[node] !== TEXT && tree.attr(node, A.role) === 'main');
    if (isMain && text[node]! > (best === 0 ? text[0]! * MIN_MAIN_SHARE : text[best]!)) best = node;
    node++;
  }
  return best;
}

/**
 * The block around most of the running text, widened while its parent adds little. Null when the running text is spread
 * over several blocks (listings, front pages, services): then the scope as a whole is the content.
 */
function findArticle(tree: Tree, mask: Uint8Array, measures: Measures, scope: number): number | null {
  const score = new Float32Array(tree.count);
  const running = new Int32Array(tree.count);
  for (let node = scope; node < tree.end[scope]!;) {
    if (mask[node] === 0) {
      node = tree.end[node]!;
      continue;
    }
    if (isParagraph(tree, node, measures)) addParagraph(tree, node, measures, { score, running }, scope);
    node++;
  }
  const best = bestBlock(tree, measures, score, scope);
  if (best <= 0 || running[best]! < running[scope]! * MIN_ARTICLE_SHARE) return null;
  return widen(tree, measures, best, scope);
}

function isParagraph(tree: Tree, node: number, { text, linkText }: Measures): boolean {
  const tag = tree.tag[node]!;
  if (tag !== T.p && tag !== T.pre && tag !== T.blockquote && tag !== T.td && tag !== T.div && tag !== T.li)
    return false;
  if (text[node]! < MIN_PARAGRAPH_CHARS || linkText[node]! * 2 > text[node]!) return false;
  return tag === T.p || tag === T.pre || !hasBlockChild(tree, node);
}

function hasBlockChild(tree: Tree, node: number): boolean {
  for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
    if (flagsOf(tree.tag[child]!) & F.block) return true;
  }
  return false;
}

function addParagraph(
  tree: Tree,
  node: number,
  { text, linkText }: Measures,
  sums: { score: Float32Array; running: Int32Array },
  scope: number,
): void {
  const length = text[node]! - linkText[node]!;
  const points = 1 + Math.min(length / 80, 4);
  let share = 1;
  for (let up = tree.parent[node]!, step = 0; up >= scope; up = tree.parent[up]!, step++) {
    sums.running[up]! += length;
    if (step > 3) continue;
    sums.score[up]! += points * share;
    share *= 0.6;
  }
}

function bestBlock(tree: Tree, { text, linkText }: Measures, score: Float32Array, scope: number): number {
  let best = -1;
  let bestScore = 0;
  for (let node = scope; node < tree.end[scope]!; node++) {
    if (score[node] === 0) continue;
    const density = text[node] === 0 ? 1 : linkText[node]! / text[node]!;
    const bonus = tree.tag[node] === T.article || kindsOfElement(tree, node) & CONTENT ? 1.25 : 1;
    const value = score[node]! * (1 - density) * bonus;
    if (value <= bestScore) continue;
    best = node;
    bestScore = value;
  }
  return best;
}

function widen(tree: Tree, { text }: Measures, best: number, scope: number): number {
  let node = best;
  for (let up = tree.parent[node]!; up > scope && text[up]! <= text[node]! * 1.25; up = tree.parent[up]!) node = up;
  return node;
}

/** The block, and the page's first `h1` when it stands before it. */
function keepOnly(tree: Tree, mask: Uint8Array, root: number): Uint8Array {
  const chosen = new Uint8Array(tree.count);
  keepSubtree(tree, mask, root, chosen);
  for (let node = 1; node < root;) {
    if (mask[node] === 0) {
      node = tree.end[node]!;
      continue;
    }
    if (tree.tag[node] === T.h1) {
      keepSubtree(tree, mask, node, chosen);
      break;
    }
    node++;
  }
  return chosen;
}

function keepSubtree(tree: Tree, mask: Uint8Array, root: number, chosen: Uint8Array): void {
  chosen.set(mask.subarray(root, tree.end[root]), root);
  for (let up = tree.parent[root]!; up >= 0; up = tree.parent[up]!) if (chosen[up] === 0) chosen[up] = 2;
}

// ---- link lists inside the content

function dropLinkLists(tree: Tree, mask: Uint8Array, measures: Measures, root: number): void {
  const { text, linkText, links } = measures;
  for (let node = root + 1; node < tree.end[root]!;) {
    const tag = tree.tag[node]!;
    const isBlock = tag === T.ul || tag === T.ol || tag === T.div || tag === T.section || tag === T.dl;
    const isLinkList = isBlock && links[node]! >= 4 && linkText[node]! > text[node]! * MAX_LINK_DENSITY;
    if (isLinkList && text[node]! < text[root]! * 0.2) mask[node] = 0;
    node = mask[node] === 0 ? tree.end[node]! : node + 1;
  }
}
