/** Pages with a structure tree, which says itself what is a heading, a list, a table: the tree as blocks. */
import { escapeHtml } from '@troupe/html';
import { codeText, headingBlock, itemBlock, markerOf, type Block, type Body } from './blocks.js';
import { gridHtml, type GridCell } from './grid.js';
import { lineOfSpans, linesHtml, type Line } from './lines.js';
import type { Span } from './span.js';

export interface StructNode {
  role?: string;
  children?: StructNode[];
  /** Type of a leaf: 'content'. */
  type?: string;
  id?: string;
  alt?: string;
}

const MAX_DEPTH = 100;
/** Share of the page's letters that the tree must hold to be believed. */
const MIN_SHARE = 0.9;
const TELLING = /^(?:P|H[1-6]?|Title|L|LI|Table|BlockQuote|Code)$/;

/** null: the page is not tagged, or its tags do not say enough. */
export function taggedBlocks(structure: StructNode | null, spans: readonly Span[], body: Body): Block[] | null {
  if (structure === null) return null;
  const content = new Map<string, Span[]>();
  for (const span of spans) {
    if (span.tag !== null) content.set(span.tag, [...(content.get(span.tag) ?? []), span]);
  }
  const reader = new TreeReader(content, body);
  reader.read(structure, 0);
  const all = spans.filter((span) => !span.isArtifact).reduce((sum, span) => sum + span.text.length, 0);
  return reader.isTelling && reader.letters >= MIN_SHARE * all ? reader.blocks : null;
}

class TreeReader {
  readonly blocks: Block[] = [];
  letters = 0;
  isTelling = false;
  private listDepth = 0;
  /** Lines of the code that was read last. */
  private code: Line[] = [];

  constructor(
    private readonly content: Map<string, Span[]>,
    private readonly body: Body,
  ) {}

  read(node: StructNode, depth: number): void {
    if (depth > MAX_DEPTH) return;
    const role = node.role ?? '';
    if (TELLING.test(role)) this.isTelling = true;
    if (/^H[1-6]?$|^Title$/.test(role)) this.heading(node, role);
    else if (role === 'L' || role === 'TOC') this.list(node, depth);
    else if (role === 'Table') this.table(node, depth);
    else if (role === 'Code') this.codeOf(node);
    else if (this.isLeaf(node)) this.paragraph(node);
    else for (const child of node.children ?? []) this.read(child, depth + 1);
  }

  /** Nothing inside is a block of its own. */
  private isLeaf(node: StructNode): boolean {
    if (node.type === 'content') return true;
    const isInline = (child: StructNode): boolean =>
      child.type !== undefined ||
      (/^(?:Span|Link|Em|Strong|Reference|Note|Quote|Annot|Ruby|RB|RT|RP|Sub|Lbl|Code)$/.test(child.role ?? '') &&
        (child.children ?? []).every(isInline));
    return (node.children ?? []).every(isInline);
  }

  private spansOf(node: StructNode, depth = 0): Span[] {
    if (depth > MAX_DEPTH) return [];
    if (node.type === 'content') {
      const spans = this.content.get(node.id ?? '') ?? [];
      this.content.delete(node.id ?? '');
      this.letters += spans.reduce((sum, span) => sum + span.text.length, 0);
      return spans;
    }
    return (node.children ?? []).flatMap((child) => this.spansOf(child, depth + 1));
  }

  private add(block: Block): void {
    this.code = [];
    this.blocks.push(block);
  }

  /** Lines of code that follow each other are one piece, whatever the tags make of them. */
  private addCode(lines: readonly Line[]): void {
    if (this.code.length > 0) this.blocks.pop();
    this.code.push(...lines);
    this.blocks.push({ type: 'code', text: codeText(this.code) });
  }

  private heading(node: StructNode, role: string): void {
    const lines = linesInOrder(this.spansOf(node));
    if (lines.length === 0) return;
    const level = /^H[1-6]$/.test(role) ? Number(role[1]) : role === 'Title' ? 1 : null;
    this.add(headingBlock(lines, this.body, level));
  }

  private paragraph(node: StructNode): void {
    const lines = linesInOrder(this.spansOf(node));
    if (lines.length === 0) return;
    if (lines.every((line) => line.isMono)) this.addCode(lines);
    else this.add({ type: 'html', html: `<p>${linesHtml(lines, this.body)}</p>` });
  }

  private codeOf(node: StructNode): void {
    const lines = linesInOrder(this.spansOf(node));
    if (lines.length > 0) this.addCode(lines);
  }

  private list(node: StructNode, depth: number): void {
    this.listDepth++;
    for (const child of node.children ?? []) {
      if (child.role === 'LI' || child.role === 'TOCI') this.item(child, depth + 1);
      else this.read(child, depth + 1);
    }
    this.listDepth--;
  }

  private item(node: StructNode, depth: number): void {
    if (depth > MAX_DEPTH) return;
    const indent = this.listDepth * 20;
    const label = (node.children ?? []).find((child) => child.role === 'Lbl');
    const mark =
      label === undefined
        ? ''
        : this.spansOf(label)
            .map((span) => span.text)
            .join('')
            .trim();
    const inside = (node.children ?? [])
      .filter((child) => child !== label)
      .flatMap((child) => (child.role === 'LBody' ? (child.children ?? []) : [child]));
    const nested = inside.filter((child) => this.holdsList(child));
    const spans = inside.filter((child) => !nested.includes(child)).flatMap((child) => this.spansOf(child));
    const lines = linesInOrder(spans);
    const marker = label === undefined && lines.length > 0 ? markerOf(lines[0]!) : null;
    if (marker !== null) this.add({ ...itemBlock(lines, marker, this.body), indent });
    else this.labelledItem(mark, linesHtml(lines, this.body), indent);
    for (const child of nested) this.read(child, depth + 1);
  }

  private labelledItem(mark: string, html: string, indent: number): void {
    const digits = /^\(?(\d{1,4})[.)]?$/.exec(mark)?.[1];
    const isWordless = /^[^\p{L}\p{N}]*$/u.test(mark) || digits !== undefined || /^\(?[a-z]{1,3}[.)]$/i.test(mark);
    const text = isWordless ? html : `${escapeHtml(mark)} ${html}`.trim();
    if (text !== '')
      this.add({ type: 'item', html: text, indent, number: digits === undefined ? null : Number(digits) });
  }

  private holdsList(node: StructNode): boolean {
    return node.role === 'L' || node.role === 'Table' || (node.children ?? []).some((child) => child.role === 'L');
  }

  private table(node: StructNode, depth: number): void {
    const rows = this.rowsOf(node, depth);
    const grid = rows.map((row) => (row.children ?? []).filter((cell) => cell.role === 'TH' || cell.role === 'TD'));
    const cells = grid.map((row) => row.map((cell) => this.cell(cell)));
    const filled = cells.filter((row) => row.length > 0);
    if (filled.length === 0) return;
    const heads = grid.findIndex((row) => !row.every((cell) => cell.role === 'TH') || row.length === 0);
    const headRows = heads === -1 ? 1 : heads;
    this.add({ type: 'html', html: gridHtml(filled, headRows === 0 ? null : headRows) });
  }

  private rowsOf(node: StructNode, depth: number): StructNode[] {
    if (depth > MAX_DEPTH) return [];
    return (node.children ?? []).flatMap((child) => {
      if (child.role === 'TR') return [child];
      if (child.role === 'Caption') {
        this.paragraph(child);
        return [];
      }
      return this.rowsOf(child, depth + 1);
    });
  }

  private cell(node: StructNode): GridCell {
    const lines = linesInOrder(this.spansOf(node));
    const isBold = lines.length > 0 && lines.every((line) => line.isBold);
    return {
      html: linesHtml(lines, { ...this.body, isPlain: isBold || node.role === 'TH' }),
      isBold,
      colspan: 1,
      rowspan: 1,
    };
  }
}

/** Spans in the tree's order as lines: a new one where the text moves down, or back. */
function linesInOrder(spans: readonly Span[]): Line[] {
  const lines: Span[][] = [];
  for (const span of spans) {
    const current = lines.at(-1);
    const last = current?.at(-1);
    const isBelow =
      last !== undefined && Math.abs(span.baseline - last.baseline) > 0.55 * Math.max(span.size, last.size);
    if (current === undefined || isBelow) lines.push([span]);
    else current.push(span);
  }
  return lines.map((line) => lineOfSpans(line));
}
