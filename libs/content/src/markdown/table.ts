/** Shape of an HTML table as a grid, for tables that hold data rather than layout. */
import { A, DROP, F, flagsOf, type Mask, T, type Tree } from '@troupe/html';

/** Cells that spans may add in one page: a span is one attribute and could ask for millions. */
const MAX_SPAN_CELLS = 20_000;
const MAX_COLUMNS = 200;
/** List items in a table of one or two rows; more of them are columns of a page. */
const MAX_ITEMS_OF_TWO_ROWS = 6;

export interface TableCells {
  /** Nodes of the cells, repeated where a span covers several places; -1 where a short row leaves a gap. */
  rows: number[][];
  /** Every row has as many entries. */
  columns: number;
  hasHeader: boolean;
  /** Alignment of each column as its cells ask for it; null: none asks, or to the left, as everywhere. */
  alignments: Alignment[];
}

export type Alignment = 'center' | 'right' | null;

export class SpanBudget {
  cells = MAX_SPAN_CELLS;
}

/** The grid, null when the table is layout: one column, tables or headings or several lists inside, one row with a list. */
export function readTable(tree: Tree, mask: Mask, table: number, budget: SpanBudget): TableCells | null {
  if (isLayout(tree, table)) return null;
  const rows = new GridReader(tree, mask, budget).read(table);
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  if (columns < 2 || columns > MAX_COLUMNS || rows.length === 0) return null;
  for (const row of rows) while (row.length < columns) row.push(-1);
  const isHeaded = hasHeader(tree, rows);
  return { rows, columns, hasHeader: isHeaded, alignments: alignmentsOf(tree, rows, isHeaded) };
}

/** Alignments of the first row of data, and without any there, of the header. One cell across is no row of data. */
function alignmentsOf(tree: Tree, rows: readonly number[][], isHeaded: boolean): Alignment[] {
  const head = rows[0]!;
  const data = rows.find((row, i) => (i > 0 || !isHeaded) && row.some((cell) => cell !== row[0])) ?? head;
  return head.map((cell, column) => alignmentOf(tree, data[column]!) ?? alignmentOf(tree, cell));
}

const TEXT_ALIGN = /(?:^|;)\s*text-align\s*:\s*([a-z]+)/i;

function alignmentOf(tree: Tree, cell: number): Alignment {
  if (cell < 0 || tree.from[cell] === tree.to[cell]) return null;
  const asked = TEXT_ALIGN.exec(tree.attr(cell, A.style) ?? '')?.[1] ?? tree.attr(cell, A.align);
  const alignment = asked?.trim().toLowerCase();
  if (alignment === 'center' || alignment === 'right') return alignment;
  return alignment === 'end' ? 'right' : null;
}

/** Row headers alone name rows, not columns; without any header cell the first row is the best guess. */
function hasHeader(tree: Tree, rows: readonly number[][]): boolean {
  const isHead = (cell: number | undefined): boolean => cell !== undefined && tree.tag[cell] === T.th;
  const first = rows[0]!;
  if (first.slice(1).some((cell) => cell !== first[0] && isHead(cell)) || !isHead(first[0])) return true;
  return rows.length < 2 || !isHead(rows[1]![0]);
}

// eslint-disable-next-line complexity -- one pass over the table
function isLayout(tree: Tree, table: number): boolean {
  const role = tree.attr(table, A.role);
  if (role === 'presentation' || role === 'none') return true;
  let blocks = 0;
  let rows = 0;
  let items = 0;
  let heads = 0;
  for (let node = table + 1; node < tree.end[table]!; node++) {
    const tag = tree.tag[node]!;
    if (tag === T.table || tag === T.article || tag === T.form) return true;
    if (tag === T.pre || flagsOf(tag) & F.heading) blocks += 2;
    if (blocks > 4) return true;
    if (tag === T.tr) rows++;
    else if (tag === T.li) items++;
    else if (tag === T.th) heads++;
  }
  if (rows <= 1 && heads === 0 && items > 0) return true;
  return rows <= 2 && items > MAX_ITEMS_OF_TWO_ROWS;
}

class GridReader {
  private readonly rows: number[][] = [];
  /** Rows that a cell above still covers, per column. */
  private covered: number[] = [];
  /** Rows left of the cell that covers a column from above. */
  private coveredBy: number[] = [];
  private nextCoveredBy: number[] = [];

  constructor(
    private readonly tree: Tree,
    private readonly mask: Mask,
    private readonly budget: SpanBudget,
  ) {}

  read(table: number): number[][] {
    this.readRows(table);
    return this.rows;
  }

  private readRows(parent: number): void {
    const { tree, mask } = this;
    for (let child = parent + 1; child < tree.end[parent]!; child = tree.end[child]!) {
      if (mask[child] === DROP) continue;
      if (tree.tag[child] === T.tr) this.readRow(child);
      else if (tree.tag[child] !== T.caption) this.readRows(child);
    }
  }

  private readRow(tr: number): void {
    const { tree, mask } = this;
    const row: number[] = [];
    const next: number[] = [];
    this.nextCoveredBy = [];
    for (let child = tr + 1; child < tree.end[tr]!; child = tree.end[child]!) {
      const isCell = tree.tag[child] === T.td || tree.tag[child] === T.th;
      if (!isCell || mask[child] === DROP) continue;
      this.skipCovered(row, next);
      this.placeCell(child, row, next);
    }
    this.skipCovered(row, next);
    this.covered = next;
    this.coveredBy = this.nextCoveredBy;
    if (row.length > 0) this.rows.push(row);
  }

  private skipCovered(row: number[], next: number[]): void {
    for (;;) {
      const left = this.covered[row.length] ?? 0;
      if (left <= 0 || this.budget.cells <= 0) return;
      const cell = this.coveredBy[row.length]!;
      this.place(cell, left - 1, row, next);
      this.budget.cells--;
    }
  }

  private placeCell(cell: number, row: number[], next: number[]): void {
    const down = this.span(cell, A.rowspan) - 1;
    const across = this.span(cell, A.colspan);
    for (let i = 0; i < across && (i === 0 || this.budget.cells-- > 0); i++) this.place(cell, down, row, next);
  }

  private place(cell: number, down: number, row: number[], next: number[]): void {
    next[row.length] = down;
    this.nextCoveredBy[row.length] = cell;
    row.push(cell);
  }

  private span(cell: number, attribute: number): number {
    const text = this.tree.attr(cell, attribute);
    if (text === null) return 1;
    const value = Number.parseInt(text, 10);
    return Number.isFinite(value) && value > 1 ? Math.min(value, MAX_COLUMNS) : 1;
  }
}
