/** Data that a page carries: JSON-LD, microdata, RDFa, state of applications, pushes to a `dataLayer`, metas. */
import type { PageData } from '@troupe/formats';
import { hasDecimalComma, numberIn } from '../facts/values.js';
import { scriptText, type LdGraph } from '../metadata/json-ld.js';
import { parseLooseJson } from '../metadata/json-repair.js';
import { A, T, type Tree } from '@troupe/html';
import type { UrlResolver } from '../url-resolver.js';
import { MICRODATA, RDFA, readItems } from './marked-items.js';
import { stateScripts } from './state.js';

const MAX_PUSHES = 30;
const MAX_PUSH_CHARS = 200_000;
const MAX_METAS = 500;
const PUSH = /\bdataLayer\s{0,5}(?:\.\s{0,5}push\s{0,5}\(|=)\s{0,20}(?=[{[])/g;

export interface PageContext {
  url: string;
  urls: UrlResolver;
  graph: LdGraph;
  title: string | null;
}

export function readPageData(tree: Tree, { url, urls, graph, title }: PageContext): PageData {
  const decimalComma = hasDecimalComma(languageOf(tree));
  return {
    url,
    title,
    jsonLd: () => graph.items,
    byId: (id) => graph.byId.get(id),
    microdata: () => readItems(tree, urls, MICRODATA),
    rdfa: () => readItems(tree, urls, RDFA),
    states: () => stateScripts(tree).map(parseLooseJson),
    dataLayer: () => pushesOf(tree),
    metas: () => metasOf(tree),
    resolve: (href) => urls.resolve(href),
    numberIn: (text) => numberIn(text, decimalComma),
  };
}

function languageOf(tree: Tree): string | null {
  for (let node = 1; node < tree.count; node++) if (tree.tag[node] === T.html) return tree.attr(node, A.lang);
  return null;
}

function pushesOf(tree: Tree): unknown[] {
  const found: unknown[] = [];
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] !== T.script) continue;
    const text = scriptText(tree, node);
    for (const { 0: call, index } of text.matchAll(PUSH)) {
      if (found.length >= MAX_PUSHES) return found;
      const from = index + call.length;
      found.push(parseLooseJson(text.slice(from, from + MAX_PUSH_CHARS)));
    }
  }
  return found;
}

function metasOf(tree: Tree): ReadonlyMap<string, readonly string[]> {
  const metas = new Map<string, string[]>();
  for (let node = 1, left = MAX_METAS; node < tree.count && left > 0; node++) {
    if (tree.tag[node] !== T.meta) continue;
    const name = (tree.attr(node, A.property) ?? tree.attr(node, A.name) ?? '').trim().toLowerCase();
    const content = tree.attr(node, A.content);
    if (name === '' || content === null) continue;
    metas.set(name, [...(metas.get(name) ?? []), content]);
    left--;
  }
  return metas;
}
