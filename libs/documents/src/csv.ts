/** Tables in text: comma, semicolon, tab or bar between the cells, whichever the text uses. */
import Papa from 'papaparse';
import type { DocumentContent } from '@troupe/contracts';
import { escapeHtml } from '@troupe/html';
import { SheetGrid, SheetLimits } from './office/sheet-grid.js';

/** Rows beyond those that a grid takes need not be looked at. */
const MAX_PARSED_ROWS = 60_000;

export function readCsv(text: string, delimiter?: string): DocumentContent {
  const { data } = Papa.parse<string[]>(text, {
    delimiter: delimiter ?? '',
    delimitersToGuess: [',', ';', '\t', '|'],
    skipEmptyLines: 'greedy',
    preview: MAX_PARSED_ROWS,
  });
  const limits = new SheetLimits();
  const grid = new SheetGrid(limits);
  for (const [row, cells] of data.entries()) {
    for (const [column, cell] of cells.entries()) {
      grid.set(row, column, escapeHtml(cell.trim()).replace(/\r?\n/g, '<br>'));
    }
  }
  return { parts: [grid.toHtml()], title: null, metadata: {}, pages: null, warning: limits.warning };
}
