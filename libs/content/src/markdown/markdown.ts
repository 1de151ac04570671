/** GitHub-flavoured markdown of what a mask shows of a page. */
import { codeLanguage, codeLines, isCodeTable } from './code.js';
import { findFootnotes, type Footnotes } from './footnotes.js';
import { imageSource } from '../images.js';
import { linkAddress } from '../links.js';
import { codeSpan, escapeCell, escapeText, escapeUrl, fenceFor, quoteTitle } from './markdown-escape.js';
import { MarkdownOutput, type Emphasis, type Mark } from './markdown-output.js';
import {
  A,
  decodeOrdinary,
  DROP,
  F,
  FIRST_CUSTOM_TAG,
  flagsOf,
  FOUND,
  KEEP,
  type Mask,
  scanText,
  skipWhite,
  T,
  TEXT,
  type Tree,
  trimWhite,
  isPermalink,
} from '@troupe/html';
import {
  hasFormulaScripts,
  isFormulaElement,
  isFormulaImage,
  isRenderedFormula,
  readFormula,
  readFormulaImage,
  readFormulaScript,
  rendersTex,
  splitTex,
  type Formula,
} from './math.js';
import { readTable, SpanBudget, type TableCells } from './table.js';
import type { UrlResolver } from '../url-resolver.js';

export interface MarkdownOptions {
  urls: UrlResolver;
  removeBase64Images: boolean;
}

const REMOVED_IMAGE = '<Base64-Image-Removed>';

/** @param found what `scanText` found in the text nodes, as far as that is known (`measure`) */
export function writeMarkdown(tree: Tree, mask: Mask, options: MarkdownOptions, found = NOTHING_FOUND): string {
  const out = new MarkdownOutput();
  new MarkdownWriter(new PageContext(tree, mask, options, found), out).children(0);
  const text = out.toString();
  return text === '' ? '' : text.trimEnd();
}

const NOTHING_FOUND: Uint8Array = new Uint8Array(0);
const WIDE_SPACE = /[ \t\n\r\f\u00a0]{2,}|[\t\n\r\f\u00a0]/g;
const HAS_INVISIBLE = /[\u200b\u2060\ufeff\u00ad]/;
const INVISIBLE = /[\u200b\u2060\ufeff\u00ad]/g;
const ONLY_DIRECTION = /^[\s\u200e\u200f\u202a-\u202e]*$/;
/** A line end between two of these is no space (CSS Text, segment breaks). */
const WIDE = '\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff60';
const WIDE_BREAK = new RegExp(`([${WIDE}])[ \\t]{0,8}\\r?\\n[ \\t]{0,80}(?=[${WIDE}])`, 'g');
const HAS_WIDE_BREAK = new RegExp(`[${WIDE}][ \\t]{0,8}\\r?\\n`);
const PLAIN_SUPERSCRIPT = /^(?:st|nd|rd|th|er|re|e|o|a|[®™©℠*†‡])$/i;
const HAS_TEX = /\\[([]|\$\$/;
const MAX_LIST_NUMBER = 999_999_999;
/** Prefixes of lists and quotes are written on every line, so their depth is bounded. */
const MAX_NESTING = 40;
/** Markers of empty items in a row. */
const MAX_EMPTY_CHARS = 60;
/** Longer cells are written once, however far they span. */
const MAX_REPEATED_CHARS = 100;

/** State that all writers of a page share. */
class PageContext {
  readonly spans = new SpanBudget();
  private foundNotes: Footnotes | null | undefined;
  private foundScripts: boolean | undefined;
  private foundTex: boolean | undefined;
  private foundPosts: boolean | undefined;

  constructor(
    readonly tree: Tree,
    readonly mask: Mask,
    readonly options: MarkdownOptions,
    readonly found: Uint8Array,
  ) {}

  get footnotes(): Footnotes | null {
    if (this.foundNotes === undefined) this.foundNotes = findFootnotes(this.tree, this.mask);
    return this.foundNotes;
  }

  /** Footnotes of the page, read when a link to one is first looked for. */
  get knownNotes(): ReadonlyMap<number, string> | undefined {
    return this.foundNotes?.notes;
  }

  get hasFormulaScripts(): boolean {
    return (this.foundScripts ??= hasFormulaScripts(this.tree, this.mask));
  }

  get hasPostsAsQuotes(): boolean {
    return (this.foundPosts ??= countQuotedArticles(this.tree) > 1);
  }

  get rendersTex(): boolean {
    return (this.foundTex ??= rendersTex(this.tree));
  }
}

class MarkdownWriter {
  private readonly tree: Tree;
  private readonly mask: Mask;
  /** Lists around. */
  private listDepth = 0;
  /** Lists and quotes around. */
  private nesting = 0;
  private inLink = false;
  /** A link that waits for the heading inside it. */
  private held: { heading: number; mark: Mark } | null = null;
  /** The list that ended last, to keep the next one apart. */
  private lastList = { progress: -1, marker: '' };

  constructor(
    private readonly page: PageContext,
    private readonly out: MarkdownOutput,
    private readonly inCell = false,
  ) {
    this.tree = page.tree;
    this.mask = page.mask;
  }

  children(parent: number): void {
    const { tree, mask } = this;
    for (let child = parent + 1, to = tree.end[parent]!; child < to; child = tree.end[child]!) {
      if (mask[child] !== DROP) this.node(child);
      else if (tree.tag[child] === T.script) this.formula(readFormulaScript(tree, child));
    }
  }

  private node(node: number): void {
    const tag = this.tree.tag[node]!;
    if (tag === TEXT) {
      if (this.mask[node] === KEEP) this.text(node);
      return;
    }
    switch (tag) {
      // The usual ones first: the others are compared one by one.
      case T.div:
      case T.span:
        return this.other(node, tag);
      case T.p:
        return this.paragraph(node);
      case T.a:
        return this.link(node);
      case T.li:
        return this.item(node, '- ');
      case T.h1:
      case T.h2:
      case T.h3:
      case T.h4:
      case T.h5:
      case T.h6:
        return this.heading(node, tag - T.h1 + 1);
      case T.br:
        return this.out.hardBreak();
      case T.hr:
        return this.rule();
      case T.b:
      case T.strong:
        return this.emphasis(node, 'strong');
      case T.i:
      case T.em:
        return this.emphasis(node, 'em');
      case T.del:
      case T.s:
      case T.strike:
        return this.emphasis(node, 'del');
      case T.sup:
        return this.superscript(node);
      case T.sub:
        return this.between(node, '<sub>', '</sub>');
      case T.q:
        return this.between(node, '"', '"');
      case T.rt:
        return this.between(node, '(', ')');
      case T.code:
      case T.kbd:
      case T.samp:
      case T.tt:
        return this.code(node);
      case T.pre:
      case T.listing:
      case T.xmp:
      case T.plaintext:
        return this.preformatted(node);
      case T.blockquote:
        return this.quote(node);
      case T.ul:
      case T.ol:
      case T.menu:
      case T.dir:
        return this.list(node, tag === T.ol);
      case T.dt:
        return this.term(node);
      case T.dd:
        return this.block(node, 1);
      case T.img:
        return this.image(node);
      case T.table:
        return this.table(node);
      case T.math:
        return this.formulaElement(node);
      case T.input:
        return this.checkbox(node);
      case T.rtc:
      case T.select:
      case T.textarea:
      case T.svg:
      case T.iframe:
      case T.canvas:
      case T.video:
      case T.audio:
      case T.object:
        return;
      default:
        return this.other(node, tag);
    }
  }

  private other(node: number, tag: number): void {
    if (this.page.rendersTex && this.mathElement(node, tag)) return;
    if ((flagsOf(tag) & F.block) === 0) return this.children(node);
    if (this.isNote(node)) return this.note(node);
    const isLine = tag === T.tr || tag === T.option || tag === T.summary || (this.listDepth > 0 && isContainer(tag));
    this.block(node, isLine ? 1 : 2);
  }

  private block(node: number, lines: number): void {
    this.out.breakBlock(lines);
    this.children(node);
    this.out.breakBlock(lines);
  }

  private paragraph(node: number): void {
    return this.isNote(node) ? this.note(node) : this.block(node, 2);
  }

  /** Its definitions follow on the next line. */
  private term(node: number): void {
    this.out.breakBlock(2);
    this.emphasis(node, 'strong');
    this.out.breakBlock(1);
  }

  // ---- text

  private text(node: number): void {
    const { source, from: starts, to: ends } = this.tree;
    const known = this.page.found[node] ?? 0;
    if ((known & FOUND.blank) !== 0) return starts[node] === ends[node] ? undefined : this.out.wantSpace();
    const from = skipWhite(source, starts[node]!, ends[node]!);
    const to = trimWhite(source, from, ends[node]!);
    if (from > starts[node]!) this.out.wantSpace();
    if (from === to) return;
    const found = known === 0 ? scanText(source, from, to) : known;
    if (!this.ordinaryText(node, source.slice(from, to), found)) return this.richText(this.tree.text(node));
    if (to < ends[node]!) this.out.wantSpace();
  }

  /** Writes text of ordinary characters; false, and nothing written, for other text. */
  private ordinaryText(node: number, raw: string, found: number): boolean {
    if ((found & (FOUND.entity | FOUND.other | FOUND.tex)) === 0) {
      this.plainText(raw, found);
      return true;
    }
    if ((found & FOUND.other) !== 0 || ((found & FOUND.tex) !== 0 && this.page.rendersTex)) return false;
    const { tree } = this;
    if (flagsOf(tree.tag[tree.parent[node]!]!) & F.verbatim) return false;
    const decoded = decodeOrdinary(raw, found);
    if (decoded !== null) this.plainText(decoded.text, decoded.found);
    return decoded !== null;
  }

  private richText(text: string): void {
    if (!this.page.rendersTex || !HAS_TEX.test(text)) return this.write(text);
    for (const piece of splitTex(text)) {
      if (typeof piece === 'string') this.write(piece);
      else this.formula(piece);
    }
  }

  private write(raw: string): void {
    let text = raw;
    let found = scanText(text, 0, text.length);
    if ((found & FOUND.other) !== 0) {
      text = withoutInvisible(text);
      if (ONLY_DIRECTION.test(text)) return this.out.wantSpace();
      if (text.length !== raw.length) found = scanText(text, 0, text.length);
    }
    if ((found & FOUND.wideSpace) !== 0) text = text.replace(WIDE_SPACE, ' ');
    let from = 0;
    let to = text.length;
    while (from < to && isEdgeSpace(text, from)) from++;
    while (to > from && isEdgeSpace(text, to - 1)) to--;
    if (from > 0) this.out.wantSpace(text.slice(0, from));
    if (to <= from) return;
    this.plainText(text.slice(from, to), found & ~FOUND.wideSpace);
    if (to < text.length) this.out.wantSpace(text.slice(to));
  }

  /** @param found what `scanText` found in it */
  private plainText(raw: string, found: number): void {
    const { out } = this;
    const text = (found & FOUND.wideSpace) === 0 ? raw : raw.replace(WIDE_SPACE, ' ');
    const lineStart = out.isLineStart;
    const itemStart = out.isItemStart;
    const hasMarkup = (found & (FOUND.markup | FOUND.entity)) !== 0;
    const isAsItIs = !lineStart && !itemStart && !hasMarkup;
    out.text(isAsItIs ? text : escapeText(text, { lineStart, itemStart, inLink: this.inLink }, hasMarkup));
  }

  private between(node: number, open: string, close: string): void {
    const mark = this.out.openMark(open, close);
    this.children(node);
    this.out.closeMark(mark);
  }

  private emphasis(node: number, emphasis: Emphasis): void {
    const mark = this.out.openEmphasis(emphasis);
    this.children(node);
    this.out.closeMark(mark);
  }

  /** Leaves the tags out around a text that is clear by itself: ordinals, signs, links to notes. */
  private superscript(node: number): void {
    const { tree } = this;
    for (let i = node + 1; i < tree.end[node]!; i++) if (tree.tag[i] === T.a) return this.children(node);
    if (PLAIN_SUPERSCRIPT.test(tree.textContent(node).trim())) return this.children(node);
    this.between(node, '<sup>', '</sup>');
  }

  private heading(node: number, level: number): void {
    if (this.held?.heading === node) this.held.mark.isHeld = false;
    if (this.out.isInline) return this.children(node);
    if (this.holdsBlocks(node)) return this.block(node, 2);
    this.out.breakBlock(2);
    const before = this.out.progress;
    const saved = this.out.pushPrefix(`${'#'.repeat(level)} `, '');
    this.out.beginInline();
    this.children(node);
    this.out.endInline();
    if (this.out.progress !== before) this.out.protectClosingHashes();
    this.out.popPrefix(saved);
    this.out.breakBlock(2);
  }

  /** True for a heading around content: lists of several items, tables, code, other headings. */
  private holdsBlocks(heading: number): boolean {
    const { tree } = this;
    let items = 0;
    for (let node = heading + 1; node < tree.end[heading]!; node++) {
      const tag = tree.tag[node]!;
      if (tag === T.li && ++items > 1) return true;
      if (tag === T.table || tag === T.pre || flagsOf(tag) & F.heading) return true;
    }
    return false;
  }

  /** `---` at the very start would begin front matter for many readers. */
  private rule(): void {
    if (this.out.isInline) return this.out.breakBlock(2);
    this.out.lines([this.out.progress === 0 ? '***' : '---']);
  }

  // ---- links and images

  private link(node: number): void {
    const href = this.tree.attr(node, A.href);
    if (href === null) return this.children(node);
    if (isPermalink(this.tree, node, href)) return;
    const label = this.noteLabel(node);
    if (label !== null) return label === '' ? undefined : this.out.text(`[^${label}]`);
    const url = this.inLink ? null : linkAddress(href, this.page.options.urls);
    if (url === null) return this.children(node);
    const close = `](${escapeUrl(url)}${this.linkTitle(node)})`;
    const heading = this.headingInside(node);
    const mark = this.out.openMark('[', close, true, heading >= 0);
    if (heading >= 0) this.held = { heading, mark };
    this.inLink = true;
    this.children(node);
    this.inLink = false;
    this.held = null;
    this.out.closeMark(mark);
  }

  /** First heading with text inside a link: of a card, it is what carries the link. */
  private headingInside(link: number): number {
    const { tree, mask } = this;
    for (let node = link + 1, to = tree.end[link]!; node < to; node++) {
      if (mask[node] === DROP) node = tree.end[node]! - 1;
      else if (flagsOf(tree.tag[node]!) & F.heading && this.hasText(node)) return node;
    }
    return -1;
  }

  private hasText(root: number): boolean {
    const { tree, mask } = this;
    for (let node = root + 1, to = tree.end[root]!; node < to; node++) {
      if (mask[node] === DROP) node = tree.end[node]! - 1;
      else if (tree.tag[node] === TEXT && mask[node] === KEEP && tree.text(node).trim() !== '') return true;
    }
    return false;
  }

  /** A title says more than the text of its link. */
  private linkTitle(node: number): string {
    const title = this.tree.attr(node, A.title)?.replace(WIDE_SPACE, ' ').trim() ?? '';
    if (title === '' || title === this.tree.textContent(node).replace(WIDE_SPACE, ' ').trim()) return '';
    return ` ${quoteTitle(title)}`;
  }

  private image(node: number): void {
    const { tree, page } = this;
    if (isFormulaImage(tree, node)) return this.formula(readFormulaImage(tree, this.mask, node));
    const src = imageSource(tree, node);
    if (src === null || isPixel(tree, node)) return;
    const alt = (tree.attr(node, A.alt) ?? '').replace(WIDE_SPACE, ' ').trim();
    const isData = src.slice(0, 5).toLowerCase() === 'data:';
    const embedded = page.options.removeBase64Images ? REMOVED_IMAGE : src;
    const url = isData ? embedded : page.options.urls.resolve(src);
    if (url === null) return;
    const label = escapeText(alt, { lineStart: false, itemStart: false, inLink: true });
    this.out.object(`![${label}](${isData ? url : escapeUrl(url)}${this.imageTitle(node, alt)})`);
  }

  private imageTitle(node: number, alt: string): string {
    const title = this.tree.attr(node, A.title)?.replace(WIDE_SPACE, ' ').trim() ?? '';
    return title === '' || title === alt ? '' : ` ${quoteTitle(title)}`;
  }

  // ---- footnotes

  /** Label of the note that a link refers to, '' for the way back, null for other links. */
  private noteLabel(link: number): string | null {
    const { tree } = this;
    const at = tree.attrIndex(link, A.href);
    if (at < 0 || tree.source.charCodeAt(tree.attrFrom[at]!) !== 35) return null;
    const notes = this.page.footnotes;
    if (notes === null) return null;
    return notes.references.get(link) ?? (notes.backlinks.has(link) ? '' : null);
  }

  private isNote(node: number): boolean {
    return !this.out.isInline && (this.page.knownNotes?.has(node) ?? false);
  }

  private note(node: number): void {
    const label = this.page.knownNotes!.get(node)!;
    this.out.breakBlock(2);
    const saved = this.out.pushPrefix(`[^${label}]: `, '    ');
    this.children(node);
    this.out.popPrefix(saved);
    this.out.breakBlock(2);
  }

  // ---- formulas

  /** Handles what a renderer of formulas left in the page; false for other elements. */
  private mathElement(node: number, tag: number): boolean {
    const { tree } = this;
    const isInline = tag === T.span || tag >= FIRST_CUSTOM_TAG;
    if (isInline && isFormulaElement(tree, node)) {
      this.formulaElement(node);
      return true;
    }
    return (tag === T.span || tag === T.div) && isRenderedFormula(tree, node) && this.page.hasFormulaScripts;
  }

  private formulaElement(node: number): void {
    const formula = readFormula(this.tree, node);
    if (formula !== null) this.formula(formula);
    else if (this.tree.tag[node] !== T.math) this.children(node);
  }

  private formula(formula: Formula | null): void {
    if (formula === null) return;
    const { out } = this;
    const tex = this.inCell ? formula.tex.replaceAll('|', '\\vert ') : formula.tex;
    if (!formula.isBlock) return out.text(`$${tex}$`);
    if (out.isInline) return out.text(`$$${tex}$$`);
    out.lines(['$$', tex, '$$']);
  }

  // ---- code

  private code(node: number): void {
    const content = this.codeContent(node);
    if (content === 'blocks') return this.children(node);
    if (content === 'lines' && this.out.isLineStart) return this.preformatted(node);
    const raw = content === 'lines' ? codeLines(this.tree, this.mask, node).join(' ') : this.tree.textContent(node);
    const text = raw.replace(WIDE_SPACE, ' ').trim();
    if (text === '') return;
    if (/^\s/.test(raw)) this.out.wantSpace();
    this.out.code(text, codeSpan);
    if (/\s$/.test(raw)) this.out.wantSpace();
  }

  /** Inline code may hold text, but no images or blocks of content, and lines only as a block. */
  private codeContent(node: number): 'text' | 'lines' | 'blocks' {
    const { tree } = this;
    let content: 'text' | 'lines' = 'text';
    for (let i = node + 1, to = tree.end[node]!; i < to; i++) {
      const tag = tree.tag[i]!;
      if (tag === TEXT) continue;
      if (tag === T.br || tag === T.div || tag === T.pre) content = 'lines';
      else if (tag === T.img || flagsOf(tag) & F.block) return 'blocks';
    }
    return content;
  }

  private preformatted(node: number): void {
    const lines = codeLines(this.tree, this.mask, node);
    if (this.out.isInline) return this.inlineLines(lines);
    const language = codeLanguage(this.tree, node);
    if (lines.length === 0 && language === '') return;
    const fence = fenceFor(lines.join('\n'), '`', 3);
    this.out.lines([`${fence}${language}`, ...lines, fence], true);
  }

  private inlineLines(lines: readonly string[]): void {
    for (const line of lines) {
      const text = line.replace(WIDE_SPACE, ' ').trim();
      this.out.breakBlock(1);
      if (text !== '') this.out.code(text, codeSpan);
    }
    this.out.breakBlock(1);
  }

  // ---- quotes and lists

  private quote(node: number): void {
    if (this.out.isInline || this.nesting >= MAX_NESTING || this.isPost(node)) return this.block(node, 2);
    this.out.breakBlock(2);
    const saved = this.out.pushPrefix('> ', '> ');
    this.nesting++;
    this.children(node);
    this.nesting--;
    this.out.popPrefix(saved);
    this.out.breakBlock(2);
  }

  /** Forums that write posts as quotes: all of an article, and of another one on the page, too. */
  private isPost(quote: number): boolean {
    return isWholeArticle(this.tree, quote) && this.page.hasPostsAsQuotes;
  }

  private list(node: number, isOrdered: boolean): void {
    if (this.out.isInline) return this.block(node, 1);
    const { tree, mask } = this;
    const gap = this.listDepth > 0 ? 1 : 2;
    this.out.breakBlock(gap);
    this.listDepth++;
    this.nesting++;
    const isTight = !this.hasParagraphs(node);
    const sign = this.listSign(isOrdered);
    const start = this.out.progress;
    /** Items without content, written when one with content follows: its number counts them. */
    let empty = '';
    let number = isOrdered ? listNumber(tree.attr(node, A.start), 1) : 0;
    for (let child = node + 1, to = tree.end[node]!; child < to; child = tree.end[child]!) {
      if (mask[child] === DROP) continue;
      if (tree.tag[child] !== T.li) {
        this.listOther(child);
        continue;
      }
      if (isOrdered) number = listNumber(tree.attr(child, A.value), number);
      if (isEmptyItem(tree, child)) {
        const counts = isOrdered && this.out.progress !== start && empty.length < MAX_EMPTY_CHARS;
        if (counts) empty += `${number++}${sign} \n`;
        continue;
      }
      const before = this.out.progress;
      this.item(child, isOrdered ? `${number}${sign} ` : `${sign} `, isTight, empty);
      if (this.out.progress === before) continue;
      empty = '';
      number++;
    }
    this.listDepth--;
    this.nesting--;
    this.lastList = { progress: this.out.progress, marker: sign };
    this.out.breakBlock(gap);
  }

  /** Text of a list outside its items is a block of its own. */
  private listOther(node: number): void {
    const isBlank = this.tree.tag[node] === TEXT && this.tree.text(node).trim() === '';
    if (!isBlank) this.node(node);
  }

  /** Two lists in a row would be one if their signs were the same. */
  private listSign(isOrdered: boolean): string {
    const [usual, other] = isOrdered ? ['.', ')'] : ['-', '*'];
    const { progress, marker } = this.lastList;
    return progress === this.out.progress && progress > 0 && marker === usual ? other : usual;
  }

  private hasParagraphs(list: number): boolean {
    const { tree } = this;
    for (let item = list + 1; item < tree.end[list]!; item = tree.end[item]!) {
      for (let child = item + 1; child < tree.end[item]!; child = tree.end[child]!) {
        if (tree.tag[child] === T.p && tree.tag[item] === T.li) return true;
      }
    }
    return false;
  }

  private item(node: number, marker: string, isTight = true, empty = ''): void {
    if (this.isNote(node)) return this.note(node);
    if (this.mask[node] !== KEEP || this.out.isInline || this.nesting > MAX_NESTING) return this.block(node, 1);
    const { out } = this;
    out.breakBlock(1);
    const saved = out.pushPrefix(marker, ' '.repeat(marker.length), true, empty);
    this.children(node);
    out.popPrefix(saved);
    out.breakBlock(1);
    if (out.progress !== saved.progress) out.endItem(isTight ? 1 : 2);
  }

  private checkbox(node: number): void {
    const { tree, out } = this;
    if (!out.isItemStart || tree.attr(node, A.type)?.toLowerCase() !== 'checkbox') return;
    out.addToMarker(tree.attrIndex(node, A.checked) >= 0 ? '[x] ' : '[ ] ');
  }

  // ---- tables

  private table(node: number): void {
    const { out } = this;
    if (!out.isInline && isCodeTable(this.tree, node)) return this.preformatted(node);
    const cells = out.isInline ? null : readTable(this.tree, this.mask, node, this.page.spans);
    if (cells === null) return this.block(node, 2);
    const texts = new Map<number, string>();
    const rows = cells.rows.map((row) => this.row(row, texts));
    this.caption(node);
    if (rows.every((row) => row.every((cell) => cell === ''))) return;
    out.lines(tableLines(rows, cells));
  }

  /** A cell that spans several places stands in each, unless it is long or spans the row. */
  private row(cells: readonly number[], texts: Map<number, string>): string[] {
    const isWhole = cells.length > 1 && cells.every((cell) => cell === cells[0]);
    return cells.map((cell, column) => {
      if (cell < 0 || (isWhole && column > 0)) return '';
      const known = texts.get(cell);
      if (known !== undefined) return known.length > MAX_REPEATED_CHARS ? '' : known;
      const text = this.cell(cell);
      texts.set(cell, text);
      return text;
    });
  }

  private caption(table: number): void {
    const { tree, mask } = this;
    for (let child = table + 1; child < tree.end[table]!; child = tree.end[child]!) {
      if (tree.tag[child] === T.caption && mask[child] !== DROP) this.block(child, 2);
    }
  }

  /** Text of a cell that is empty or one text of which no character asks for more; null for other cells. */
  private plainCell(cell: number): string | null {
    const { tree, mask, page } = this;
    const text = cell + 1;
    const end = tree.end[cell]!;
    if (end === text) return '';
    if (end > text + 1 || mask[text] !== KEEP || page.found[text] !== FOUND.scanned) return null;
    const from = skipWhite(tree.source, tree.from[text]!, tree.to[text]!);
    return tree.source.slice(from, trimWhite(tree.source, from, tree.to[text]!));
  }

  private cell(node: number): string {
    const plain = this.plainCell(node);
    if (plain !== null) return escapeCell(plain);
    const out = new MarkdownOutput();
    out.beginInline('<br>');
    new MarkdownWriter(this.page, out, true).children(node);
    return escapeCell(out.toString());
  }
}

/** Blocks without a meaning of their own: inside a list item they are lines. */
function isContainer(tag: number): boolean {
  return tag === T.div || tag === T.section || tag === T.header || tag === T.footer || tag === T.article;
}

function countQuotedArticles(tree: Tree): number {
  let count = 0;
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] === T.blockquote && isWholeArticle(tree, node)) count++;
  }
  return count;
}

/** Whether the article around holds nothing else. */
function isWholeArticle(tree: Tree, quote: number): boolean {
  const article = tree.parent[quote]!;
  if (tree.tag[article] !== T.article) return false;
  for (let child = article + 1; child < tree.end[article]!; child = tree.end[child]!) {
    if (child !== quote && (tree.tag[child] !== TEXT || tree.text(child).trim() !== '')) return false;
  }
  return true;
}

/** An item that an author left empty, not one that a script or a style fills. */
function isEmptyItem(tree: Tree, item: number): boolean {
  return tree.end[item] === item + 1 && tree.from[item] === tree.to[item];
}

/** Code that is white space. */
function isEdgeSpace(text: string, at: number): boolean {
  const c = text.charCodeAt(at);
  return (
    c === 32 || c === 0x3000 || (c >= 0x2000 && c <= 0x200a) || c === 0x2028 || c === 0x2029 || c === 0x202f || c === 11
  );
}

const RULES = { center: ':-:', right: '--:', none: '---' };

function tableLines(rows: string[][], { columns, hasHeader, alignments }: TableCells): string[] {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  const divider = line(alignments.map((alignment) => RULES[alignment ?? 'none']));
  const head = hasHeader ? rows[0]! : new Array<string>(columns).fill('');
  return [line(head), divider, ...rows.slice(hasHeader ? 1 : 0).map(line)];
}

function listNumber(value: string | null, otherwise: number): number {
  if (value === null) return otherwise;
  const number = Number(value);
  return value.trim() !== '' && Number.isInteger(number) && number >= 0 && number <= MAX_LIST_NUMBER
    ? number
    : otherwise;
}

function withoutInvisible(text: string): string {
  const visible = HAS_INVISIBLE.test(text) ? text.replace(INVISIBLE, '') : text;
  return HAS_WIDE_BREAK.test(visible) ? visible.replace(WIDE_BREAK, '$1') : visible;
}

/** Counting pixels: images of at most 1 x 1. */
function isPixel(tree: Tree, node: number): boolean {
  const width = tree.attr(node, A.width);
  const height = tree.attr(node, A.height);
  return (width === '1' || width === '0') && (height === '1' || height === '0');
}
