/** Cells of a sheet, kept as sparse as they come: one cell in the last corner costs one cell. */
import { tableHtml, type Cell } from '@troupe/html';

/** Cells of all sheets of a file together; a larger table is for a program, not for a reader. */
const MAX_CELLS = 400_000;
const MAX_ROWS = 50_000;
/** More columns than this are no table in markdown. */
const MAX_COLUMNS = 200;
/** Cells that merged ones may cover in one sheet; beyond, a merged cell is one cell. */
const MAX_COVERED = 20_000;

export interface Place {
  row: number;
  column: number;
}

export class SheetLimits {
  private cells = 0;
  private rows = 0;
  private cut: string[] = [];

  takeRow(): boolean {
    if (this.rows < MAX_ROWS) return ++this.rows > 0;
    this.note(`rows beyond ${MAX_ROWS}`);
    return false;
  }

  takeCell(): boolean {
    if (this.cells < MAX_CELLS) return ++this.cells > 0;
    this.note(`cells beyond ${MAX_CELLS}`);
    return false;
  }

  takeColumns(columns: number[]): number[] {
    if (columns.length > MAX_COLUMNS) this.note(`columns beyond ${MAX_COLUMNS}`);
    return columns.slice(0, MAX_COLUMNS);
  }

  /** Nothing more will be taken, and the warning says so. */
  get isFull(): boolean {
    return this.cut.some((what) => !what.startsWith('columns'));
  }

  get warning(): string | null {
    return this.cut.length === 0 ? null : `The spreadsheet was cut: ${this.cut.join(', ')} were left out.`;
  }

  private note(what: string): void {
    if (!this.cut.includes(what)) this.cut.push(what);
  }
}

export class SheetGrid {
  /** HTML by row and column. */
  private readonly rows = new Map<number, Map<number, string>>();
  /** Size of merged cells by their first row and column. */
  private readonly spans = new Map<string, { down: number; across: number }>();
  private coverable = MAX_COVERED;

  constructor(private readonly limits: SheetLimits) {}

  set(row: number, column: number, html: string): void {
    if (html === '') return;
    let cells = this.rows.get(row);
    if (cells === undefined) {
      if (!this.limits.takeRow()) return;
      cells = new Map();
      this.rows.set(row, cells);
    }
    if (this.limits.takeCell()) cells.set(column, html);
  }

  change({ row, column }: Place, rewrite: (html: string) => string): void {
    const html = this.rows.get(row)?.get(column);
    if (html !== undefined) this.rows.get(row)!.set(column, rewrite(html));
  }

  merge(from: Place, to: Place): void {
    this.spans.set(`${from.row}:${from.column}`, { down: to.row, across: to.column });
  }

  /** HTML without empty rows and columns; '' when all are empty. */
  toHtml(): string {
    const rows = [...this.rows.keys()].sort((a, b) => a - b);
    const used = new Set<number>();
    for (const cells of this.rows.values()) for (const column of cells.keys()) used.add(column);
    const columns = this.limits.takeColumns([...used].sort((a, b) => a - b));
    const covered = new Set<string>();
    return tableHtml(rows.map((row, at) => this.rowCells(row, { rows, at, columns, covered })));
  }

  private rowCells(
    row: number,
    { rows, at, columns, covered }: { rows: number[]; at: number; columns: number[]; covered: Set<string> },
  ): Cell[] {
    const cells = this.rows.get(row)!;
    const line: Cell[] = [];
    for (const [index, column] of columns.entries()) {
      if (covered.delete(`${row}:${column}`)) continue;
      const span = this.spans.get(`${row}:${column}`);
      const html = cells.get(column) ?? '';
      if (span === undefined) {
        line.push({ html });
        continue;
      }
      const downTo = countUpTo(rows, at, span.down);
      const acrossTo = countUpTo(columns, index, span.across);
      this.coverable -= downTo * acrossTo;
      if (this.coverable < 0) {
        line.push({ html });
        continue;
      }
      for (let i = 0; i < downTo; i++)
        for (let j = 0; j < acrossTo; j++) if (i + j > 0) covered.add(`${rows[at + i]!}:${columns[index + j]!}`);
      line.push({ html, rowspan: downTo, colspan: acrossTo });
    }
    return line;
  }
}

/** Entries of a sorted list from `at` that are not above `last`; at least the one there. */
function countUpTo(sorted: readonly number[], at: number, last: number): number {
  let count = 1;
  while (at + count < sorted.length && sorted[at + count]! <= last) count++;
  return count;
}
