/**
 * Structure before statistics: where a page names its body, the text in it stays unless it is furniture.
 * The estimates of blocks decide where structure does not.
 */
import { CHROME, CONTEXT, isInside, type Blocks } from './blocks.js';
import { A, F, flagsOf, hashName, isPermalink, T, TEXT, type Tree } from '@troupe/html';
import { WordKinds } from './word-kinds.js';
import { kindBits, kindsOfClass } from './words.js';

/** Kinds that stand in a body and are none of it, however many words they have. */
const FURNITURE = kindBits('nav', 'breadcrumb', 'share', 'ad', 'modal', 'form', 'filter', 'paging', 'related', 'promo');
/** The same in documentation, which names warnings and sections with some of the other words. */
const FURNITURE_OF_DOCUMENTATION = kindBits('nav', 'breadcrumb', 'share', 'ad', 'modal');
/** Kinds that are furniture when they are mostly links. */
const LINKED_FURNITURE = kindBits('header', 'footer', 'sidebar', 'action', 'related', 'paging', 'form', 'promo');
const MAX_CHROME_ID_CHARS = 30;
const SECTION = kindBits('tab');
const FOOTER = kindBits('footer');
const NAV = kindBits('nav');
const MOSTLY = 0.5;

/** Landmarks that are no part of a body that the page names; an article may have a footer, that of a reference is about the page. */
const CHROME_IN_BODY = CONTEXT.nav | CONTEXT.dialog | CONTEXT.hidden;
/** The body is looked for in the headings. */
const NO_LANDMARK = 0;
const CHROME_IN_REFERENCE = CHROME_IN_BODY | CONTEXT.footer;

/** So much text beside a menu makes a page that is more than the menu. */
const MIN_TEXT_CHARS = 100;

/** A body that the page names is believed when it has this share of what was kept. */
const BELIEVED_SHARE = 0.5;
/** Without a name the body is the deepest element with this share of it. */
const HOLDING_SHARE = 0.95;

/** Headings with code or a sign that links to them that make a page a reference. */
const MIN_REFERENCE_HEADINGS = 4;

/** Blocks less likely than this are left out of a plain body that the page does not name. */
const LEAST_PLAIN = 0.03;

/** Words that generators of documentation put into classes and into `meta name=generator`, and few others do. */
const DOCUMENTATION_WORDS =
  'titlepage navheader navfooter refnamediv refsynopsisdiv refentry variablelist informaltable docbook publican ' +
  'documentwrapper bodywrapper sphinxsidebar docutils toctree headertitle memproto memitem doxygen ' +
  'sectionbody admonitionblock listingblock asciidoc asciidoctor makeinfo texinfo ' +
  'javadoc docblock rustdoc rdoc typedoc mkdocs docusaurus vitepress typeset gitbook groff';
const MAX_CLASS_CHARS = 200;
const DOCUMENTATION = new WordKinds([[1, DOCUMENTATION_WORDS]], MAX_CLASS_CHARS);
/** Generators that a footer links to, as in "Built with MkDocs", or that a comment on top names. */
const GENERATORS =
  'sphinx rdoc yard mkdocs mdbook docusaurus vitepress typedoc javadoc doxygen docutils gitbook antora pdoc';
const MADE_WITH = new Set(GENERATORS.split(' '));
const MADE_COMMENT = new RegExp(`^<!--[^>]{0,40}\\b(?:by|with|using) (?:${GENERATORS.replaceAll(' ', '|')})\\b`, 'i');
const MAX_HEAD_CHARS = 3000;
const MAX_COMMENT_CHARS = 100;
const MAX_GENERATOR_CHARS = 20;

export interface JudgedPage {
  tree: Tree;
  blocks: Blocks;
  headingLevel: Uint8Array;
  /** Nodes that hold blocks, in document order, and per node the bits of its `KINDS`. */
  elements: Int32Array;
  kinds: Int32Array;
  estimates: Float32Array;
  /** Per block 1 or 0; changed in place. */
  kept: Uint8Array;
  /** As `isOfDocumentation` says. */
  isDocumentation: boolean;
}

interface PageBody {
  root: number;
  /** The page names it: `main`, `article`, their roles, or the headings of a reference. */
  isNamed: boolean;
  /** Landmarks in it that are furniture. */
  chrome: number;
}

/** Keeps what stands in the body of documentation, of references and of plain pages; other bodies hold too much that is none of them. */
export function keepBody(page: JudgedPage): void {
  const { tree, blocks, estimates, kept, isDocumentation } = page;
  const reference = isDocumentation ? -1 : aroundReference(page);
  const body = findBody(page, reference);
  const isPlain = !isDocumentation && isPlainBody(page, body.root);
  if (!isDocumentation && !isPlain && reference < 0) return;
  const furniture = findFurniture(page, body);
  const least = isDocumentation || body.isNamed ? 0 : LEAST_PLAIN;
  const { from, to } = rangeOf(page, body, isPlain);
  for (let block = from; block < to; block++) {
    if (estimates[block]! >= least && furniture[tree.parent[blocks.first[block]!]!] === 0) kept[block] = 1;
  }
  if (isDocumentation) dropMenus(page);
}

/** Menus of documentation are long and full of its words; they go where there is text beside them. */
function dropMenus({ blocks, kept }: JudgedPage): void {
  let chars = 0;
  for (let block = 0; block < blocks.count; block++) {
    if (kept[block] === 1 && !isInside(blocks, block, CONTEXT.nav)) chars += blocks.chars[block]!;
  }
  if (chars < MIN_TEXT_CHARS) return;
  for (let block = 0; block < blocks.count; block++) if (isInside(blocks, block, CONTEXT.nav)) kept[block] = 0;
}

function findBody(page: JudgedPage, reference: number): PageBody {
  const { tree, elements, isDocumentation } = page;
  const keptIn = countKept(page);
  const all = keptIn(0);
  const chrome = reference < 0 ? CHROME_IN_BODY : CHROME_IN_REFERENCE;
  for (const landmark of [CONTEXT.article, CONTEXT.main, NO_LANDMARK]) {
    const root = landmark === NO_LANDMARK ? reference : onlyOne(page, landmark);
    if (root > 0 && keptIn(root) >= all * BELIEVED_SHARE) return { root, isNamed: true, chrome };
  }
  let root = 0;
  for (let i = 0; i < elements.length; i++) {
    const node = elements[i]!;
    if (node >= tree.end[root]! || (isDocumentation && tree.tag[root] === T.body)) break;
    if (node < tree.end[root]! && keptIn(node) >= all * HOLDING_SHARE) root = node;
  }
  return { root, isNamed: false, chrome: CHROME };
}

/** How many characters of an element were kept. */
function countKept({ tree, blocks, kept }: JudgedPage): (node: number) => number {
  const before = new Int32Array(blocks.count + 1);
  for (let block = 0; block < blocks.count; block++) {
    before[block + 1] = before[block]! + (kept[block] === 1 ? blocks.chars[block]! : 0);
  }
  return (node) => before[blocks.before[tree.end[node]!]!]! - before[blocks.before[node]!]!;
}

/** The only outermost landmark of its kind; -1 for none or several. */
function onlyOne({ tree, blocks, elements }: JudgedPage, landmark: number): number {
  let only = -1;
  for (let i = 0; i < elements.length; i++) {
    const node = elements[i]!;
    if ((blocks.context[node]! & ~blocks.context[tree.parent[node]!]! & landmark) === 0) continue;
    if (only >= 0) return -1;
    only = node;
  }
  return only;
}

/**
 * Which blocks are looked at: of a body without a name what lies between its title (else what was kept first) and what was
 * kept last, of a plain one with a title all.
 */
function rangeOf(
  { tree, blocks, headingLevel, kept, isDocumentation }: JudgedPage,
  { root, isNamed }: PageBody,
  isPlain: boolean,
): { from: number; to: number } {
  const from = blocks.before[root]!;
  const to = blocks.before[tree.end[root]!]!;
  if (isNamed || isDocumentation) return { from, to };
  const title = headingLevel.indexOf(1, from);
  const isTitled = title >= 0 && title < to && headingLevel.indexOf(1, title + 1) < 0;
  return {
    from: isTitled ? title : Math.max(from, kept.indexOf(1)),
    to: isTitled && isPlain ? to : Math.min(to, kept.lastIndexOf(1) + 1),
  };
}

/** Written without words that tell of parts: such a page has no share bars and teasers. */
function isPlainBody({ tree, elements, kinds }: JudgedPage, root: number): boolean {
  const end = tree.end[root]!;
  for (let i = elements.length - 1; i >= 0 && elements[i]! > root; i--) {
    const node = elements[i]!;
    if (node < end && kinds[node] !== 0) return false;
  }
  return true;
}

/** The deepest element around the headings of a page that describes things heading by heading; -1 for another page. */
function aroundReference({ tree, elements }: JudgedPage): number {
  let headings = 0;
  let root = -1;
  for (let i = 0; i < elements.length; i++) {
    const node = elements[i]!;
    if ((flagsOf(tree.tag[node]!) & F.heading) === 0 || !isOfReference(tree, node)) continue;
    headings++;
    root = root < 0 ? tree.parent[node]! : around(tree, root, node);
  }
  return headings < MIN_REFERENCE_HEADINGS ? -1 : root;
}

function isOfReference(tree: Tree, heading: number): boolean {
  for (let node = heading + 1; node < tree.end[heading]!; node++) {
    if (tree.tag[node] === T.code) return true;
    if (tree.tag[node] === T.a && isPermalink(tree, node, tree.attr(node, A.href) ?? '')) return true;
  }
  return false;
}

/** The deepest element around both. */
function around(tree: Tree, root: number, node: number): number {
  let up = root;
  while (node >= tree.end[up]!) up = tree.parent[up]!;
  return up;
}

/** Written by a generator of documentation. */
export function isOfDocumentation({
  tree,
  blocks,
  elements,
}: Pick<JudgedPage, 'tree' | 'blocks' | 'elements'>): boolean {
  const says = (node: number, attribute: number): boolean => {
    const index = tree.attrIndex(node, attribute);
    return index >= 0 && DOCUMENTATION.in(tree.source, tree.attrFrom[index]!, tree.attrTo[index]!) !== 0;
  };
  for (let node = 1; node < tree.count && tree.tag[node] !== T.body; node++) {
    if (tree.tag[node] === T.meta && isGenerator(tree, node) && says(node, A.content)) return true;
  }
  if (saysGenerator(tree.source.slice(0, MAX_HEAD_CHARS))) return true;
  for (let i = 0; i < elements.length; i++) {
    const node = elements[i]!;
    if (tree.from[node]! < tree.to[node]! && (flagsOf(tree.tag[node]!) & F.block) !== 0 && says(node, A.class))
      return true;
    if (startsFooter(tree, blocks, node) && linksGenerator(tree, node)) return true;
  }
  return false;
}

/** Whether a comment names a generator. Comments are looked up first, which is much cheaper than the pattern on all the text. */
function saysGenerator(head: string): boolean {
  for (let at = head.indexOf('<!--'); at >= 0; at = head.indexOf('<!--', at + 1)) {
    if (MADE_COMMENT.test(head.slice(at, at + MAX_COMMENT_CHARS))) return true;
  }
  return false;
}

function startsFooter({ parent }: Tree, { context }: Blocks, node: number): boolean {
  return (context[node]! & ~context[parent[node]!]! & CONTEXT.footer) !== 0;
}

function linksGenerator(tree: Tree, footer: number): boolean {
  for (let node = footer + 1; node < tree.end[footer]!; node++) {
    if (tree.tag[node] === T.a && namesGenerator(tree, node)) return true;
  }
  return false;
}

function namesGenerator(tree: Tree, link: number): boolean {
  const text = link + 1;
  if (tree.end[link] !== text + 1 || tree.tag[text] !== TEXT) return false;
  const from = tree.from[text]!;
  const to = tree.to[text]!;
  return to - from <= MAX_GENERATOR_CHARS && MADE_WITH.has(tree.source.slice(from, to).trim().toLowerCase());
}

function isGenerator(tree: Tree, meta: number): boolean {
  const index = tree.attrIndex(meta, A.name);
  return index >= 0 && tree.attrValue(index).toLowerCase() === 'generator';
}

/** Per node inside of the body: 1 for furniture and all in it. */
function findFurniture(page: JudgedPage, body: PageBody): Uint8Array {
  const { tree, elements } = page;
  const furniture = new Uint8Array(tree.count);
  if (page.isDocumentation) markSteps(page, furniture);
  for (const node of elements) {
    if (node <= body.root || node >= tree.end[body.root]! || furniture[node] === 1) continue;
    if (furniture[tree.parent[node]!] === 1 || isFurniture(page, body, node)) furniture[node] = 1;
  }
  return furniture;
}

function isFurniture(page: JudgedPage, { root, chrome }: PageBody, node: number): boolean {
  const { tree, blocks, kinds, isDocumentation } = page;
  if ((blocks.context[node]! & chrome & ~blocks.context[root]!) !== 0) return true;
  const own = isDocumentation ? kindsOfPart(page, node) : kinds[node]!;
  if ((own & (isDocumentation ? FURNITURE_OF_DOCUMENTATION : FURNITURE)) !== 0) return true;
  if (isDocumentation && (own & FOOTER) !== 0 && endsBody(page, root, node)) return true;
  if ((own & LINKED_FURNITURE) === 0 || tree.tag[node] === T.a) return false;
  return isMostlyLinks(page, node) && !holdsTitle(page, node);
}

/** A short end without a heading. */
function endsBody({ tree, blocks, headingLevel }: JudgedPage, root: number, node: number): boolean {
  const to = blocks.before[tree.end[node]!]!;
  if (to < blocks.before[tree.end[root]!]!) return false;
  let chars = 0;
  for (let block = blocks.before[node]!; block < to; block++) {
    chars += blocks.chars[block]!;
    if (headingLevel[block]! > 0 || chars > MAX_STEPS_CHARS) return false;
  }
  return true;
}

/** Kind of an element of documentation; a menu that is a table tells of the pages below. */
function kindsOfPart(page: JudgedPage, node: number): number {
  const { tree, kinds } = page;
  const own = isIdOfTopic(page, node) ? kindsOfClass(tree, node) : kinds[node]!;
  return tree.tag[node] === T.table ? own & ~NAV : own;
}

/** A long id, or that of a section or of what holds code, is made of what the text is about. */
function isIdOfTopic({ tree, kinds }: JudgedPage, node: number): boolean {
  const id = kinds[node] === 0 ? -1 : tree.attrIndex(node, A.id);
  if (id < 0) return false;
  const chars = tree.attrTo[id]! - tree.attrFrom[id]!;
  const isSection = tree.tag[node] === T.section || (kindsOfClass(tree, node) & SECTION) !== 0;
  return isSection || chars > MAX_CHROME_ID_CHARS || tree.tag.subarray(node, tree.end[node]).includes(T.pre);
}

/** Says the page's title without linking it, as the name of a site would. */
function holdsTitle({ tree, blocks }: JudgedPage, node: number): boolean {
  for (let block = blocks.before[node]!; block < blocks.before[tree.end[node]!]!; block++) {
    if (blocks.words[block]! > 0 && blocks.titleWords[block]! === blocks.words[block]! && blocks.linkChars[block] === 0)
      return true;
  }
  return false;
}

function isMostlyLinks({ tree, blocks }: JudgedPage, node: number): boolean {
  let chars = 0;
  let linkChars = 0;
  for (let block = blocks.before[node]!; block < blocks.before[tree.end[node]!]!; block++) {
    chars += blocks.chars[block]!;
    linkChars += blocks.linkChars[block]!;
  }
  return linkChars > chars * MOSTLY;
}

const ACCESSKEY = hashName('accesskey');
const STEP_KEYS = new Set(['p', 'n', 'u', 'h']);
const STEP_RELATIONS = new Set(['prev', 'previous', 'next', 'up', 'contents']);
const MAX_STEPS_CHARS = 600;

/** Old documentation has no `nav`: it links pages before, after and above by access keys or relations. */
function markSteps({ tree, blocks, elements }: JudgedPage, furniture: Uint8Array): void {
  for (const node of elements) if (isStep(tree, node)) furniture[stepsAround(tree, blocks, node)] = 1;
}

function isStep(tree: Tree, node: number): boolean {
  if (tree.tag[node] !== T.a) return false;
  const valueOf = (attribute: number): string => {
    const index = tree.attrIndex(node, attribute);
    return index < 0 ? '' : tree.attrValue(index).toLowerCase();
  };
  return STEP_KEYS.has(valueOf(ACCESSKEY)) || STEP_RELATIONS.has(valueOf(A.rel));
}

/** The widest short element around a link that holds no heading. */
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
