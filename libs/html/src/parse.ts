/**
 * HTML text to `Tree` in one pass: the tokenizer. The meaning of tags is decided in tree-builder.ts.
 *
 * Every character is looked at a bounded number of times: an unclosed construct ends the page instead of being searched
 * for again.
 */
import { FIRST_CUSTOM_TAG, FNV_OFFSET, FNV_PRIME, T, lookupTag } from './tags.js';
import { TreeBuilder } from './tree-builder.js';
import type { Tree } from './tree.js';

const MAX_CUSTOM_TAGS = 60_000;

const TAB = 9;
const LF = 10;
const FF = 12;
const CR = 13;
const SPACE = 32;
const BANG = 33;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const SLASH = 47;
const LT = 60;
const EQUALS = 61;
const GT = 62;
const QUESTION = 63;

function isSpace(c: number): boolean {
  return c === SPACE || (c <= CR && (c === LF || c === TAB || c === CR || c === FF));
}

function isLetter(c: number): boolean {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90);
}

/** `hashRange` by one more character. */
function hashStep(hash: number, c: number): number {
  return Math.imul(hash ^ (c >= 65 && c <= 90 ? c | 0x20 : c), FNV_PRIME);
}

class Parser {
  private readonly html: string;
  private readonly customTags: string[] = [];
  private readonly customIds = new Map<string, number>();
  private readonly builder: TreeBuilder;
  /** End of the last unquoted value: a slash before it is no self-closing one. */
  private lastValueTo = 0;
  private nameHash = 0;

  constructor(html: string) {
    this.html = html;
    this.builder = new TreeBuilder(html, this.customTags);
  }

  parse(): Tree {
    this.tokenize();
    return this.builder.finish();
  }

  private tokenize(): void {
    const { html } = this;
    let textFrom = 0;
    let i = 0;
    for (;;) {
      const lt = html.charCodeAt(i) === LT ? i : html.indexOf('<', i);
      if (lt < 0) break;
      const c = html.charCodeAt(lt + 1);
      if (!isLetter(c) && c !== SLASH && c !== BANG && c !== QUESTION) {
        i = lt + 1;
        continue;
      }
      if (c === SLASH && lt + 2 >= html.length) break;
      this.builder.text(textFrom, lt);
      i = isLetter(c) ? this.readStartTag(lt) : c === SLASH ? this.readEndTag(lt) : this.readDeclaration(lt);
      textFrom = i;
    }
    this.builder.text(textFrom, html.length);
  }

  // ---- tokens

  private readDeclaration(lt: number): number {
    const { html } = this;
    if (html.startsWith('<!--', lt)) return this.endOfComment(lt);
    if (this.builder.isForeign() && html.startsWith('<![CDATA[', lt)) {
      const close = html.indexOf(']]>', lt);
      this.builder.text(lt + 9, close < 0 ? html.length : close);
      return close < 0 ? html.length : close + 3;
    }
    return this.after(html.indexOf('>', lt));
  }

  /** Index after `-->`, or after `--!>` if that comes first. */
  private endOfComment(lt: number): number {
    const { html } = this;
    const close = html.indexOf('-->', lt + 2);
    const odd = html.slice(lt + 4, close < 0 ? html.length : close).indexOf('--!>');
    if (odd >= 0) return lt + 8 + odd;
    return close < 0 ? html.length : close + 3;
  }

  private after(index: number): number {
    return index < 0 ? this.html.length : index + 1;
  }

  private readEndTag(lt: number): number {
    const { builder, html } = this;
    if (!isLetter(html.charCodeAt(lt + 2))) return this.after(html.indexOf('>', lt + 2));
    const nameTo = this.endOfName(lt + 2);
    const tag = this.tagNumber(lt + 2, nameTo);
    const { attrs } = builder.store;
    const close = html.charCodeAt(nameTo) === GT ? nameTo : this.readAttributes(nameTo);
    builder.store.attrs = attrs;
    if (close < 0) return html.length;
    builder.endTag(tag);
    return close + 1;
  }

  /** Index after a tag's name; leaves its hash in `nameHash`. */
  private endOfName(from: number): number {
    const { html } = this;
    let hash = FNV_OFFSET;
    let i = from;
    for (; i < html.length; i++) {
      const c = html.charCodeAt(i);
      if (c === GT || c === SLASH || isSpace(c)) break;
      hash = hashStep(hash, c);
    }
    this.nameHash = hash;
    return i;
  }

  private readStartTag(lt: number): number {
    const { builder, html } = this;
    const nameTo = this.endOfName(lt + 1);
    const tag = this.tagNumber(lt + 1, nameTo);
    const attrsFrom = builder.store.attrs;
    const close = this.readAttributes(nameTo);
    if (close < 0) {
      builder.store.attrs = attrsFrom;
      return html.length;
    }
    const selfClosing = html.charCodeAt(close - 1) === SLASH && this.lastValueTo < close;
    if (builder.startTag(tag, attrsFrom, selfClosing) === 'raw') return this.readRaw(tag, close + 1, nameTo - lt - 1);
    // A line end right after these tags is not part of the text.
    return tag === T.pre || tag === T.listing ? this.skipLineEnd(close + 1) : close + 1;
  }

  private skipLineEnd(from: number): number {
    const at = this.html.charCodeAt(from) === CR ? from + 1 : from;
    return this.html.charCodeAt(at) === LF ? at + 1 : at;
  }

  /** Reads attributes up to `>`; returns its index, or -1 when the tag is never closed. */
  private readAttributes(from: number): number {
    const { html } = this;
    this.lastValueTo = 0;
    let i = from;
    for (;;) {
      while (i < html.length && (isSpace(html.charCodeAt(i)) || html.charCodeAt(i) === SLASH)) i++;
      if (i >= html.length) return -1;
      if (html.charCodeAt(i) === GT) return i;
      const nameFrom = i;
      let hash = FNV_OFFSET;
      for (; i < html.length; i++) {
        const c = html.charCodeAt(i);
        if (c === GT || c === SLASH || isSpace(c) || (c === EQUALS && i > nameFrom)) break;
        hash = hashStep(hash, c);
      }
      i = this.readValue(hash, nameFrom, i);
      if (i < 0) return -1;
    }
  }

  /** Reads `= value` after an attribute name if there is one; returns the index after it, -1 when it is never closed. */
  private readValue(hash: number, nameFrom: number, nameTo: number): number {
    const { html } = this;
    let i = nameTo;
    while (i < html.length && isSpace(html.charCodeAt(i))) i++;
    if (html.charCodeAt(i) !== EQUALS) {
      this.builder.store.addAttr(hash, nameFrom, nameTo, nameTo, nameTo);
      return i;
    }
    i++;
    while (i < html.length && isSpace(html.charCodeAt(i))) i++;
    const quote = html.charCodeAt(i);
    if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
      const close = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", i + 1);
      if (close < 0) return -1;
      this.builder.store.addAttr(hash, nameFrom, nameTo, i + 1, close);
      return close + 1;
    }
    const valueFrom = i;
    while (i < html.length && html.charCodeAt(i) !== GT && !isSpace(html.charCodeAt(i))) i++;
    this.builder.store.addAttr(hash, nameFrom, nameTo, valueFrom, i);
    this.lastValueTo = i;
    return i;
  }

  private readRaw(tag: number, from: number, nameLength: number): number {
    const { builder, html } = this;
    const textFrom = tag === T.textarea ? this.skipLineEnd(from) : from;
    for (let i = tag === T.plaintext ? -1 : html.indexOf('</', from); i >= 0; i = html.indexOf('</', i + 2)) {
      const nameTo = i + 2 + nameLength;
      const c = html.charCodeAt(nameTo);
      if (!(c === GT || c === SLASH || isSpace(c)) || lookupTag(html, i + 2, nameTo) !== tag) continue;
      builder.rawText(textFrom, i);
      return this.after(html.indexOf('>', nameTo));
    }
    builder.rawText(textFrom, html.length);
    return html.length;
  }

  /** Number of the tag whose name `endOfName` has just read. */
  private tagNumber(from: number, to: number): number {
    const known = lookupTag(this.html, from, to, this.nameHash);
    if (known !== 0) return known;
    const name = this.html.slice(from, Math.min(to, from + 64)).toLowerCase();
    const seen = this.customIds.get(name);
    if (seen !== undefined) return seen;
    const tag = FIRST_CUSTOM_TAG + Math.min(this.customTags.length, MAX_CUSTOM_TAGS);
    if (this.customTags.length < MAX_CUSTOM_TAGS) this.customTags.push(name);
    this.customIds.set(name, tag);
    return tag;
  }
}

/** Never throws: any text is a page. */
export function parseHtml(html: string): Tree {
  return new Parser(html).parse();
}
