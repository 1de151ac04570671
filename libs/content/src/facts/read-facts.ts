/** Values that selectors pick from a page: the `json` format without a model (docs/selectors.md). */
import type { SelectorSchema } from '@troupe/contracts';
import { writeInnerHtml } from '../clean-html.js';
import { imageSource } from '../images.js';
import { isPermalink } from '../links.js';
import { DROP, KEEP, type Mask } from '../mask.js';
import { isMonthFirst } from '../metadata/date-text.js';
import { collapsed } from '../metadata/white-space.js';
import { wholePage } from '../selection.js';
import { A, F, T, flagsOf, hashName } from '../tags.js';
import { SearchExhausted, type Tree } from '../tree.js';
import type { UrlResolver } from '../url-resolver.js';
import { PageIndex } from './page-index.js';
import type { FactsSource, Query } from './node-search.js';
import { compileQuery } from './query.js';
import { booleanIn, dateIn, hasDecimalComma, integerIn, numberIn } from './values.js';

const MAX_ITEMS = 10_000;
const MAX_VALUES = 100_000;
/** Of all values of a page, in UTF-16 units. */
const MAX_CHARS = 5_000_000;
/** Nodes looked at for one page: some tenths of a second. */
const MAX_STEPS = 5_000_000;

export interface FactsPage {
  readonly tree: Tree;
  readonly urls: UrlResolver;
  /** What may be found; null: the whole page, its head included. */
  readonly mask: Mask | null;
}

export interface Facts {
  /** Nothing found: null, or an empty list. */
  value: unknown;
  warnings: string[];
}

/** @throws TroupeError BAD_REQUEST for a bad selector */
export function readFacts(page: FactsPage, schema: SelectorSchema): Facts {
  const reader = new FactsReader(page);
  const { search } = page.tree;
  search.stepsLeft = MAX_STEPS;
  try {
    return { value: reader.read(schema, { node: 0, attribute: null }), warnings: reader.warnings() };
  } finally {
    search.stepsLeft = Infinity;
    search.scope = 0;
  }
}

/** An element, or one attribute of it. */
interface Place {
  node: number;
  attribute: string | null;
}

type ValueSchema = Extract<SelectorSchema, { type: 'value' }>;

class FactsReader {
  private readonly source: FactsSource;
  private readonly decimalComma: boolean;
  private readonly monthFirst: boolean;
  private charsLeft = MAX_CHARS;
  private valuesLeft = MAX_VALUES;
  private isExhausted = false;
  private isCut = false;
  private shownMask: Mask | null = null;

  constructor(private readonly page: FactsPage) {
    const language = languageOf(page.tree);
    this.source = { tree: page.tree, index: new PageIndex(page.tree) };
    this.decimalComma = hasDecimalComma(language);
    this.monthFirst = isMonthFirst(language);
  }

  warnings(): string[] {
    const warnings: string[] = [];
    if (this.isExhausted)
      warnings.push('The selectors needed too much work on this page: some values were not looked for.');
    if (this.isCut)
      warnings.push(
        `The values were cut off at ${MAX_ITEMS} items of one list, ${MAX_VALUES} values or ${MAX_CHARS} characters in all.`,
      );
    return warnings;
  }

  read(schema: SelectorSchema, place: Place): unknown {
    if (schema.type === 'list') return this.readList(schema, place);
    const at = schema.selector === null ? place : this.findFirst(schema.selector, place);
    if (at === null) return null;
    return schema.type === 'object' ? this.readObject(schema.fields, at) : this.readValue(schema, at);
  }

  private readObject(fields: Record<string, SelectorSchema>, place: Place): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    for (const name of Object.keys(fields)) setOwn(object, name, this.read(fields[name]!, place));
    return object;
  }

  private readList({ selector, item }: Extract<SelectorSchema, { type: 'list' }>, place: Place): unknown[] {
    const places = this.find(selector, place, MAX_ITEMS + 1);
    if (places.length > MAX_ITEMS) this.isCut = true;
    const values: unknown[] = [];
    for (const one of places.slice(0, MAX_ITEMS)) {
      const value = this.read(item, one);
      if (!isNothing(value)) values.push(value);
    }
    return values;
  }

  private findFirst(selector: string, place: Place): Place | null {
    const query = compileQuery(selector);
    const node = this.nodesOf(query, place.node, 1)[0];
    return node === undefined ? null : { node, attribute: query.attribute };
  }

  private find(selector: string, place: Place, enough: number): Place[] {
    const query = compileQuery(selector);
    const nodes = this.nodesOf(query, place.node, enough);
    return (nodes.length > enough ? nodes.slice(0, enough) : nodes).map((node) => ({
      node,
      attribute: query.attribute,
    }));
  }

  private nodesOf(query: Query, scope: number, enough: number): number[] {
    const { mask } = this.page;
    if (this.isExhausted) return [];
    try {
      if (mask === null) return query.find(this.source, scope, enough);
      return query.find(this.source, scope, Infinity).filter((node) => mask[node] === KEEP);
    } catch (error) {
      if (!(error instanceof SearchExhausted)) throw error;
      this.isExhausted = true;
      return [];
    }
  }

  private readValue(schema: ValueSchema, place: Place): unknown {
    if (this.valuesLeft-- <= 0) return this.cut();
    const attribute = schema.attribute ?? place.attribute;
    if (schema.as === 'boolean' && attribute !== null) return this.hasAttribute(place.node, attribute);
    const text = this.textAt(place.node, attribute, schema.as);
    if (text === null) return null;
    if (text.length > this.charsLeft) return this.cut();
    this.charsLeft -= text.length;
    return this.valueOf(text, schema.as);
  }

  private cut(): null {
    this.isCut = true;
    return null;
  }

  /** An attribute that says nothing else is true by being there. */
  private hasAttribute(node: number, name: string): boolean {
    const value = this.page.tree.isText(node) ? null : this.page.tree.attr(node, hashName(name));
    return value !== null && booleanIn(value) !== false;
  }

  private textAt(node: number, attribute: string | null, as: ValueSchema['as']): string | null {
    const { tree, urls, mask } = this.page;
    if (attribute === 'html') return writeInnerHtml(tree, this.shown(), urls, node);
    if (attribute !== null) return tree.isText(node) ? null : (tree.attr(node, hashName(attribute))?.trim() ?? null);
    const text = this.meantAttribute(node, as) ?? shownText(tree, mask, node);
    return text === '' ? null : text;
  }

  private shown(): Mask {
    this.shownMask ??= withoutDropped(wholePage(this.page.tree), this.page.mask);
    return this.shownMask;
  }

  /** An address stands in the attribute that the browser follows, a day in the machine's form of it. */
  private meantAttribute(node: number, as: ValueSchema['as']): string | null {
    const { tree } = this.page;
    if (tree.isText(node)) return null;
    if (as === 'date') return tree.attr(node, DATETIME) ?? contentOfMeta(tree, node);
    if (as !== 'url') return contentOfMeta(tree, node);
    if (tree.tag[node] === T.img) return imageSource(tree, node);
    return tree.attr(node, A.href) ?? tree.attr(node, A.src) ?? contentOfMeta(tree, node);
  }

  private valueOf(text: string, as: ValueSchema['as']): unknown {
    switch (as) {
      case 'number':
        return numberIn(text, this.decimalComma);
      case 'integer':
        return integerIn(text, this.decimalComma);
      case 'boolean':
        return booleanIn(text);
      case 'date':
        return dateIn(text.trim(), this.monthFirst);
      case 'url':
        return text === '' ? null : this.page.urls.resolve(text);
      case 'string':
        return text;
    }
  }
}

/** Also where the name means something to JavaScript. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

const DATETIME = hashName('datetime');

function contentOfMeta(tree: Tree, node: number): string | null {
  return tree.tag[node] === T.meta ? tree.attr(node, A.content) : null;
}

function languageOf(tree: Tree): string | null {
  const html = tree.count > 1 && tree.tag[1] === T.html ? 1 : -1;
  return html < 0 ? null : tree.attr(html, A.lang);
}

function withoutDropped(mask: Mask, other: Mask | null): Mask {
  return other === null ? mask : mask.map((state, node) => (other[node] === DROP ? DROP : state));
}

/** What makes no item of a list: nothing was found in it. */
function isNothing(value: unknown): boolean {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isNothing);
}

/** Text of a node as the page shows it: white space collapsed, except in `pre`; blocks and cells apart from each other. */
function shownText(tree: Tree, mask: Mask | null, node: number): string {
  const isVerbatim = isPreformatted(tree, node);
  const only = onlyText(tree, mask, node);
  if (only >= 0 && !isVerbatim) return collapsed(tree.text(only));
  const separator = isVerbatim ? '' : ' ';
  const ends: number[] = [];
  let text = '';
  for (let i = node; i < tree.end[node]!;) {
    while (ends.length > 0 && ends.at(-1)! <= i) {
      ends.pop();
      text += separator;
    }
    const flags = flagsOf(tree.tag[i]!);
    if (i !== node && (mask?.[i] === DROP || flags & F.invisible || isPermalinkAt(tree, i))) {
      i = tree.end[i]!;
      continue;
    }
    if (tree.isText(i)) text += tree.text(i);
    else if (tree.tag[i] === T.br) text += isVerbatim ? '\n' : ' ';
    else if (flags & F.block) {
      text += separator;
      ends.push(tree.end[i]!);
    }
    i++;
  }
  return isVerbatim ? text.replace(/^\r?\n/, '').trimEnd() : collapsed(text);
}

/** The text that is all there is in a node, or the node itself; -1: there is more, or less. */
function onlyText(tree: Tree, mask: Mask | null, node: number): number {
  if (tree.isText(node)) return node;
  const text = node + 1;
  return tree.end[node] === node + 2 && tree.isText(text) && mask?.[text] !== DROP ? text : -1;
}

function isPermalinkAt(tree: Tree, node: number): boolean {
  return tree.tag[node] === T.a && isPermalink(tree, node, tree.attr(node, A.href) ?? '');
}

function isPreformatted(tree: Tree, node: number): boolean {
  for (let up = node; up > 0; up = tree.parent[up]!) {
    const tag = tree.tag[up];
    if (tag === T.pre || tag === T.listing || tag === T.textarea) return true;
  }
  return false;
}
