/**
 * HTML text to `Tree` in one pass.
 *
 * Follows the HTML standard where it changes what a reader sees (implied end tags, void and raw elements, scopes of end
 * tags); misnested formatting ends where its innermost block ends, and nothing is moved out of tables. Every character is
 * looked at a bounded number of times: an unclosed construct ends the page instead of being searched for again.
 */
import { DOCUMENT, F, FIRST_CUSTOM_TAG, T, TEXT, flagsOf, hashRange, lookupTag } from './tags.js';
import { Tree, type TreeArrays } from './tree.js';

/** Deeper elements become siblings, as browsers do; keeps recursion and searches on the stack of open elements bounded. */
const MAX_DEPTH = 512;
const MAX_CUSTOM_TAGS = 60_000;
const COMMENT_END = /--!?>/g;

const TAB = 9;
const LF = 10;
const FF = 12;
const CR = 13;
const SPACE = 32;
const BANG = 33;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const SLASH = 47;
const EQUALS = 61;
const GT = 62;
const QUESTION = 63;

function isSpace(c: number): boolean {
  return c === SPACE || (c <= CR && (c === LF || c === TAB || c === CR || c === FF));
}

function isLetter(c: number): boolean {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90);
}

function grow<A extends Uint16Array | Int32Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2);
  larger.set(array);
  return larger;
}

class Parser {
  private readonly a: TreeArrays;
  private nodes = 0;
  private attrs = 0;
  private readonly customTags: string[] = [];
  private readonly customIds = new Map<string, number>();
  private readonly stack = new Int32Array(MAX_DEPTH + 1);
  private depth = 0;
  /** Elements whose end tag was seen while blocks inside were still open. */
  private readonly ending = new Uint8Array(MAX_DEPTH + 1);
  private readonly open = new Uint16Array(FIRST_CUSTOM_TAG);
  private seenHead = false;
  private seenBody = false;
  private seenHtml = false;

  constructor(private readonly html: string) {
    const nodes = (html.length >> 4) + 64;
    const attrs = (html.length >> 5) + 32;
    this.a = {
      tag: new Uint16Array(nodes),
      parent: new Int32Array(nodes),
      end: new Int32Array(nodes),
      from: new Int32Array(nodes),
      to: new Int32Array(nodes),
      attrHash: new Int32Array(attrs),
      attrNameFrom: new Int32Array(attrs),
      attrNameTo: new Int32Array(attrs),
      attrFrom: new Int32Array(attrs),
      attrTo: new Int32Array(attrs),
    };
  }

  parse(): Tree {
    this.push(this.addNode(DOCUMENT, 0, 0));
    this.tokenize();
    while (this.depth > 0) this.popOne();
    return new Tree(this.html, this.nodes, this.customTags, this.a);
  }

  private tokenize(): void {
    const { html } = this;
    let textFrom = 0;
    let i = 0;
    for (;;) {
      const lt = html.indexOf('<', i);
      if (lt < 0) break;
      const c = html.charCodeAt(lt + 1);
      if (!isLetter(c) && c !== SLASH && c !== BANG && c !== QUESTION) {
        i = lt + 1;
        continue;
      }
      if (c === SLASH && lt + 2 >= html.length) break;
      this.addText(textFrom, lt);
      i = isLetter(c) ? this.readStartTag(lt) : c === SLASH ? this.readEndTag(lt) : this.readDeclaration(lt);
      textFrom = i;
    }
    this.addText(textFrom, html.length);
  }

  // ---- tokens

  private readDeclaration(lt: number): number {
    const { html } = this;
    if (html.startsWith('<!--', lt)) {
      COMMENT_END.lastIndex = lt + 2;
      return COMMENT_END.exec(html) === null ? html.length : COMMENT_END.lastIndex;
    }
    if (this.inForeign() && html.startsWith('<![CDATA[', lt)) {
      const close = html.indexOf(']]>', lt);
      this.addText(lt + 9, close < 0 ? html.length : close);
      return close < 0 ? html.length : close + 3;
    }
    return this.after(html.indexOf('>', lt));
  }

  private after(index: number): number {
    return index < 0 ? this.html.length : index + 1;
  }

  private readEndTag(lt: number): number {
    const { html } = this;
    if (!isLetter(html.charCodeAt(lt + 2))) return this.after(html.indexOf('>', lt + 2));
    const nameTo = this.endOfName(lt + 2);
    this.closeTag(this.tagNumber(lt + 2, nameTo));
    return this.after(html.indexOf('>', nameTo));
  }

  private endOfName(from: number): number {
    const { html } = this;
    let i = from;
    for (; i < html.length; i++) {
      const c = html.charCodeAt(i);
      if (c === GT || c === SLASH || isSpace(c)) break;
    }
    return i;
  }

  private readStartTag(lt: number): number {
    const nameTo = this.endOfName(lt + 1);
    const attrsFrom = this.attrs;
    const close = this.readAttributes(nameTo);
    if (close < 0) {
      this.attrs = attrsFrom;
      return this.html.length;
    }
    const selfClosing = close > 0 && this.html.charCodeAt(close - 1) === SLASH && this.lastValueTo < close;
    const tag = this.tagNumber(lt + 1, nameTo);
    const opened = this.openTag(tag, attrsFrom, selfClosing);
    if (!opened) return close + 1;
    return flagsOf(tag) & F.raw && !this.inForeign() ? this.readRaw(tag, close + 1, nameTo - lt - 1) : close + 1;
  }

  private lastValueTo = 0;

  /** Reads attributes up to `>`; returns its index, or -1 when the tag is never closed. */
  private readAttributes(from: number): number {
    const { html } = this;
    this.lastValueTo = 0;
    let i = from;
    for (;;) {
      while (i < html.length && (isSpace(html.charCodeAt(i)) || html.charCodeAt(i) === SLASH)) i++;
      if (i >= html.length) return -1;
      if (html.charCodeAt(i) === GT) return i;
      const nameFrom = i++;
      for (; i < html.length; i++) {
        const c = html.charCodeAt(i);
        if (c === EQUALS || c === GT || c === SLASH || isSpace(c)) break;
      }
      i = this.readValue(nameFrom, i);
      if (i < 0) return -1;
    }
  }

  /** Reads `= value` after an attribute name if there is one; returns the index after it, -1 when it is never closed. */
  private readValue(nameFrom: number, nameTo: number): number {
    const { html } = this;
    let i = nameTo;
    while (i < html.length && isSpace(html.charCodeAt(i))) i++;
    if (html.charCodeAt(i) !== EQUALS) {
      this.addAttr(nameFrom, nameTo, nameTo, nameTo);
      return i;
    }
    i++;
    while (i < html.length && isSpace(html.charCodeAt(i))) i++;
    const quote = html.charCodeAt(i);
    if (quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE) {
      const close = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", i + 1);
      if (close < 0) return -1;
      this.addAttr(nameFrom, nameTo, i + 1, close);
      return close + 1;
    }
    const valueFrom = i;
    while (i < html.length && html.charCodeAt(i) !== GT && !isSpace(html.charCodeAt(i))) i++;
    this.addAttr(nameFrom, nameTo, valueFrom, i);
    this.lastValueTo = i;
    return i;
  }

  private readRaw(tag: number, from: number, nameLength: number): number {
    const { html } = this;
    if (tag === T.plaintext) {
      this.addText(from, html.length);
      return html.length;
    }
    for (let i = html.indexOf('</', from); i >= 0; i = html.indexOf('</', i + 2)) {
      const nameTo = i + 2 + nameLength;
      const c = html.charCodeAt(nameTo);
      if (!(c === GT || c === SLASH || isSpace(c)) || lookupTag(html, i + 2, nameTo) !== tag) continue;
      this.addText(from, i);
      this.popOne();
      return this.after(html.indexOf('>', nameTo));
    }
    this.addText(from, html.length);
    return html.length;
  }

  private tagNumber(from: number, to: number): number {
    const known = lookupTag(this.html, from, to);
    if (known === T.image) return T.img;
    if (known !== 0) return known;
    const name = this.html.slice(from, Math.min(to, from + 64)).toLowerCase();
    const seen = this.customIds.get(name);
    if (seen !== undefined) return seen;
    const tag = FIRST_CUSTOM_TAG + Math.min(this.customTags.length, MAX_CUSTOM_TAGS);
    if (this.customTags.length < MAX_CUSTOM_TAGS) this.customTags.push(name);
    this.customIds.set(name, tag);
    return tag;
  }

  // ---- tree

  private addNode(tag: number, from: number, to: number): number {
    const { a } = this;
    const node = this.nodes++;
    if (node === a.tag.length) {
      a.tag = grow(a.tag);
      a.parent = grow(a.parent);
      a.end = grow(a.end);
      a.from = grow(a.from);
      a.to = grow(a.to);
    }
    a.tag[node] = tag;
    a.parent[node] = this.depth === 0 ? -1 : this.stack[this.depth - 1]!;
    a.end[node] = node + 1;
    a.from[node] = from;
    a.to[node] = to;
    return node;
  }

  private addAttr(nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    const { a } = this;
    const index = this.attrs++;
    if (index === a.attrHash.length) {
      a.attrHash = grow(a.attrHash);
      a.attrNameFrom = grow(a.attrNameFrom);
      a.attrNameTo = grow(a.attrNameTo);
      a.attrFrom = grow(a.attrFrom);
      a.attrTo = grow(a.attrTo);
    }
    a.attrHash[index] = hashRange(this.html, nameFrom, nameTo);
    a.attrNameFrom[index] = nameFrom;
    a.attrNameTo[index] = nameTo;
    a.attrFrom[index] = valueFrom;
    a.attrTo[index] = valueTo;
  }

  private addText(from: number, to: number): void {
    if (from >= to) return;
    const top = this.topTag();
    if ((flagsOf(top) & F.noText) !== 0 && this.isBlank(from, to)) return;
    if (top === T.head) this.popOne();
    this.addNode(TEXT, from, to);
  }

  private isBlank(from: number, to: number): boolean {
    for (let i = from; i < to; i++) if (!isSpace(this.html.charCodeAt(i))) return false;
    return true;
  }

  private topTag(): number {
    return this.a.tag[this.stack[this.depth - 1]!]!;
  }

  private tagAt(level: number): number {
    return this.a.tag[this.stack[level]!]!;
  }

  private inForeign(): boolean {
    return this.open[T.svg]! + this.open[T.math]! > 0;
  }

  private push(node: number): void {
    if (this.depth >= MAX_DEPTH) this.popOne();
    const tag = this.a.tag[node]!;
    this.a.parent[node] = this.depth === 0 ? -1 : this.stack[this.depth - 1]!;
    this.ending[this.depth] = 0;
    this.stack[this.depth++] = node;
    if (tag < FIRST_CUSTOM_TAG) this.open[tag]!++;
  }

  private popOne(): void {
    const node = this.stack[--this.depth]!;
    const tag = this.a.tag[node]!;
    this.a.end[node] = this.nodes;
    if (tag < FIRST_CUSTOM_TAG) this.open[tag]!--;
  }

  /** Closes the element at this level of the stack and everything in it, then whatever was only waiting for that. */
  private popTo(level: number): void {
    while (this.depth > level) this.popOne();
    while (this.depth > 1 && this.ending[this.depth - 1] === 1) this.popOne();
  }

  private openTag(tag: number, attrsFrom: number, selfClosing: boolean): boolean {
    if (this.isIgnored(tag)) {
      this.attrs = attrsFrom;
      return false;
    }
    const flags = flagsOf(tag);
    if (!this.inForeign()) this.closeImplied(tag, flags);
    const isLeaf = (flags & F.void) !== 0 || (selfClosing && (this.inForeign() || tag === T.svg || tag === T.math));
    if (!isLeaf && this.depth >= MAX_DEPTH) this.popOne();
    const node = this.addNode(tag, attrsFrom, this.attrs);
    if (isLeaf) return false;
    this.push(node);
    return true;
  }

  /** Second `html`, `head` and `body` tags, and parts of a table outside any. */
  private isIgnored(tag: number): boolean {
    if (tag === T.html) return this.seenHtml || !(this.seenHtml = true);
    if (tag === T.head) return this.seenHead || this.seenBody || !(this.seenHead = true);
    if (tag === T.body) return this.seenBody || !(this.seenBody = true);
    return (flagsOf(tag) & F.tablePart) !== 0 && this.open[T.table] === 0;
  }

  private closeImplied(tag: number, flags: number): void {
    if (this.topTag() === T.head && (flags & F.head) === 0) this.popOne();
    if (flags & F.closesP && this.open[T.p]! > 0) this.closeInScope(T.p);
    if (flags & F.heading && flagsOf(this.topTag()) & F.heading) this.popTo(this.depth - 1);
    if (flags & F.tablePart) return this.closeTablePart(tag);
    if (tag === T.li) this.closeItem(T.li, T.li);
    else if (tag === T.dt || tag === T.dd) this.closeItem(T.dt, T.dd);
    else if (tag === T.option) this.closeTop(T.option, T.option);
    else if (tag === T.optgroup) {
      this.closeTop(T.option, T.option);
      this.closeTop(T.optgroup, T.optgroup);
    } else if (tag === T.rt || tag === T.rp) this.closeTop(T.rt, T.rp);
    else if (tag === T.a && this.open[T.a]! > 0) this.closeInline(T.a);
    else if (tag === T.button && this.open[T.button]! > 0) this.closeInScope(T.button);
  }

  private closeTop(one: number, other: number): void {
    const top = this.topTag();
    if (top === one || top === other) this.popTo(this.depth - 1);
  }

  private closeInScope(tag: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return this.popTo(level);
      if (flagsOf(open) & F.scope) return;
    }
  }

  private closeItem(one: number, other: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === one || open === other) return this.popTo(level);
      if (flagsOf(open) & F.special && open !== T.div && open !== T.p && open !== T.address) return;
    }
  }

  private closeTablePart(tag: number): void {
    const isCell = tag === T.td || tag === T.th;
    let close = 0;
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === T.table || open === T.template || (isCell && open === T.tr)) break;
      const isSection = open === T.tbody || open === T.thead || open === T.tfoot;
      if (isSection && (tag === T.tr || isCell)) break;
      if (flagsOf(open) & F.tablePart) close = level;
    }
    if (close > 0) this.popTo(close);
  }

  private closeTag(tag: number): void {
    if (tag === T.html || tag === T.body) return;
    if (tag === T.br) return void this.addNode(T.br, this.attrs, this.attrs);
    const flags = flagsOf(tag);
    if (flags & F.void || (tag < FIRST_CUSTOM_TAG && this.open[tag] === 0 && (flags & F.heading) === 0)) return;
    if (flags & F.formatting) return this.closeInline(tag);
    if (flags & F.heading) return this.closeHeading();
    if (flags & F.tablePart || tag === T.table) return this.closeTableTag(tag);
    if (flags & F.special) return this.closeInScopeOrForeign(tag);
    this.closeOther(tag);
  }

  private closeHeading(): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const flags = flagsOf(this.tagAt(level));
      if (flags & F.heading) return this.popTo(level);
      if (flags & F.scope) return;
    }
  }

  private closeTableTag(tag: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return this.popTo(level);
      if (open === T.table || open === T.template) return;
    }
  }

  private closeInScopeOrForeign(tag: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return this.popTo(level);
      if (flagsOf(open) & F.scope && open !== T.svg && open !== T.math) return;
      if (tag === T.li && (open === T.ul || open === T.ol)) return;
    }
  }

  private closeOther(tag: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return this.popTo(level);
      if (flagsOf(open) & F.special) return;
    }
  }

  /** A formatting element ends at once, or, with blocks open inside it, together with them. */
  private closeInline(tag: number): void {
    let hasBlock = false;
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      const flags = flagsOf(open);
      if (open === tag && this.ending[level] === 0) {
        if (hasBlock) this.ending[level] = 1;
        else this.popTo(level);
        return;
      }
      if (flags & F.scope) return;
      if (flags & F.special) hasBlock = true;
    }
  }
}

/** Never throws: any text is a page. */
export function parseHtml(html: string): Tree {
  return new Parser(html).parse();
}
