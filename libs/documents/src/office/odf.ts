/** OpenDocument text, spreadsheets and presentations, which share one vocabulary. */
import { type DocumentContent, unreadable } from '@troupe/contracts';
import { escapeHtml, imageText, link, tableHtml, wrap } from '@troupe/html';
import {
  attribute,
  childAt,
  childrenNamed,
  decodeXml,
  descendantsNamed,
  elementsOf,
  parseXml,
  textOf,
  type XmlElement,
} from '../xml.js';
import type { ZipArchive } from '../zip-archive.js';
import { compact } from './office-package.js';
import { SheetGrid, SheetLimits } from './sheet-grid.js';

export type OdfKind = 'odt' | 'ods' | 'odp';

const MAX_SPACES = 100;
const MAX_REPEATED = 1000;

export function readOdf(archive: ZipArchive, kind: OdfKind): DocumentContent {
  const read = (name: string): XmlElement | null => {
    const bytes = archive.read(name);
    return bytes === null ? null : parseXml(decodeXml(bytes));
  };
  if (descendantsNamed(read('META-INF/manifest.xml'), 'encryption-data').length > 0) {
    throw unreadable('The document is encrypted with a password');
  }
  const content = read('content.xml');
  const reader = new OdfReader(styleTable([read('styles.xml'), content]));
  const body = childAt(content, 'body');
  return { ...readBody(reader, body, kind), ...properties(read('meta.xml')), pages: null };
}

function readBody(
  reader: OdfReader,
  body: XmlElement | null,
  kind: OdfKind,
): Pick<DocumentContent, 'parts' | 'warning'> {
  if (kind === 'odp') {
    const slides = childrenNamed(childAt(body, 'presentation'), 'page');
    return { parts: slides.map((slide) => reader.slide(slide)).filter(isNotBlank), warning: null };
  }
  if (kind === 'odt') return { parts: [reader.blocks(childAt(body, 'text')) + reader.notes()], warning: null };
  const limits = new SheetLimits();
  const sheets = childrenNamed(childAt(body, 'spreadsheet'), 'table');
  const parts = sheets.map((sheet) => reader.sheet(sheet, limits)).filter(isNotBlank);
  return { parts, warning: limits.warning };
}

function isNotBlank(html: string): boolean {
  return html !== '';
}

function properties(file: XmlElement | null): Pick<DocumentContent, 'title' | 'metadata'> {
  const meta = childAt(file, 'meta');
  const read = (name: string): string => textOf(childAt(meta, name)).trim();
  const metadata = compact({
    author: read('creator') || read('initial-creator'),
    description: read('description'),
    keywords: childrenNamed(meta, 'keyword').map(textOf).join(', '),
    language: read('language'),
    dcSubject: read('subject'),
    dcTermsCreated: read('creation-date'),
    modifiedTime: read('date'),
  });
  return { title: read('title') || null, metadata };
}

interface Style {
  parent: string | undefined;
  isBold: boolean;
  isItalic: boolean;
  isCode: boolean;
  isTitle: boolean;
  isHidden: boolean;
  /** List styles: their levels that count. */
  ordered: Set<number>;
}

function styleTable(files: (XmlElement | null)[]): Map<string, Style> {
  const styles = new Map<string, Style>();
  for (const file of files) {
    for (const group of ['styles', 'automatic-styles']) {
      for (const style of elementsOf(childAt(file, group)))
        styles.set(attribute(style, 'name') ?? '', readStyle(style));
    }
  }
  return styles;
}

function readStyle(style: XmlElement): Style {
  const text = childAt(style, 'text-properties');
  const name = `${attribute(style, 'name') ?? ''} ${attribute(style, 'display-name') ?? ''}`;
  return {
    parent: attribute(style, 'parent-style-name'),
    isBold: /^(bold|[6-9]00)$/.test(attribute(text, 'font-weight') ?? ''),
    isItalic: attribute(text, 'font-style') === 'italic',
    isCode: /Preformatted|Source_?20?_?\s?(Text|Code)/i.test(name),
    isTitle: attribute(style, 'name') === 'Title',
    isHidden: attribute(childAt(style, 'table-properties'), 'display') === 'false',
    ordered: new Set(
      childrenNamed(style, 'list-level-style-number').map((level) => Number(attribute(level, 'level') ?? 1)),
    ),
  };
}

class OdfReader {
  private readonly found: string[] = [];

  constructor(private readonly styles: ReadonlyMap<string, Style>) {}

  blocks(parent: XmlElement | null): string {
    return elementsOf(parent)
      .map((element) => this.block(element))
      .join('\n')
      .replaceAll('</pre>\n<pre>', '\n');
  }

  private block(element: XmlElement): string {
    switch (element.name) {
      case 'h':
        return wrap(
          `h${Math.min(6, Math.max(1, Number(attribute(element, 'outline-level') ?? 1)))}`,
          this.inline(element),
        );
      case 'p':
        return this.paragraph(element);
      case 'list':
        return this.list(element, 1, undefined);
      case 'table':
        return tableHtml(this.tableRows(element));
      case 'tracked-changes':
      case 'forms':
      case 'sequence-decls':
      case 'notes':
        return '';
      case 'frame':
        return this.frame(element);
      default:
        return this.blocks(element);
    }
  }

  private paragraph(element: XmlElement): string {
    const style = this.style(element);
    const html = this.inline(element);
    if (style?.isCode === true) return `<pre>${html.replaceAll('<br>', '\n')}</pre>`;
    return style?.isTitle === true ? wrap('h1', html) : wrap('p', styled(html, style));
  }

  private list(list: XmlElement, level: number, styleOfOuter: string | undefined): string {
    const name = attribute(list, 'style-name') ?? styleOfOuter;
    const tag = this.styles.get(name ?? '')?.ordered.has(level) === true ? 'ol' : 'ul';
    const items = elementsOf(list).filter((item) => item.name === 'list-item' || item.name === 'list-header');
    const html = items.map((item) => {
      const isTight = childrenNamed(item, 'p').length <= 1;
      const inside = elementsOf(item).map((child) => {
        if (child.name === 'list') return this.list(child, level + 1, name);
        return isTight && child.name === 'p' ? this.inline(child) : this.block(child);
      });
      return `<li>${inside.join('')}</li>`;
    });
    return html.length === 0 ? '' : `<${tag}>${html.join('')}</${tag}>`;
  }

  private tableRows(table: XmlElement): { html: string; colspan: number; rowspan: number }[][] {
    return rowsOf(table).map((row) =>
      childrenNamed(row, 'table-cell').map((cell) => ({
        html: this.cell(cell),
        colspan: Number(attribute(cell, 'number-columns-spanned') ?? 1),
        rowspan: Number(attribute(cell, 'number-rows-spanned') ?? 1),
      })),
    );
  }

  /** One paragraph stands in a cell as it is. */
  private cell(cell: XmlElement): string {
    const children = elementsOf(cell).filter(({ name }) => name !== 'annotation');
    const isPlain = children.every(({ name }) => name === 'p');
    return isPlain ? children.map((child) => this.inline(child)).join('<br>') : this.blocks(cell);
  }

  // ---- text

  private inline(element: XmlElement): string {
    return element.children.map((child) => (typeof child === 'string' ? escapeHtml(child) : this.span(child))).join('');
  }

  private span(element: XmlElement): string {
    switch (element.name) {
      case 'span': {
        const style = this.style(element);
        const html = styled(this.inline(element), style);
        return style?.isCode === true ? wrap('code', html) : html;
      }
      case 'a':
        return link(attribute(element, 'href'), this.inline(element));
      case 's':
        return ' '.repeat(Math.min(MAX_SPACES, Number(attribute(element, 'c') ?? 1)));
      case 'tab':
        return '\t';
      case 'line-break':
        return '<br>';
      case 'note':
        return this.note(element);
      case 'frame':
      case 'custom-shape':
        return this.frame(element);
      case 'annotation':
      case 'change':
        return '';
      default:
        return this.inline(element);
    }
  }

  /** A link to a note below that links back: footnotes of markdown. */
  private note(element: XmlElement): string {
    const label = escapeHtml(textOf(childAt(element, 'note-citation')).trim() || String(this.found.length + 1));
    const n = this.found.length + 1;
    const back = `<a href="#note-ref-${n}">↑</a>`;
    const html = elementsOf(childAt(element, 'note-body'))
      .map((child) => this.inline(child))
      .join('<br>');
    this.found.push(`<li id="note-${n}"><p>${html} ${back}</p></li>`);
    return `<sup><a href="#note-${n}" id="note-ref-${n}">${label}</a></sup>`;
  }

  notes(): string {
    return this.found.length === 0 ? '' : `<ol>${this.found.join('\n')}</ol>`;
  }

  private frame(frame: XmlElement): string {
    const texts = elementsOf(frame).filter(({ name }) => name === 'text-box' || name === 'table');
    if (texts.length > 0)
      return texts.map((one) => (one.name === 'table' ? this.block(one) : this.blocks(one))).join('\n');
    if (frame.name === 'custom-shape') return this.blocks(frame);
    return imageText(textOf(childAt(frame, 'desc')) || textOf(childAt(frame, 'title')));
  }

  private style(element: XmlElement): Style | undefined {
    const style = this.styles.get(attribute(element, 'style-name') ?? '');
    const parent = this.styles.get(style?.parent ?? '');
    if (style === undefined || parent === undefined) return style;
    return { ...style, isCode: style.isCode || parent.isCode, isTitle: style.isTitle || parent.isTitle };
  }

  // ---- slides and sheets

  slide(page: XmlElement): string {
    const frames = elementsOf(page).filter(({ name }) => name !== 'notes');
    const isTitle = (frame: XmlElement): boolean => attribute(frame, 'class') === 'title';
    const title = frames.filter(isTitle).map((frame) => textOf(frame).replace(/\s+/g, ' ').trim());
    const others = frames.filter((frame) => !isTitle(frame));
    const html = [
      ...title.map((text) => wrap('h2', escapeHtml(text))),
      ...others.map((frame) => (frame.name === 'g' ? this.blocks(frame) : this.frame(frame))),
    ];
    const notes = this.blocks(childAt(page, 'notes')).trim();
    const spoken = /<(p|li|h\d)/.test(notes) ? `<h3>Notes</h3>${notes}` : '';
    return [...html, spoken].filter((part) => part.trim() !== '').join('\n');
  }

  sheet(sheet: XmlElement, limits: SheetLimits): string {
    if (this.style(sheet)?.isHidden === true) return '';
    const grid = new SheetGrid(limits);
    let row = 0;
    for (const line of rowsOf(sheet)) {
      const repeated = Number(attribute(line, 'number-rows-repeated') ?? 1);
      const isBlank = !elementsOf(line).some((cell) => cell.children.length > 0);
      for (let i = 0; i < (isBlank ? 1 : Math.min(repeated, MAX_REPEATED)); i++) this.sheetRow(grid, line, ++row);
    }
    const table = grid.toHtml();
    return table === '' ? '' : `<h2>${escapeHtml(attribute(sheet, 'name') ?? '')}</h2>${table}`;
  }

  private sheetRow(grid: SheetGrid, line: XmlElement, row: number): void {
    let column = 0;
    for (const cell of elementsOf(line)) {
      if (cell.name !== 'table-cell' && cell.name !== 'covered-table-cell') continue;
      const repeated = Number(attribute(cell, 'number-columns-repeated') ?? 1);
      const html = cell.name === 'table-cell' ? this.cell(cell) : '';
      const across = Number(attribute(cell, 'number-columns-spanned') ?? 1);
      const down = Number(attribute(cell, 'number-rows-spanned') ?? 1);
      if (across > 1 || down > 1) {
        grid.merge({ row, column: column + 1 }, { row: row + down - 1, column: column + across });
      }
      for (let i = 1; html !== '' && i <= Math.min(repeated, MAX_REPEATED); i++) grid.set(row, column + i, html);
      column += repeated;
    }
  }
}

/** Rows of a table, whatever groups them. */
function rowsOf(table: XmlElement): XmlElement[] {
  return elementsOf(table).flatMap((child) => {
    if (child.name === 'table-row') return [child];
    return /^table-(header-rows|row-group|rows)$/.test(child.name) ? rowsOf(child) : [];
  });
}

function styled(html: string, style: Style | undefined): string {
  const italic = style?.isItalic === true ? wrap('em', html) : html;
  return style?.isBold === true ? wrap('strong', italic) : italic;
}
