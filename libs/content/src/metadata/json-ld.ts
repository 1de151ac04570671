/** JSON-LD of a page, flattened: every object with a type, wherever it stands. Bounded in size, depth and count. */
import { decodeHTML } from 'entities/decode';
import { A, T, TEXT, type Tree } from '@troupe/html';
import { parseLooseJson } from './json-repair.js';
import { collapsed } from './white-space.js';

const MAX_SCRIPT_CHARS = 600_000;
const MAX_TOTAL_CHARS = 1_500_000;
const MAX_ITEMS = 2000;
const MAX_DEPTH = 12;
const MAX_TEXT_CHARS = 20_000;
const LD_TYPE = /^\s*application\/(?:ld\+json|json\+ld)/i;
const TYPE_PREFIX = /^.*[/:#]/;

export type LdObject = Readonly<Record<string, unknown>>;

export interface LdItem {
  /** Lower case, without the vocabulary. */
  readonly types: readonly string[];
  /** Property that holds the item, lower case; '' at the top and in `@graph`. */
  readonly role: string;
  readonly object: LdObject;
}

export interface LdGraph {
  readonly items: readonly LdItem[];
  /** Objects by `@id`, for references. */
  readonly byId: ReadonlyMap<string, LdObject>;
}

export function readJsonLd(tree: Tree): LdGraph {
  const reader = new GraphReader();
  const { tag, count } = tree;
  let total = 0;
  for (let node = 1; node < count; node++) {
    if (tag[node] !== T.script || !LD_TYPE.test(tree.attr(node, A.type) ?? '')) continue;
    const text = scriptText(tree, node);
    total += text.length;
    if (text.length > MAX_SCRIPT_CHARS || total > MAX_TOTAL_CHARS) continue;
    reader.read(parseLooseJson(text), '', 0);
  }
  return reader;
}

/** Content of a raw element as written: entities in it are data. */
export function scriptText(tree: Tree, node: number): string {
  const child = node + 1;
  if (child >= tree.end[node]! || tree.tag[child] !== TEXT) return '';
  return tree.source.slice(tree.from[child], tree.to[child]);
}

class GraphReader implements LdGraph {
  readonly items: LdItem[] = [];
  readonly byId = new Map<string, LdObject>();

  read(value: unknown, role: string, depth: number): void {
    if (depth > MAX_DEPTH || this.items.length >= MAX_ITEMS) return;
    if (Array.isArray(value)) for (const entry of value) this.read(entry, role, depth + 1);
    else if (isObject(value)) this.readObject(value, role, depth);
  }

  private readObject(object: LdObject, role: string, depth: number): void {
    const types = listOf(object['@type'])
      .filter((type) => typeof type === 'string')
      .map((type) => type.slice(0, 200).replace(TYPE_PREFIX, '').toLowerCase());
    const id = object['@id'];
    if (types.length > 0) {
      this.items.push({ types, role, object });
      if (typeof id === 'string' && !this.byId.has(id)) this.byId.set(id, object);
    }
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (typeof value === 'object' && value !== null) {
        this.read(value, key === '@graph' ? role : key.toLowerCase(), depth + 1);
      }
    }
  }
}

export function isObject(value: unknown): value is LdObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  return value === undefined || value === null ? [] : [value];
}

/** Text of a value: entities decoded (twice escaped ones too), white space collapsed; '' when it is no text. */
export function ldText(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return ldText(value[0]);
  if (isObject(value)) return ldText(value['@value']);
  if (typeof value !== 'string') return '';
  const text = value.slice(0, MAX_TEXT_CHARS);
  const decoded = text.includes('&') ? decodeHTML(decodeHTML(text)) : text;
  return collapsed(decoded);
}
