/** The same views of a page through our parser and through parse5, for specs that compare the two. */
import { parse, type DefaultTreeAdapterMap } from 'parse5';
import { parseHtml } from './parse.js';
import { A, F, T, TEXT, flagsOf, lookupTag } from './tags.js';
import type { Tree } from './tree.js';

type Node5 = DefaultTreeAdapterMap['node'];

/** Elements that our trees have only where the page does. */
const IMPLIED = new Set(['#document', '#document-fragment', 'html', 'head', 'body', 'tbody', 'colgroup']);

const link = (href: string | null | undefined): string => (href === null || href === undefined ? '' : `[${href}]`);
const shape = (name: string, href: string, inner: string): string =>
  IMPLIED.has(name) ? inner : `<${name}${href}>${inner}</>`;

/** `<p>a<a href=x>b</a></p>` as `<p>a<a[x]>b</></>`, without implied elements. */
export function outlineOf(html: string): string {
  const tree = parseHtml(html);
  const show = (node: number): string => {
    if (tree.isText(node)) return tree.text(node);
    let inner = '';
    for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) inner += show(child);
    return shape(tree.name(node), link(tree.attr(node, A.href)), inner);
  };
  return show(0);
}

export function outlineOfParse5(html: string): string {
  const show = (node: Node5): string => {
    if ('value' in node) return node.value;
    if (!('childNodes' in node)) return '';
    const href = 'attrs' in node ? node.attrs.find(({ name }) => name === 'href')?.value : null;
    return shape(node.nodeName.toLowerCase(), link(href), node.childNodes.map(show).join(''));
  };
  return show(parse(html, { scriptingEnabled: false }));
}

export interface Seen {
  /** White space collapsed, a space at the edges of blocks; without scripts, styles and templates. */
  text: string;
  /** `href` of every link. */
  links: string[];
}

const UNSEEN: ReadonlySet<number> = new Set([T.script, T.style, T.template]);
const collapse = (parts: string[]): string => parts.join('').replace(/\s+/g, ' ').trim();
/** Tags at whose edges words end. */
const endsWord = (tag: number): boolean => tag === T.br || tag === T.title || (flagsOf(tag) & F.block) !== 0;

export function seenBy(tree: Tree): Seen {
  const parts: string[] = [];
  const links: string[] = [];
  for (let node = 1; node < tree.count; node++) {
    const tag = tree.tag[node]!;
    if (UNSEEN.has(tag)) node = tree.end[node]! - 1;
    else if (tag === TEXT) parts.push(tree.text(node));
    else if (endsWord(tag)) parts.push(' ');
    const href = tag === T.a ? tree.attr(node, A.href) : null;
    if (href !== null) links.push(href.replace(/\r\n?/g, '\n'));
  }
  return { text: collapse(parts), links };
}

export function seenByParse5(html: string): Seen {
  const parts: string[] = [];
  const links: string[] = [];
  const waiting: Node5[] = [parse(html, { scriptingEnabled: false })];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const { nodeName } = node;
    if (nodeName === 'script' || nodeName === 'style' || nodeName === 'template') continue;
    if ('value' in node) parts.push(node.value);
    else if (endsWord(lookupTag(nodeName, 0, nodeName.length))) parts.push(' ');
    const href = nodeName === 'a' && 'attrs' in node ? node.attrs.find(({ name }) => name === 'href') : undefined;
    if (href !== undefined) links.push(href.value);
    if ('childNodes' in node) waiting.push(...node.childNodes.toReversed());
  }
  return { text: collapse(parts), links };
}
