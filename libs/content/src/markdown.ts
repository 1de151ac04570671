/** GitHub-flavoured markdown of what a mask shows of a page. */
import { imageSource } from './images.js';
import { linkTarget } from './links.js';
import { escapeCell, escapeText, escapeUrl, fenceFor } from './markdown-escape.js';
import { MarkdownOutput, type Mark } from './markdown-output.js';
import { DROP, KEEP, type Mask } from './mask.js';
import { readTable, type TableCells } from './table.js';
import { A, F, T, TEXT, flagsOf } from './tags.js';
import type { Tree } from './tree.js';
import type { UrlResolver } from './url-resolver.js';

export interface MarkdownOptions {
  urls: UrlResolver;
  removeBase64Images: boolean;
}

export const REMOVED_IMAGE = '<Base64-Image-Removed>';

export function writeMarkdown(tree: Tree, mask: Mask, options: MarkdownOptions): string {
  const out = new MarkdownOutput();
  new MarkdownWriter(tree, mask, options, out).children(0);
  const text = out.toString();
  return text === '' ? '' : text.trimEnd();
}

const WHITE_SPACE = /[ \t\n\r\f\u00a0]+/g;
const HAS_WIDE_SPACE = /[\t\n\r\f\u00a0]| {2}/;
const HAS_INVISIBLE = /[\u200b\u200e\u200f\u2060\ufeff\u00ad]/;
const INVISIBLE = /[\u200b\u200e\u200f\u2060\ufeff\u00ad]/g;
const PERMALINK = /^\s*[¶#§🔗⚓]+\s*$/u;
const LANGUAGE = /(?:^|\s)(?:lang(?:uage)?-|highlight-source-|highlight-text-|brush:\s?|sourceCode\s+)([\w+#.-]{1,30})/;
const GUTTER = /(?:^|[\s_-])(?:gutter|lineno|linenos|line-numbers?|linenumber)(?:$|[\s_-])/i;
const MAX_LIST_NUMBER = 999_999_999;

class MarkdownWriter {
  private listDepth = 0;
  private inLink = false;

  constructor(
    private readonly tree: Tree,
    private readonly mask: Mask,
    private readonly options: MarkdownOptions,
    private readonly out: MarkdownOutput,
    private readonly inCell = false,
  ) {}

  children(parent: number): void {
    const { tree, mask } = this;
    for (let child = parent + 1, to = tree.end[parent]!; child < to; child = tree.end[child]!) {
      if (mask[child] !== DROP) this.node(child);
    }
  }

  private node(node: number): void {
    const tag = this.tree.tag[node]!;
    if (tag === TEXT) {
      if (this.mask[node] === KEEP) this.text(node);
      return;
    }
    switch (tag) {
      case T.h1:
      case T.h2:
      case T.h3:
      case T.h4:
      case T.h5:
      case T.h6:
        return this.heading(node, tag - T.h1 + 1);
      case T.p:
        return this.block(node, 2);
      case T.br:
        return this.out.hardBreak();
      case T.hr:
        return this.rule();
      case T.a:
        return this.link(node);
      case T.b:
      case T.strong:
        return this.emphasis(node, '**');
      case T.i:
      case T.em:
        return this.emphasis(node, '*');
      case T.del:
      case T.s:
      case T.strike:
        return this.emphasis(node, '~~');
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
      case T.li:
        return this.item(node, '- ');
      case T.dt:
        return this.term(node);
      case T.dd:
        return this.block(node, 1);
      case T.img:
        return this.image(node);
      case T.table:
        return this.table(node);
      case T.q:
        return this.emphasis(node, '"');
      case T.select:
      case T.textarea:
      case T.input:
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
    if ((flagsOf(tag) & F.block) === 0) return this.children(node);
    this.block(node, tag === T.tr || tag === T.option || tag === T.summary ? 1 : 2);
  }

  private block(node: number, lines: number): void {
    this.out.breakBlock(lines);
    this.children(node);
    this.out.breakBlock(lines);
  }

  /** Its definitions follow on the next line. */
  private term(node: number): void {
    this.out.breakBlock(2);
    this.children(node);
    this.out.breakBlock(1);
  }

  private text(node: number): void {
    this.write(this.tree.text(node));
  }

  private write(raw: string): void {
    let text = HAS_INVISIBLE.test(raw) ? raw.replace(INVISIBLE, '') : raw;
    if (HAS_WIDE_SPACE.test(text)) text = text.replace(WHITE_SPACE, ' ');
    if (text === '') return;
    const from = text.startsWith(' ') ? 1 : 0;
    const to = text.endsWith(' ') ? text.length - 1 : text.length;
    if (from > 0) this.out.wantSpace();
    if (to <= from) return;
    const escaped = escapeText(text.slice(from, to), { lineStart: this.out.isLineStart, inLink: this.inLink });
    this.out.text(this.inCell ? escapeCell(escaped) : escaped);
    if (to < text.length) this.out.wantSpace();
  }

  private heading(node: number, level: number): void {
    if (this.out.isInline) return this.children(node);
    this.out.breakBlock(2);
    const saved = this.out.pushPrefix(`${'#'.repeat(level)} `, '');
    this.out.beginInline();
    this.children(node);
    this.out.endInline();
    this.out.popPrefix(saved);
    this.out.breakBlock(2);
  }

  private rule(): void {
    if (this.out.isInline || this.out.progress === 0) return this.out.breakBlock(2);
    this.out.lines(['---']);
  }

  private emphasis(node: number, marker: string): void {
    const mark = this.out.openMark(marker, marker);
    this.children(node);
    this.out.closeMark(mark);
  }

  private link(node: number): void {
    if (this.isPermalink(node)) return;
    const url = this.linkUrl(node);
    if (url === null || this.inLink) return this.children(node);
    const title = this.tree.attr(node, A.title);
    const suffix =
      title === null || title.trim() === ''
        ? ''
        : ` "${title.replace(WHITE_SPACE, ' ').trim().replaceAll('"', '\\"')}"`;
    const mark: Mark = this.out.openMark('[', `](${escapeUrl(url)}${this.inCell ? escapeCell(suffix) : suffix})`, true);
    this.inLink = true;
    this.children(node);
    this.inLink = false;
    this.out.closeMark(mark);
  }

  /** The sign behind a heading that links to the heading itself. */
  private isPermalink(node: number): boolean {
    const { tree } = this;
    if (tree.end[node]! - node > 3 || !PERMALINK.test(tree.textContent(node))) return false;
    return tree.attr(node, A.href)?.includes('#') ?? false;
  }

  private linkUrl(node: number): string | null {
    const { tree, options } = this;
    const raw = tree.attr(node, A.href);
    if (raw === null) return null;
    const target = linkTarget(tree, node);
    if (target !== null) return options.urls.resolve(target);
    return raw.startsWith('#') && raw.length > 1 ? options.urls.resolve(raw) : null;
  }

  private image(node: number): void {
    const { tree, options } = this;
    const src = imageSource(tree, node);
    if (src === null || isPixel(tree, node)) return;
    const alt = (tree.attr(node, A.alt) ?? '').replace(WHITE_SPACE, ' ').trim();
    const isData = src.slice(0, 5).toLowerCase() === 'data:';
    const url = isData ? (options.removeBase64Images ? REMOVED_IMAGE : src) : options.urls.resolve(src);
    if (url === null) return;
    const text = `![${escapeText(alt, { lineStart: false, inLink: true })}](${isData ? url : escapeUrl(url)})`;
    this.out.object(this.inCell ? escapeCell(text) : text);
  }

  private code(node: number): void {
    const text = this.tree.textContent(node).replace(WHITE_SPACE, ' ').trim();
    if (text === '') return;
    if (this.firstBlock(node)) return this.children(node);
    const fence = fenceFor(text, '`', 1);
    const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : '';
    const written = `${fence}${pad}${text}${pad}${fence}`;
    if (/^\s/.test(this.tree.textContent(node).slice(0, 1))) this.out.wantSpace();
    this.out.text(this.inCell ? escapeCell(written) : written);
  }

  /** True when the element holds blocks or images, which inline code cannot. */
  private firstBlock(node: number): boolean {
    for (let i = node + 1; i < this.tree.end[node]!; i++) {
      const tag = this.tree.tag[i]!;
      if (tag !== TEXT && tag !== T.br && (tag === T.img || flagsOf(tag) & F.block)) return true;
    }
    return false;
  }

  private preformatted(node: number): void {
    const text = this.sourceCode(node).replace(/\r\n?/g, '\n');
    const lines = text.split('\n');
    while (lines.length > 0 && lines[0]!.trim() === '') lines.shift();
    while (lines.length > 0 && lines.at(-1)!.trim() === '') lines.pop();
    if (lines.length === 0) return;
    if (this.out.isInline) return this.write(lines.join(' '));
    const fence = fenceFor(text, '`', 3);
    this.out.lines([`${fence}${this.language(node)}`, ...lines, fence]);
  }

  /** Text of preformatted content; rows of a highlighter that wraps lines in blocks become lines. */
  private sourceCode(root: number): string {
    const { tree, mask } = this;
    const parts: string[] = [];
    let atLineStart = true;
    const visit = (parent: number): void => {
      for (let child = parent + 1; child < tree.end[parent]!; child = tree.end[child]!) {
        if (mask[child] === DROP) continue;
        const tag = tree.tag[child]!;
        if (tag === TEXT) {
          const text = tree.text(child);
          parts.push(text);
          atLineStart = text.charCodeAt(text.length - 1) === 10;
          continue;
        }
        if (GUTTER.test(tree.attr(child, A.class) ?? '')) continue;
        const startsLine = tag === T.br || (flagsOf(tag) & F.block) !== 0;
        if (startsLine && tag !== T.td && (tag === T.br || !atLineStart)) {
          parts.push('\n');
          atLineStart = true;
        }
        visit(child);
        if (startsLine && tag !== T.br && tag !== T.td && !atLineStart) {
          parts.push('\n');
          atLineStart = true;
        }
      }
    };
    visit(root);
    return parts.join('');
  }

  private language(node: number): string {
    const { tree } = this;
    const inner = node + 1 < tree.end[node]! && tree.tag[node + 1] === T.code ? node + 1 : node;
    for (const element of [inner, node, tree.parent[node]!, tree.parent[tree.parent[node]!] ?? 0]) {
      if (element <= 0) continue;
      const named = tree.attr(element, A.dataLang) ?? tree.attr(element, A.dataLanguage);
      if (named !== null && /^[\w+#.-]{1,30}$/.test(named)) return named.toLowerCase();
      const found = LANGUAGE.exec((tree.attr(element, A.class) ?? '').slice(0, 500));
      if (found !== null) return found[1]!.toLowerCase();
    }
    return '';
  }

  private quote(node: number): void {
    if (this.out.isInline) return this.children(node);
    this.out.breakBlock(2);
    const saved = this.out.pushPrefix('> ', '> ');
    this.children(node);
    this.out.popPrefix(saved);
    this.out.breakBlock(2);
  }

  private list(node: number, isOrdered: boolean): void {
    if (this.out.isInline) return this.children(node);
    const { tree, mask } = this;
    const gap = this.listDepth > 0 ? 1 : 2;
    this.out.breakBlock(gap);
    this.listDepth++;
    let number = isOrdered ? listStart(tree.attr(node, A.start)) : 0;
    for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
      if (mask[child] === DROP) continue;
      if (tree.tag[child] !== T.li) {
        this.node(child);
        continue;
      }
      const before = this.out.progress;
      this.item(child, isOrdered ? `${number}. ` : '- ');
      if (this.out.progress !== before) number++;
    }
    this.listDepth--;
    this.out.breakBlock(gap);
  }

  private item(node: number, marker: string): void {
    if (this.mask[node] !== KEEP || this.out.isInline) return this.block(node, 1);
    this.out.breakBlock(1);
    const saved = this.out.pushPrefix(marker, ' '.repeat(marker.length));
    this.children(node);
    this.out.popPrefix(saved);
    this.out.breakBlock(1);
  }

  private table(node: number): void {
    const { out } = this;
    const cells = out.isInline || this.inCell ? null : readTable(this.tree, this.mask, node);
    if (cells === null) return this.block(node, 2);
    this.caption(node);
    const rows = cells.rows.map((row) => row.map((cell) => (cell < 0 ? '' : this.cell(cell))));
    if (rows.every((row) => row.every((cell) => cell === ''))) return;
    out.lines(tableLines(rows, cells));
  }

  private caption(table: number): void {
    const { tree, mask } = this;
    for (let child = table + 1; child < tree.end[table]!; child = tree.end[child]!) {
      if (tree.tag[child] === T.caption && mask[child] !== DROP) this.block(child, 2);
    }
  }

  private cell(node: number): string {
    const out = new MarkdownOutput();
    out.beginInline();
    new MarkdownWriter(this.tree, this.mask, this.options, out, true).children(node);
    return out.toString();
  }
}

function tableLines(rows: string[][], { columns }: TableCells): string[] {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  const divider = line(new Array<string>(columns).fill('---'));
  return [line(rows[0]!), divider, ...rows.slice(1).map(line)];
}

function listStart(value: string | null): number {
  const start = Number(value ?? 1);
  return Number.isInteger(start) && start >= 0 && start <= MAX_LIST_NUMBER ? start : 1;
}

/** Counting pixels: images of at most 1 x 1. */
function isPixel(tree: Tree, node: number): boolean {
  const width = tree.attr(node, A.width);
  const height = tree.attr(node, A.height);
  return (width === '1' || width === '0') && (height === '1' || height === '0');
}
