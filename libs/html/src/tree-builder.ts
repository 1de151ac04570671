/**
 * Tags and text to nodes, recovering from broken HTML as the HTML standard says where a reader would see it: implied end
 * tags, scopes, misnested and unclosed formatting, content between the cells of tables, foreign content.
 *
 * Left out: implied html, head, body and tbody elements, and formatting reopened for white space alone.
 */
import { ActiveFormatting } from './active-formatting.js';
import { MAX_DEPTH, NodeStore } from './node-store.js';
import { A, F, FIRST_CUSTOM_TAG, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';

/** Rounds of one end tag through misnested formatting (HTML standard). */
const MAX_ROUNDS = 8;
const MAX_CLONED = 3;
/** Elements whose end tag may be missing in front of the end of a form. */
const IMPLIED_ENDS: ReadonlySet<number> = new Set([T.p, T.li, T.dt, T.dd, T.option, T.optgroup, T.rt, T.rp]);
const INTEGRATION_POINTS: ReadonlySet<string> = new Set([
  'foreignobject',
  'desc',
  'mi',
  'mo',
  'mn',
  'ms',
  'mtext',
  'annotation-xml',
]);

/** Rules for the content of an open element. */
const HTML = 0;
const FOREIGN = 1;
/** Itself foreign, its content is HTML. */
const INTEGRATION = 2;

/** Result of `startTag`: content follows as usual, as text up to the end tag, or not at all. */
export type Opened = 'content' | 'raw' | 'nothing';

/** Open elements. Shared by all pages, which are parsed one after the other. */
const STACK = new Int32Array(MAX_DEPTH + 2);
const TAGS = new Uint16Array(MAX_DEPTH + 2);
const KINDS = new Uint8Array(MAX_DEPTH + 2);
const ENDED = new Uint8Array(MAX_DEPTH + 2);
const OPEN = new Uint16Array(FIRST_CUSTOM_TAG);

/** Builds the tree of the page that is being parsed. A new builder ends the one before. */
export class TreeBuilder {
  readonly store: NodeStore;
  private readonly formatting: ActiveFormatting;
  private readonly stack = STACK;
  /** Tags of the elements on the stack. */
  private readonly tags = TAGS;
  private readonly kinds = KINDS;
  /** 1 = a form whose end tag came while elements inside were open: it ends with them. */
  private readonly ended = ENDED;
  private depth = 0;
  /** How many of each known tag are open. */
  private readonly open = OPEN.fill(0);
  private form = 0;
  /** Elements that may still be made without a tag of their own. The limit keeps the tree linear in the page. */
  private clones: number;
  private seenHead = false;
  private seenBody = false;
  private seenHtml = false;

  constructor(
    html: string,
    private readonly customTags: readonly string[],
  ) {
    this.store = new NodeStore(html);
    this.formatting = new ActiveFormatting(this.store);
    this.clones = (html.length >> 3) + 64;
    this.push(0, HTML);
  }

  finish(): Tree {
    while (this.depth > 0) this.popOne();
    return this.store.finish(this.customTags);
  }

  isForeign(): boolean {
    return this.kinds[this.depth - 1] === FOREIGN;
  }

  text(from: number, to: number): void {
    if (from >= to) return;
    const topFlags = flagsOf(this.topTag());
    const isBlank = (topFlags & F.noText || this.hasClosedFormatting()) && this.isBlank(from, to);
    if (isBlank && topFlags & F.noText) return;
    if (this.topTag() === T.head) this.popOne();
    if (!isBlank && !this.isForeign()) this.reopenFormatting();
    this.insert(TEXT, from, to);
  }

  /** Content of a raw element, and its end. */
  rawText(from: number, to: number): void {
    if (from < to) this.insert(TEXT, from, to);
    this.popOne();
  }

  // ---- start tags

  startTag(tag: number, attrsFrom: number, selfClosing: boolean): Opened {
    if (this.isForeign() && !this.leavesForeign(tag, attrsFrom)) {
      this.insertForeign(tag, attrsFrom, selfClosing);
      return 'content';
    }
    return this.startHtmlTag(tag === T.image ? T.img : tag, attrsFrom, selfClosing);
  }

  private startHtmlTag(tag: number, attrsFrom: number, selfClosing: boolean): Opened {
    const flags = flagsOf(tag);
    const isRuled = (flags & F.ruled) !== 0;
    if (isRuled && this.isIgnored(tag)) {
      this.store.attrs = attrsFrom;
      return 'nothing';
    }
    this.closeImplied(tag, flags);
    if (isRuled && (tag === T.svg || tag === T.math)) {
      this.reopenFormatting();
      this.insertForeign(tag, attrsFrom, selfClosing);
      return 'content';
    }
    if (flags & F.void || (isRuled && tag === T.form && flagsOf(this.topTag()) & F.fosters)) {
      this.insertVoid(tag, attrsFrom, flags);
      return 'nothing';
    }
    this.openElement(tag, attrsFrom, flags);
    return flags & F.raw ? 'raw' : 'content';
  }

  private insertVoid(tag: number, attrsFrom: number, flags: number): void {
    if ((flags & F.apart) === 0) this.reopenFormatting();
    const isTableContent = tag === T.form || tag === T.col || (tag === T.input && this.isHiddenInput(attrsFrom));
    if (isTableContent || flags & F.head) this.store.add(tag, this.top(), attrsFrom, this.store.attrs);
    else this.insert(tag, attrsFrom, this.store.attrs);
  }

  private isHiddenInput(attrsFrom: number): boolean {
    const { a, attrs, html } = this.store;
    for (let i = attrsFrom; i < attrs; i++) {
      if (a.attrHash[i] === A.type) return html.slice(a.attrFrom[i], a.attrTo[i]).toLowerCase() === 'hidden';
    }
    return false;
  }

  private openElement(tag: number, attrsFrom: number, flags: number): void {
    if (tag === T.a) this.endOpenLink();
    if ((flags & F.apart) === 0) this.reopenFormatting();
    if (this.depth >= MAX_DEPTH) this.popOne();
    const isTableContent = flags & F.tablePart || tag === T.script || tag === T.style || tag === T.template;
    const node = isTableContent
      ? this.store.add(tag, this.top(), attrsFrom, this.store.attrs)
      : this.insert(tag, attrsFrom, this.store.attrs);
    this.push(node, HTML);
    if (tag === T.form && this.form === 0) this.form = node;
    if (flags & F.formatting) this.formatting.push(node);
    if (flags & F.marker) this.formatting.pushMarker();
  }

  /** Second `html`, `head` and `body` tags, parts of a table outside any, forms in forms, selects in selects. */
  private isIgnored(tag: number): boolean {
    if (tag === T.html) return this.seenHtml || !(this.seenHtml = true);
    if (tag === T.head) return this.seenHead || this.seenBody || !(this.seenHead = true);
    if (tag === T.body) return this.seenBody || !(this.seenBody = true);
    if (tag === T.form) return this.form !== 0;
    if (tag === T.select && this.open[T.select]! > 0) return this.closeInScope(T.select);
    return (flagsOf(tag) & F.tablePart) !== 0 && this.open[T.table] === 0 && this.open[T.template] === 0;
  }

  private closeImplied(tag: number, flags: number): void {
    if (this.topTag() === T.head && (flags & F.head) === 0) this.popOne();
    if (flags & F.tablePart) return this.enterTablePart(tag);
    if (tag === T.table && flagsOf(this.topTag()) & F.fosters) this.closeTableTag(T.table);
    if (flags & F.closesP && this.open[T.p]! > 0) this.closeInScope(T.p);
    if (flags & F.heading && flagsOf(this.topTag()) & F.heading) this.popTo(this.depth - 1);
    if (flags & F.ruled) this.closeByRule(tag);
  }

  private closeByRule(tag: number): void {
    if (tag === T.li) this.closeItem(T.li, T.li);
    else if (tag === T.dt || tag === T.dd) this.closeItem(T.dt, T.dd);
    else if (tag === T.option) this.closeTop(T.option, T.option);
    else if (tag === T.optgroup) {
      this.closeTop(T.option, T.option);
      this.closeTop(T.optgroup, T.optgroup);
    } else if (tag === T.rt || tag === T.rp) this.closeTop(T.rt, T.rp);
    else if (tag === T.button && this.open[T.button]! > 0) this.closeInScope(T.button);
    else if (tag === T.input && this.open[T.select]! > 0) this.closeInScope(T.select);
    else if (tag === T.nobr && this.open[T.nobr]! > 0) this.endFormatting(T.nobr);
  }

  private closeTop(one: number, other: number): void {
    const top = this.topTag();
    if (top === one || top === other) this.popTo(this.depth - 1);
  }

  /** Closes what cannot hold this part of a table, up to the element that can; a cell without a row gets one. */
  // eslint-disable-next-line complexity -- the content model of tables, in one place
  private enterTablePart(tag: number): void {
    const isCell = tag === T.td || tag === T.th;
    const isRow = tag === T.tr;
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      const isSection = open === T.tbody || open === T.thead || open === T.tfoot;
      const holds =
        open === T.table ||
        open === T.template ||
        (open === T.tr && isCell) ||
        (isSection && (isCell || isRow)) ||
        (open === T.colgroup && tag === T.col);
      if (!holds) continue;
      this.popTo(level + 1);
      if (isCell && open !== T.tr) this.push(this.store.add(T.tr, this.top(), 0, 0), HTML);
      return;
    }
  }

  /** A link in a link ends the outer one. */
  private endOpenLink(): void {
    const index = this.formatting.find(T.a);
    if (index < 0) return;
    const link = this.formatting.at(index);
    this.endFormatting(T.a);
    const still = this.formatting.indexOf(link);
    if (still >= 0) this.formatting.removeAt(still);
    if (this.isOpen(link)) this.removeLevel(this.levelOf(link));
  }

  // ---- foreign content

  private insertForeign(tag: number, attrsFrom: number, selfClosing: boolean): void {
    if (!selfClosing && this.depth >= MAX_DEPTH) this.popOne();
    const node = this.insert(tag, attrsFrom, this.store.attrs);
    if (selfClosing) return;
    const isPoint = tag === T.title || INTEGRATION_POINTS.has(this.customTags[tag - FIRST_CUSTOM_TAG] ?? '');
    this.push(node, isPoint ? INTEGRATION : FOREIGN);
  }

  /** HTML inside a drawing or formula ends it. */
  private leavesForeign(tag: number, attrsFrom: number): boolean {
    if ((flagsOf(tag) & F.breakout) === 0 && !(tag === T.font && this.store.attrs > attrsFrom)) return false;
    while (this.isForeign()) this.popOne();
    return true;
  }

  /** Whether the end tag is settled: it ends a foreign element, or none up to the next HTML element has its name. */
  private endForeign(tag: number): boolean {
    if (tag === T.p || tag === T.br) {
      while (this.isForeign()) this.popOne();
      return false;
    }
    for (let level = this.depth - 1; level > 0; level--) {
      if (this.kinds[level] === HTML) return false;
      if (this.tagAt(level) !== tag) continue;
      this.popTo(level);
      return true;
    }
    return true;
  }

  // ---- end tags

  // eslint-disable-next-line complexity -- one line a kind of element, as in the standard
  endTag(tag: number): void {
    if (tag === T.html || tag === T.body) return;
    if (this.kinds[this.depth - 1] !== HTML && this.endForeign(tag)) return;
    if (tag === T.br || (tag === T.p && !this.isInScope(T.p))) return this.insertStray(tag);
    const flags = flagsOf(tag);
    if (
      flags & F.void ||
      (tag < FIRST_CUSTOM_TAG && this.open[tag] === 0 && (flags & (F.heading | F.formatting)) === 0)
    )
      return;
    if (flags & F.formatting) this.endFormatting(tag);
    else if (flags & F.heading) this.closeHeading();
    else if (flags & F.tablePart || tag === T.table) this.closeTableTag(tag);
    else if (tag === T.form) this.endForm();
    else if (flags & F.special) this.closeInScope(tag);
    else this.closeOther(tag);
  }

  /** `</br>` is a line break and `</p>` without a start an empty paragraph. */
  private insertStray(tag: number): void {
    if (this.topTag() === T.head) this.popOne();
    if (tag === T.br) this.reopenFormatting();
    this.insert(tag, this.store.attrs, this.store.attrs);
  }

  private endForm(): void {
    const { form } = this;
    this.form = 0;
    if (form === 0 || !this.isOpen(form) || !this.isInScope(T.form)) return;
    while (IMPLIED_ENDS.has(this.topTag())) this.popOne();
    const level = this.levelOf(form);
    if (level === this.depth - 1) this.popTo(level);
    else this.ended[level] = 1;
  }

  private isInScope(tag: number): boolean {
    return this.open[tag]! > 0 && this.levelInScope(tag) > 0;
  }

  /** Level of the innermost such element that an end tag may reach, 0 when there is none. */
  private levelInScope(tag: number): number {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return level;
      if (this.kinds[level] === INTEGRATION) return 0;
      if (flagsOf(open) & F.scope && (open !== T.button || tag === T.p)) return 0;
      if (tag === T.li && (open === T.ul || open === T.ol)) return 0;
    }
    return 0;
  }

  /** Closes the element. Always true, for callers whose tag needs nothing more. */
  private closeInScope(tag: number): true {
    const level = this.levelInScope(tag);
    if (level > 0) this.popTo(level);
    return true;
  }

  private closeItem(one: number, other: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === one || open === other) return this.popTo(level);
      if (flagsOf(open) & F.special && open !== T.div && open !== T.p && open !== T.address) return;
    }
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

  private closeOther(tag: number): void {
    for (let level = this.depth - 1; level > 0; level--) {
      const open = this.tagAt(level);
      if (open === tag) return this.popTo(level);
      if (flagsOf(open) & F.special) return;
    }
  }

  // ---- formatting

  private hasClosedFormatting(): boolean {
    const last = this.formatting.length - 1;
    return last >= 0 && !this.formatting.isMarker(last) && !this.isOpen(this.formatting.at(last));
  }

  /** Formatting elements that a block has closed start again here. */
  private reopenFormatting(): void {
    if (!this.hasClosedFormatting()) return;
    const { formatting, store } = this;
    let index = formatting.length - 1;
    while (index > 0 && !formatting.isMarker(index - 1) && !this.isOpen(formatting.at(index - 1))) index--;
    for (; index < formatting.length; index++) {
      if (this.clones-- <= 0) return;
      const like = formatting.at(index);
      if (this.depth >= MAX_DEPTH) this.popOne();
      const node = this.insert(store.a.tag[like]!, store.a.from[like]!, store.a.to[like]!);
      this.push(node, HTML);
      formatting.replace(index, node);
    }
  }

  /** End tag of a formatting element: the "adoption agency algorithm" of the HTML standard. */
  private endFormatting(tag: number): void {
    if (this.topTag() === tag && this.formatting.indexOf(this.top()) < 0) return this.popTo(this.depth - 1);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const index = this.formatting.find(tag);
      if (index < 0) return round === 0 && this.open[tag]! > 0 ? this.closeOther(tag) : undefined;
      const element = this.formatting.at(index);
      if (!this.isOpen(element)) return this.formatting.removeAt(index);
      const level = this.levelOf(element);
      if (this.hasScopeAbove(level)) return;
      const block = this.firstSpecialAbove(level);
      if (block < 0 || this.clones <= 0) {
        this.formatting.removeAt(index);
        return this.popTo(level);
      }
      this.moveOut(level, block);
    }
  }

  /** The block at `blockLevel` leaves the formatting element at `level`, which continues around the block's content. */
  private moveOut(level: number, blockLevel: number): void {
    const { store, formatting, stack } = this;
    const element = stack[level]!;
    const block = stack[blockLevel]!;
    let bookmark = formatting.indexOf(element);
    let last = block;
    for (let at = blockLevel - 1, seen = 1; at > level; at--, seen++) {
      let index = formatting.indexOf(stack[at]!);
      if (index >= 0 && seen > MAX_CLONED) {
        formatting.removeAt(index);
        if (index < bookmark) bookmark--;
        index = -1;
      }
      if (index < 0) {
        this.removeLevel(at);
        continue;
      }
      const clone = this.cloneAt(at);
      formatting.replace(index, clone);
      if (last === block) bookmark = index + 1;
      store.move(last, clone);
      last = clone;
    }
    this.moveInto(last, stack[level - 1]!);
    const clone = this.clone(element);
    store.moveChildren(block, clone);
    store.move(clone, block);
    const old = formatting.indexOf(element);
    formatting.removeAt(old);
    formatting.insertAt(old < bookmark ? bookmark - 1 : bookmark, clone);
    this.removeLevel(level);
    this.insertLevel(this.levelOf(block) + 1, clone);
  }

  private clone(node: number): number {
    this.clones--;
    const clone = this.store.clone(node);
    this.store.a.end[clone] = 0;
    return clone;
  }

  private cloneAt(level: number): number {
    const node = this.stack[level]!;
    const clone = this.clone(node);
    this.store.a.end[node] = this.store.count;
    return (this.stack[level] = clone);
  }

  private moveInto(node: number, parent: number): void {
    if ((flagsOf(this.store.a.tag[parent]!) & F.fosters) === 0) return this.store.move(node, parent);
    const table = this.innermostTable(parent);
    this.store.move(node, this.store.a.parent[table]!, table);
  }

  private hasScopeAbove(level: number): boolean {
    for (let at = this.depth - 1; at > level; at--) {
      const tag = this.tagAt(at);
      if (this.kinds[at] === INTEGRATION || (flagsOf(tag) & F.scope && tag !== T.button)) return true;
    }
    return false;
  }

  private firstSpecialAbove(level: number): number {
    for (let at = level + 1; at < this.depth; at++) {
      if (this.kinds[at] === HTML && flagsOf(this.tagAt(at)) & F.special) return at;
    }
    return -1;
  }

  // ---- open elements

  private top(): number {
    return this.stack[this.depth - 1]!;
  }

  private topTag(): number {
    return this.tags[this.depth - 1]!;
  }

  private tagAt(level: number): number {
    return this.tags[level]!;
  }

  private isOpen(node: number): boolean {
    return this.store.a.end[node] === 0;
  }

  /** -1 when it is not open. */
  private levelOf(node: number): number {
    let level = this.depth - 1;
    while (level >= 0 && this.stack[level] !== node) level--;
    return level;
  }

  /** Adds a node to the innermost open element; between the cells of a table, in front of the table. */
  private insert(tag: number, from: number, to: number): number {
    const { store } = this;
    if ((flagsOf(this.topTag()) & F.fosters) === 0) return store.add(tag, this.top(), from, to);
    return store.addBefore(this.innermostTable(this.top()), tag, from, to);
  }

  /** In a template there may be parts of a table without one: then the part itself. */
  private innermostTable(part: number): number {
    for (let level = this.depth - 1; level > 0; level--) if (this.tagAt(level) === T.table) return this.stack[level]!;
    return part;
  }

  private isBlank(from: number, to: number): boolean {
    const { html } = this.store;
    for (let i = from; i < to; i++) {
      const c = html.charCodeAt(i);
      if (c > 32 || (c !== 32 && (c < 9 || c > 13 || c === 11))) return false;
    }
    return true;
  }

  private push(node: number, kind: number): void {
    const tag = this.store.a.tag[node]!;
    this.store.a.end[node] = 0;
    this.kinds[this.depth] = kind;
    this.ended[this.depth] = 0;
    this.tags[this.depth] = tag;
    this.stack[this.depth++] = node;
    if (tag < FIRST_CUSTOM_TAG) this.open[tag]!++;
  }

  private popOne(): void {
    const node = this.stack[--this.depth]!;
    const tag = this.tags[this.depth]!;
    this.store.a.end[node] = this.store.count;
    if (node === this.form) this.form = 0;
    if (tag >= FIRST_CUSTOM_TAG) return;
    this.open[tag]!--;
    if (flagsOf(tag) & F.marker && this.kinds[this.depth] === HTML) this.formatting.clearToMarker();
  }

  /** Closes the element at this level and everything in it, then forms that were only waiting for that. */
  private popTo(level: number): void {
    while (this.depth > level) this.popOne();
    while (this.depth > 1 && this.ended[this.depth - 1] === 1) this.popOne();
  }

  /** Closes one element, those inside stay open. */
  private removeLevel(level: number): void {
    const { stack, tags, kinds, ended, depth } = this;
    const node = stack[level]!;
    const tag = tags[level]!;
    this.store.leaveDocumentOrder();
    if (tag < FIRST_CUSTOM_TAG) this.open[tag]!--;
    this.store.a.end[node] = this.store.count;
    stack.copyWithin(level, level + 1, depth);
    tags.copyWithin(level, level + 1, depth);
    kinds.copyWithin(level, level + 1, depth);
    ended.copyWithin(level, level + 1, depth);
    this.depth--;
  }

  private insertLevel(level: number, node: number): void {
    const { stack, tags, kinds, ended, depth } = this;
    const tag = this.store.a.tag[node]!;
    stack.copyWithin(level + 1, level, depth);
    tags.copyWithin(level + 1, level, depth);
    kinds.copyWithin(level + 1, level, depth);
    ended.copyWithin(level + 1, level, depth);
    stack[level] = node;
    tags[level] = tag;
    kinds[level] = HTML;
    ended[level] = 0;
    this.depth++;
    if (tag < FIRST_CUSTOM_TAG) this.open[tag]!++;
  }
}
