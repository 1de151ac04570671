/** Excel workbooks: the visible sheets as tables, values as Excel shows them. */
import { format } from 'numfmt';
import type { DocumentContent } from '@troupe/contracts';
import { escapeHtml, link } from '@troupe/html';
import { attribute, childAt, childrenNamed, decodeXml, descendantsNamed, streamXml, type XmlElement } from '../xml.js';
import type { ZipArchive } from '../zip-archive.js';
import { OfficePackage, relationId } from './office-package.js';
import { SheetGrid, SheetLimits } from './sheet-grid.js';

/** Codes that workbooks do not spell out (ECMA-376 part 1, 18.8.30); the others are `General`. */
const BUILT_IN: Record<number, string> = {
  1: '0',
  2: '0.00',
  3: '#,##0',
  4: '#,##0.00',
  9: '0%',
  10: '0.00%',
  11: '0.00E+00',
  12: '# ?/?',
  13: '# ??/??',
  14: 'yyyy-mm-dd',
  15: 'd-mmm-yy',
  16: 'd-mmm',
  17: 'mmm-yy',
  18: 'h:mm AM/PM',
  19: 'h:mm:ss AM/PM',
  20: 'h:mm',
  21: 'h:mm:ss',
  22: 'yyyy-mm-dd h:mm',
  37: '#,##0 ;(#,##0)',
  38: '#,##0 ;(#,##0)',
  39: '#,##0.00;(#,##0.00)',
  40: '#,##0.00;(#,##0.00)',
  45: 'mm:ss',
  46: '[h]:mm:ss',
  47: 'mmss.0',
  48: '##0.0E+0',
  49: '@',
};
/** Days between the beginnings of Excel's two calendars. */
const DAYS_TO_1904 = 1462;

export function readXlsx(archive: ZipArchive): DocumentContent {
  const files = new OfficePackage(archive);
  const main = files.mainPart('xl/workbook.xml');
  const workbook = files.xml(main);
  const relations = files.relations(main);
  const partOf = (type: string): string | undefined => [...relations.values()].find((one) => one.type === type)?.target;
  const book: Book = {
    strings: readStrings(archive, partOf('sharedStrings')),
    formats: readFormats(partOf('styles') === undefined ? null : files.xml(partOf('styles')!)),
    uses1904: /^(1|true)$/.test(attribute(childAt(workbook, 'workbookPr'), 'date1904') ?? ''),
  };
  const limits = new SheetLimits();
  const parts: string[] = [];
  for (const sheet of childrenNamed(childAt(workbook, 'sheets'), 'sheet')) {
    if ((attribute(sheet, 'state') ?? 'visible') !== 'visible') continue;
    const target = relations.get(relationId(sheet))?.target;
    const bytes = target === undefined ? null : archive.read(target);
    if (target === undefined || bytes === null) continue;
    const table = readSheet(decodeXml(bytes), book, files.relations(target), limits);
    if (table !== '') parts.push(`<h2>${escapeHtml(attribute(sheet, 'name') ?? '')}</h2>${table}`);
  }
  return { parts, ...files.properties(), pages: null, warning: limits.warning };
}

interface Book {
  /** As HTML. */
  strings: string[];
  /** By the index of a cell's style. */
  formats: string[];
  uses1904: boolean;
}

/** Streamed: there may be a million. */
function readStrings(archive: ZipArchive, part: string | undefined): string[] {
  const bytes = part === undefined ? null : archive.read(part);
  const strings: string[] = [];
  if (bytes === null) return strings;
  let text = '';
  let isText = false;
  let phonetic = 0;
  streamXml(decodeXml(bytes), {
    open: (name) => {
      if (name === 'si') text = '';
      else if (name === 'rPh') phonetic++;
      else if (name === 't') isText = phonetic === 0;
    },
    close: (name) => {
      if (name === 'si') strings.push(cellText(text));
      else if (name === 'rPh') phonetic--;
      else if (name === 't') isText = false;
    },
    text: (piece) => void (isText && (text += piece)),
  });
  return strings;
}

function cellText(text: string): string {
  return escapeHtml(text.trim()).replace(/\r?\n/g, '<br>');
}

function readFormats(styles: XmlElement | null): string[] {
  const own = new Map(
    descendantsNamed(childAt(styles, 'numFmts'), 'numFmt').map((one) => [
      attribute(one, 'numFmtId') ?? '',
      attribute(one, 'formatCode') ?? 'General',
    ]),
  );
  return childrenNamed(childAt(styles, 'cellXfs'), 'xf').map((style) => {
    const id = attribute(style, 'numFmtId') ?? '0';
    return own.get(id) ?? BUILT_IN[Number(id)] ?? 'General';
  });
}

interface OpenCell {
  row: number;
  column: number;
  type: string;
  style: number;
  value: string;
}

function readSheet(
  text: string,
  book: Book,
  relations: ReturnType<OfficePackage['relations']>,
  limits: SheetLimits,
): string {
  const grid = new SheetGrid(limits);
  let row = 0;
  let column = 0;
  let cell: OpenCell | null = null;
  let isValue = false;
  streamXml(text, {
    open: (name, attributes) => {
      if (name === 'row') {
        row = rowNumber(attributes['r'], row);
        column = 0;
      } else if (name === 'c') {
        const at = placeOf(attributes['r'] ?? '');
        column = at?.column ?? column + 1;
        cell = {
          row: at?.row ?? row,
          column,
          type: attributes['t'] ?? 'n',
          style: Number(attributes['s'] ?? 0),
          value: '',
        };
      } else if (name === 'v' || name === 't') isValue = cell !== null;
      else if (name === 'mergeCell') mergeRange(grid, attributes['ref'] ?? '');
      else if (name === 'hyperlink') linkRange(grid, attributes, relations);
    },
    close: (name) => {
      if (name === 'v' || name === 't') isValue = false;
      else if (name === 'c' && cell !== null) {
        if (cell.value !== '') grid.set(cell.row, cell.column, shown(cell, book));
        cell = null;
      }
    },
    text: (piece) => void (isValue && cell !== null && (cell.value += piece)),
    isOver: () => limits.isFull,
  });
  return grid.toHtml();
}

function rowNumber(declared: string | undefined, before: number): number {
  const row = Number(declared);
  return Number.isInteger(row) && row > 0 ? row : before + 1;
}

function shown({ type, style, value }: OpenCell, { strings, formats, uses1904 }: Book): string {
  switch (type) {
    case 's':
      return strings[Number(value)] ?? '';
    case 'b':
      return value === '1' ? 'TRUE' : 'FALSE';
    case 'str':
    case 'inlineStr':
    case 'e':
    case 'd':
      return cellText(value);
    default:
      return escapeHtml(shownNumber(value, formats[style] ?? 'General', uses1904).trim());
  }
}

function shownNumber(text: string, pattern: string, uses1904: boolean): string {
  const number = Number(text);
  if (!Number.isFinite(number)) return text;
  try {
    const isDate = uses1904 && /[dmyhs]/i.test(pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ''));
    return format(pattern, isDate ? number + DAYS_TO_1904 : number);
  } catch {
    return text;
  }
}

/** `BC12`, both counted from 1. */
function placeOf(ref: string): { row: number; column: number } | null {
  const match = /^\$?([A-Z]{1,3})\$?(\d{1,7})$/.exec(ref);
  if (match === null) return null;
  const column = [...match[1]!].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
  return { row: Number(match[2]), column };
}

function mergeRange(grid: SheetGrid, ref: string): void {
  const [from, to] = ref.split(':').map(placeOf);
  if (from && to) grid.merge(from, to);
}

function linkRange(
  grid: SheetGrid,
  attributes: Record<string, string>,
  relations: ReturnType<OfficePackage['relations']>,
): void {
  const place = placeOf((attributes['ref'] ?? '').split(':', 1)[0]!);
  const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1] ?? '';
  const relation = relations.get(id);
  if (place !== null && relation !== undefined) grid.change(place, (html) => link(relation.target, html));
}
