import { decodeHTML, decodeHTMLAttribute } from 'entities/decode';
import { F, FIRST_CUSTOM_TAG, TEXT, flagsOf, lookupTag, tagName } from './tags.js';

/** Thrown when a search has taken all its steps. */
export class SearchExhausted extends Error {}

/** Where `:scope` is, and how many nodes may still be looked at. */
export class Search {
  /** 0: the page; its root element is meant. */
  scope = 0;
  /** @default no limit */
  stepsLeft = Infinity;

  /** @throws SearchExhausted */
  spend(steps: number): void {
    this.stepsLeft -= steps;
    if (this.stepsLeft < 0) throw new SearchExhausted();
  }
}

const NO_TAG = 0xffff;
const CLASS_SPACE = /[ \t\n\r\f]+/;

/**
 * A parsed page in typed arrays: no object per node.
 *
 * Nodes are numbered in document order, 0 is the document itself. The subtree of `n` is the range `[n, end[n])`, so its
 * first child is `n + 1`, the next sibling of `c` is `end[c]`, and a pass over the page is one loop. Depth is bounded
 * (parse.ts), so recursion over the tree is safe. Text and attribute values are ranges of `source`, decoded when asked.
 */
export class Tree {
  /** `TEXT`, `DOCUMENT`, a known tag, or `FIRST_CUSTOM_TAG` + index into `customTags`. */
  readonly tag: Uint16Array;
  readonly parent: Int32Array;
  readonly end: Int32Array;
  /** Text: range of `source`. Element: range of its attributes. */
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** Hash of the lower-cased name of each attribute. */
  readonly attrHash: Int32Array;
  readonly attrNameFrom: Int32Array;
  readonly attrNameTo: Int32Array;
  readonly attrFrom: Int32Array;
  readonly attrTo: Int32Array;
  /** Start and budget of a search on this page; nothing else of a tree ever changes. */
  readonly search = new Search();

  constructor(
    readonly source: string,
    readonly count: number,
    /** Number of attributes; the arrays may be longer. */
    readonly attrCount: number,
    readonly customTags: readonly string[],
    arrays: TreeArrays,
  ) {
    ({
      tag: this.tag,
      parent: this.parent,
      end: this.end,
      from: this.from,
      to: this.to,
      attrHash: this.attrHash,
      attrNameFrom: this.attrNameFrom,
      attrNameTo: this.attrNameTo,
      attrFrom: this.attrFrom,
      attrTo: this.attrTo,
    } = arrays);
  }

  name(node: number): string {
    const tag = this.tag[node]!;
    return tag < FIRST_CUSTOM_TAG ? tagName(tag) : (this.customTags[tag - FIRST_CUSTOM_TAG] ?? 'unknown');
  }

  /** Number of a tag by its name in lower case; one that no node has when the page does not know the name. */
  tagNumber(name: string): number {
    const known = lookupTag(name, 0, name.length);
    if (known > 0) return known;
    const custom = this.customTags.indexOf(name);
    return custom < 0 ? NO_TAG : FIRST_CUSTOM_TAG + custom;
  }

  isText(node: number): boolean {
    return this.tag[node] === TEXT;
  }

  /** Index of an element's attribute, -1 when absent; the first one wins. */
  attrIndex(node: number, hash: number): number {
    const to = this.to[node]!;
    for (let i = this.from[node]!; i < to; i++) if (this.attrHash[i] === hash) return i;
    return -1;
  }

  /** Decoded value, null when absent. */
  attr(node: number, hash: number): string | null {
    const i = this.attrIndex(node, hash);
    return i < 0 ? null : this.attrValue(i);
  }

  attrValue(index: number): string {
    const raw = this.source.slice(this.attrFrom[index], this.attrTo[index]);
    return raw.includes('&') ? decodeHTMLAttribute(raw) : raw;
  }

  attrName(index: number): string {
    return this.source.slice(this.attrNameFrom[index], this.attrNameTo[index]).toLowerCase();
  }

  classes(node: number, classHash: number): string[] {
    const value = this.attr(node, classHash);
    return value === null ? [] : value.split(CLASS_SPACE).filter((name) => name !== '');
  }

  /** Decoded text of a text node, white space as written. */
  text(node: number): string {
    const raw = this.source.slice(this.from[node], this.to[node]);
    if (!raw.includes('&')) return raw;
    return flagsOf(this.tag[this.parent[node]!]!) & F.verbatim ? raw : decodeHTML(raw);
  }

  /** Text of all text nodes below. Content of raw elements is included as it is. */
  textContent(node: number): string {
    let text = '';
    for (let i = node, to = this.end[node]!; i < to; i++) if (this.tag[i] === TEXT) text += this.text(i);
    return text;
  }
}

export interface TreeArrays {
  tag: Uint16Array;
  parent: Int32Array;
  end: Int32Array;
  from: Int32Array;
  to: Int32Array;
  attrHash: Int32Array;
  attrNameFrom: Int32Array;
  attrNameTo: Int32Array;
  attrFrom: Int32Array;
  attrTo: Int32Array;
}
