/** Values that selectors pick from a page: the `json` format without a model (docs/selectors.md). */
import type { SelectorSchema } from '@troupe/contracts';
import { writeInnerHtml } from '../clean-html.js';
import { imageSource } from '../images.js';
import {
  A,
  DROP,
  F,
  flagsOf,
  hashName,
  isPermalink,
  KEEP,
  type Mask,
  SearchExhausted,
  T,
  type Tree,
} from '@troupe/html';
import { isMonthFirst } from '../metadata/date-text.js';
import { collapsed } from '../metadata/white-space.js';
import { wholePage } from '@troupe/main-content';
import type { UrlResolver } from '../url-resolver.js';
import type { FactsSource, Query } from './node-search.js';
import { PageIndex, type IndexKeys } from './page-index.js';
import { compileFacts, type Attribute, type ListPlan, type ObjectPlan, type Plan, type ValuePlan } from './plan.js';
import { booleanIn, dateIn, hasDecimalComma, integerIn, numberIn } from './values.js';

const MAX_ITEMS = 10_000;
const MAX_VALUES = 100_000;
/** Length of all values of a page, in UTF-16 units. */
const MAX_CHARS = 5_000_000;
/** Nodes looked at for one page: some tenths of a second. */
const MAX_STEPS = 5_000_000;

export interface FactsPage {
  readonly tree: Tree;
  readonly urls: UrlResolver;
  /** The part in which it may be found; null: the whole page, its head included. */
  readonly mask: Mask | null;
}

export interface Facts {
  /** Nothing found: null, or an empty list. */
  value: unknown;
  warnings: string[];
}

/** @throws TroupeError BAD_REQUEST for a bad selector */
export function readFacts(page: FactsPage, schema: SelectorSchema): Facts {
  const { plan, keys } = compileFacts(schema);
  const reader = new FactsReader(page, keys);
  const { search } = page.tree;
  search.stepsLeft = MAX_STEPS;
  try {
    return { value: reader.read(plan, 0, null), warnings: reader.warnings() };
  } finally {
    search.stepsLeft = Infinity;
    search.scope = 0;
  }
}

class FactsReader {
  private readonly source: FactsSource;
  private readonly language: string | null;
  private charsLeft = MAX_CHARS;
  private valuesLeft = MAX_VALUES;
  /** An item of a list in which none was found is left out. */
  private valuesFound = 0;
  private isExhausted = false;
  private isCut = false;
  private shownMask: Mask | null = null;

  constructor(
    private readonly page: FactsPage,
    keys: IndexKeys,
  ) {
    this.source = { tree: page.tree, index: new PageIndex(page.tree, keys) };
    this.language = languageOf(page.tree);
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

  /** Value that a plan finds at an element, or at one attribute of it. */
  read(plan: Plan, node: number, attribute: Attribute | null): unknown {
    if (plan.type === 'list') return this.readList(plan, node);
    const at = plan.query === null ? node : (this.nodesOf(plan.query, node, 1)[0] ?? -1);
    if (at < 0) return null;
    const end = plan.query === null ? attribute : plan.end;
    if (plan.type === 'object') return this.readObject(plan, at, end);
    const value = this.readValue(plan, at, end);
    if (value !== null && value !== '') this.valuesFound++;
    return value;
  }

  private readObject({ names, fields }: ObjectPlan, node: number, attribute: Attribute | null): object {
    const object: Record<string, unknown> = {};
    for (let i = 0; i < names.length; i++) setOwn(object, names[i]!, this.read(fields[i]!, node, attribute));
    return object;
  }

  private readList({ query, end, item }: ListPlan, node: number): unknown[] {
    const nodes = this.nodesOf(query, node, MAX_ITEMS + 1);
    if (nodes.length > MAX_ITEMS) this.isCut = true;
    const values: unknown[] = [];
    for (let i = 0; i < nodes.length && i < MAX_ITEMS; i++) {
      const before = this.valuesFound;
      const value = this.read(item, nodes[i]!, end);
      if (this.valuesFound > before) values.push(value);
    }
    return values;
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

  private readValue(plan: ValuePlan, node: number, end: Attribute | null): unknown {
    if (this.valuesLeft-- <= 0) return this.cut();
    const attribute = plan.attribute ?? end;
    if (plan.as === 'boolean' && attribute !== null) return this.hasAttribute(node, attribute);
    const text = this.textAt(node, attribute, plan.as);
    if (text === null) return null;
    if (text.length > this.charsLeft) return this.cut();
    this.charsLeft -= text.length;
    return this.valueOf(text, plan.as);
  }

  private cut(): null {
    this.isCut = true;
    return null;
  }

  /** An attribute without a value is true by being there. */
  private hasAttribute(node: number, { hash }: Attribute): boolean {
    const value = this.page.tree.isText(node) ? null : this.page.tree.attr(node, hash);
    return value !== null && booleanIn(value) !== false;
  }

  private textAt(node: number, attribute: Attribute | null, as: ValuePlan['as']): string | null {
    const { tree, urls, mask } = this.page;
    if (attribute?.name === 'html') return writeInnerHtml(tree, this.shown(), urls, node);
    if (attribute !== null) return tree.isText(node) ? null : (tree.attr(node, attribute.hash)?.trim() ?? null);
    const text = this.meantAttribute(node, as) ?? shownText(tree, mask, node);
    return text === '' ? null : text;
  }

  private shown(): Mask {
    this.shownMask ??= withoutDropped(wholePage(this.page.tree), this.page.mask);
    return this.shownMask;
  }

  /** An address stands in the attribute that the browser follows, a day in the machine's form of it. */
  private meantAttribute(node: number, as: ValuePlan['as']): string | null {
    const { tree } = this.page;
    if (tree.isText(node)) return null;
    if (as === 'date') return tree.attr(node, DATETIME) ?? contentOfMeta(tree, node);
    if (as !== 'url') return contentOfMeta(tree, node);
    if (tree.tag[node] === T.img) return imageSource(tree, node);
    return tree.attr(node, A.href) ?? tree.attr(node, A.src) ?? contentOfMeta(tree, node);
  }

  private valueOf(text: string, as: ValuePlan['as']): unknown {
    switch (as) {
      case 'number':
        return numberIn(text, hasDecimalComma(this.language));
      case 'integer':
        return integerIn(text, hasDecimalComma(this.language));
      case 'boolean':
        return booleanIn(text);
      case 'date':
        return dateIn(text.trim(), isMonthFirst(this.language));
      case 'url':
        return text === '' ? null : this.page.urls.resolve(text);
      case 'string':
        return text;
    }
  }
}

/** Sets a field also where its name means something to JavaScript. */
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

/** Text of a node as the page shows it: white space collapsed, except in `pre`; blocks and cells apart from each other. */
function shownText(tree: Tree, mask: Mask | null, node: number): string {
  const only = onlyText(tree, mask, node);
  const text = only < 0 ? null : tree.text(only);
  const line = text === null ? null : collapsed(text);
  // A text without extra white space is the same everywhere.
  if (line !== null && line === text) return line;
  const isVerbatim = isPreformatted(tree, node);
  if (line !== null && !isVerbatim) return line;
  return textBelow(tree, mask, node, isVerbatim);
}

function textBelow(tree: Tree, mask: Mask | null, node: number, isVerbatim: boolean): string {
  const separator = isVerbatim ? '' : ' ';
  const ends: number[] = [];
  let text = '';
  for (let i = node; i < tree.end[node]!;) {
    while (ends.length > 0 && ends.at(-1)! <= i) {
      ends.pop();
      text += separator;
    }
    const flags = flagsOf(tree.tag[i]!);
    if (i !== node && isLeftOut(tree, mask, i)) {
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

/** The text that is all there is in a node, however deep, or the node itself; -1: there is more, or less. */
function onlyText(tree: Tree, mask: Mask | null, node: number): number {
  const end = tree.end[node]!;
  let at = node;
  while (!tree.isText(at)) {
    at++;
    if (at >= end || tree.end[at] !== end || isLeftOut(tree, mask, at)) return -1;
  }
  return at;
}

function isLeftOut(tree: Tree, mask: Mask | null, node: number): boolean {
  return mask?.[node] === DROP || (flagsOf(tree.tag[node]!) & F.invisible) !== 0 || isPermalinkAt(tree, node);
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
