/** The `html` format: what a mask shows, without scripts, styles, head and comments, with absolute URLs. */
import { imageSource } from './images.js';
import { A, DROP, F, flagsOf, type Mask, PASS, T, TEXT, type Tree } from '@troupe/html';
import type { UrlResolver } from './url-resolver.js';

const URL_ATTRIBUTES: ReadonlySet<number> = new Set([A.href, A.src]);
const DROPPED_ATTRIBUTES: ReadonlySet<number> = new Set([A.srcset, A.dataSrcset]);

export function writeCleanHtml(tree: Tree, mask: Mask, urls: UrlResolver): string {
  return writeInnerHtml(tree, mask, urls, 0);
}

/** Writes the contents of one element. */
export function writeInnerHtml(tree: Tree, mask: Mask, urls: UrlResolver, node: number): string {
  const parts = new Parts();
  writeChildren(tree, mask, urls, node, parts);
  return parts.toString().trim();
}

const MAX_PARTS = 1 << 16;

/** Text in pieces. Joined now and then: an array of some hundred million entries ends the process. */
class Parts {
  private readonly chunks: string[] = [];
  private parts: string[] = [];

  push(...parts: string[]): void {
    for (const part of parts) this.parts.push(part);
    if (this.parts.length < MAX_PARTS) return;
    this.chunks.push(this.parts.join(''));
    this.parts = [];
  }

  toString(): string {
    return this.chunks.join('') + this.parts.join('');
  }
}

function writeChildren(tree: Tree, mask: Mask, urls: UrlResolver, parent: number, parts: Parts): void {
  for (let child = parent + 1, to = tree.end[parent]!; child < to; child = tree.end[child]!) {
    if (mask[child] === DROP) continue;
    if (mask[child] === PASS) writeChildren(tree, mask, urls, child, parts);
    else if (tree.tag[child] === TEXT) parts.push(textSource(tree, child));
    else writeElement(tree, mask, urls, child, parts);
  }
}

function writeElement(tree: Tree, mask: Mask, urls: UrlResolver, node: number, parts: Parts): void {
  const name = tree.name(node);
  parts.push('<', name);
  writeAttributes(tree, urls, node, parts);
  parts.push('>');
  if (flagsOf(tree.tag[node]!) & F.void) return;
  writeChildren(tree, mask, urls, node, parts);
  parts.push('</', name, '>');
}

/** Text as written in the source (still escaped), with stray `<` of tolerant parsing made safe. */
function textSource(tree: Tree, node: number): string {
  const raw = tree.source.slice(tree.from[node], tree.to[node]);
  return raw.includes('<') ? raw.replaceAll('<', '&lt;') : raw;
}

function writeAttributes(tree: Tree, urls: UrlResolver, node: number, parts: Parts): void {
  const isImage = tree.tag[node] === T.img;
  const source = isImage ? imageSource(tree, node) : null;
  if (source !== null) writeAttribute('src', absolute(source, urls), parts);
  for (let i = tree.from[node]!, to = tree.to[node]!; i < to; i++) {
    const hash = tree.attrHash[i]!;
    const name = tree.attrName(i);
    if (DROPPED_ATTRIBUTES.has(hash) || (isImage && hash === A.src) || name.startsWith('on')) continue;
    if (name.includes('<') || name.includes('"') || name.includes("'")) continue;
    const value = tree.attrValue(i);
    writeAttribute(name, URL_ATTRIBUTES.has(hash) ? absolute(value, urls) : value, parts);
  }
}

function absolute(value: string, urls: UrlResolver): string {
  if (value.startsWith('data:')) return value;
  return urls.resolve(value) ?? value;
}

function writeAttribute(name: string, value: string, parts: Parts): void {
  if (value === '') {
    parts.push(' ', name, '=""');
    return;
  }
  const needsEscape = value.includes('"') || value.includes('&');
  const safe = needsEscape ? value.replaceAll('&', '&amp;').replaceAll('"', '&quot;') : value;
  parts.push(' ', name, '="', safe, '"');
}
