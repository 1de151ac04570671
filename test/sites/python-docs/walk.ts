/** Which pages a folder of HTML files has for whoever follows its links from one of them. parse5 and the file system only. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parse, type DefaultTreeAdapterMap } from 'parse5';

/** Extensions of links that are not crawled: neither pages nor documents. */
const NO_PAGES = new Set([
  '.png',
  '.svg',
  '.gif',
  '.jpg',
  '.css',
  '.js',
  '.zip',
  '.gz',
  '.bz2',
  '.xz',
  '.tar',
  '.ico',
  '.epub',
]);

/** Path on the site -> status, for every page that can be reached. */
export type WalkedSite = Map<string, 200 | 404>;

export function walkFolder(root: string, start: string): WalkedSite {
  const found: WalkedSite = new Map();
  const queue = [start];
  const spelled = new Set([identity(start)]);
  for (let page = queue.shift(); page !== undefined; page = queue.shift()) {
    const file = fileOf(root, page);
    found.set(page, file === null ? 404 : 200);
    if (file === null || !file.endsWith('.html')) continue;
    for (const target of linksOf(file, page)) {
      if (spelled.has(identity(target))) continue;
      spelled.add(identity(target));
      queue.push(target);
    }
  }
  return found;
}

/** What a page calls itself, in its `<title>` and its first-level headings; white space as a reader sees it. */
export function titlesOf(file: string): string[] {
  const titles: string[] = [];
  for (const node of nodesOf(parse(readFileSync(file, 'utf8')))) {
    if (!('tagName' in node) || (node.tagName !== 'title' && node.tagName !== 'h1')) continue;
    const text = [...nodesOf(node)].map((inner) => ('value' in inner ? inner.value : '')).join('');
    titles.push(text.replace(/\s+/g, ' ').trim());
  }
  return titles;
}

/** Null when nothing lies there. `/` and `/x/` are their index pages. */
export function fileOf(root: string, urlPath: string): string | null {
  const file = path.join(root, decodeURIComponent(urlPath.split('?', 1)[0]!));
  if (!file.startsWith(root) || !existsSync(file)) return null;
  if (!statSync(file).isDirectory()) return file;
  return urlPath.endsWith('/') ? fileOf(root, `${urlPath}index.html`) : null;
}

/** `/x/` and `/x/index.html` are one page. */
function identity(urlPath: string): string {
  return urlPath.replace(/\/index\.html$/, '/').replace(/\/$/, '');
}

type Node = DefaultTreeAdapterMap['node'];

/** Paths with their queries, in document order. */
function linksOf(file: string, page: string): string[] {
  const base = new URL(page, 'http://site.invalid');
  return hrefsOf(parse(readFileSync(file, 'utf8'))).flatMap((href) => {
    const url = URL.parse(href, base.href);
    if (url === null || url.host !== base.host || url.protocol !== 'http:') return [];
    return NO_PAGES.has(path.posix.extname(url.pathname)) ? [] : [url.pathname + url.search];
  });
}

function hrefsOf(document: Node): string[] {
  return [...nodesOf(document)].flatMap((node) => {
    if (!('tagName' in node) || (node.tagName !== 'a' && node.tagName !== 'area')) return [];
    const attribute = (name: string) => node.attrs.find((attr) => attr.name === name)?.value;
    const isNofollow = /\bnofollow\b/.test(attribute('rel') ?? '');
    return isNofollow ? [] : (attribute('href') ?? []);
  });
}

/** In document order. */
function* nodesOf(document: Node): Generator<Node> {
  const open: Node[] = [document];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    if ('childNodes' in node) open.push(...node.childNodes.toReversed());
  }
}
