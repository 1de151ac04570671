/** Items that attributes mark in a page's own markup: microdata and RDFa Lite, as objects like those of JSON-LD. */
import type { DataItem } from '@troupe/formats';
import { collapsed } from '../metadata/white-space.js';
import { A, hashName, T, type Tree } from '@troupe/html';
import type { UrlResolver } from '../url-resolver.js';

const MAX_ITEMS = 500;
const MAX_PROPERTIES = 5000;
const MAX_TEXT_CHARS = 20_000;
const MAX_TEXT_NODES = 2000;
const PREFIX = /^.*[/:#]/;
const SPACE = /\s+/;
const DATETIME = hashName('datetime');
const DATA = hashName('data');

/** How a notation says what is an item and what a property. */
export interface Notation {
  /** Attribute that begins an item. */
  item: number;
  /** Its types. */
  type: number;
  property: number;
  /** Pattern of a name; the last group is the name itself. */
  name: RegExp;
}

export const MICRODATA: Notation = {
  item: hashName('itemscope'),
  type: hashName('itemtype'),
  property: A.itemprop,
  name: /^(?:https?:\/\/schema\.org\/)?([\w-]{1,60})$/,
};
export const RDFA: Notation = {
  item: hashName('typeof'),
  type: hashName('typeof'),
  property: A.property,
  name: /^(?:schema:|https?:\/\/schema\.org\/)?([\w-]{1,60})$/,
};

interface OpenItem {
  end: number;
  object: Record<string, unknown>;
}

/** In the order of the page, the inner ones of an item behind it. */
// eslint-disable-next-line complexity -- one pass over the page
export function readItems(tree: Tree, urls: UrlResolver, notation: Notation): DataItem[] {
  const items: DataItem[] = [];
  const open: OpenItem[] = [];
  let left = MAX_PROPERTIES;
  for (let node = 1; node < tree.count && left > 0; node++) {
    while (open.length > 0 && open.at(-1)!.end <= node) open.pop();
    if (tree.isText(node)) continue;
    const isItem = tree.attrIndex(node, notation.item) >= 0;
    const names = open.length === 0 ? [] : namesOf(tree.attr(node, notation.property), notation);
    if (!isItem && names.length === 0) continue;
    if (isItem && items.length >= MAX_ITEMS) break;
    const owner = open.at(-1)?.object;
    const types = isItem ? typesOf(tree.attr(node, notation.type)) : [];
    const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    if (isItem) {
      object['@type'] = types;
      items.push({ types, role: names[0]?.toLowerCase() ?? '', object });
      open.push({ end: tree.end[node]!, object });
    }
    for (const name of names.slice(0, left)) {
      left--;
      add(owner!, name, isItem ? object : valueOf(tree, node, urls));
    }
  }
  return items;
}

function namesOf(value: string | null, { name }: Notation): string[] {
  if (value === null) return [];
  return value.split(SPACE).flatMap((word) => name.exec(word)?.[1] ?? []);
}

function typesOf(value: string | null): string[] {
  const words = (value ?? '').slice(0, 1000).split(SPACE);
  return words.map((word) => word.replace(PREFIX, '').toLowerCase()).filter((word) => word !== '');
}

function add(object: Record<string, unknown>, name: string, value: unknown): void {
  const before = object[name];
  if (before === undefined) object[name] = value;
  else if (Array.isArray(before)) before.push(value);
  else object[name] = [before, value];
}

function valueOf(tree: Tree, node: number, urls: UrlResolver): string {
  const content = tree.attr(node, A.content);
  if (content !== null) return content.slice(0, MAX_TEXT_CHARS).trim();
  const address =
    tree.attr(node, A.href) ?? tree.attr(node, A.src) ?? (tree.tag[node] === T.object ? tree.attr(node, DATA) : null);
  if (address !== null) return urls.resolve(address) ?? address;
  const value = tree.attr(node, DATETIME) ?? tree.attr(node, A.value);
  return value?.trim() ?? textOf(tree, node);
}

/** Bounded while it is read: items inside each other would make it quadratic. */
function textOf(tree: Tree, node: number): string {
  let text = '';
  const to = Math.min(tree.end[node]!, node + MAX_TEXT_NODES);
  for (let i = node; i < to && text.length < MAX_TEXT_CHARS; i++) {
    if (tree.isText(i)) text += tree.text(i);
  }
  return collapsed(text.slice(0, MAX_TEXT_CHARS));
}
