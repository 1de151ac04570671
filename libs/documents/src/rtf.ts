/** Rich Text Format: paragraphs, headings, lists, tables, links, notes and the code pages of its fonts. */
import { type DocumentContent, unreadable } from '@troupe/contracts';
import { escapeHtml, imageText, link, listHtml, tableHtml, wrap, type Cell, type ListLine } from '@troupe/html';
import { compact } from './office/office-package.js';

const MAX_DEPTH = 500;
const MAX_CHARS = 10_000_000;
const MAX_COLUMNS = 200;
/** Groups whose text is not part of the document. */
const HIDDEN = new Set(
  (
    'fonttbl colortbl stylesheet listtable listoverridetable revtbl rsidtbl generator pict objdata datafield themedata ' +
    'colorschememapping latentstyles datastore xmlnstbl header headerl headerr headerf footer footerl footerr footerf ' +
    'pntxta pntxtb bkmkstart bkmkend fldinst info ftnsep ftnsepc aftnsep aftnsepc pgdsctbl ' +
    'filetbl mmathPr userprops xe tc private wgrffmtfilter annotation atnid atnauthor sp shpinst'
  ).split(' '),
);
const SYMBOLS: Record<string, string> = {
  tab: '\t',
  line: '\n',
  emdash: '—',
  endash: '–',
  bullet: '•',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  emspace: ' ',
  enspace: ' ',
  '~': '\u00a0',
  _: '‑',
  '-': '',
};
/** Windows code pages by the character set of a font. */
const CODE_PAGE_OF_CHARSET: Record<number, number> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};
const LABELS: Record<number, string> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
};
/** windows-1252 for 0x80-0x9F, which Node 20's decoder takes for control characters. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|([^\\{}\r\n]+)|[\r\n]+/gi;

export function readRtf(body: Uint8Array): DocumentContent {
  const source = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, MAX_CHARS)).toString('latin1');
  const reader = new RtfReader();
  for (const token of source.matchAll(TOKEN)) reader.take(token);
  const { title, author, created } = reader.info;
  return {
    parts: [reader.html()],
    title: title?.trim() || null,
    metadata: compact({ author: author?.trim() ?? '', dcTermsCreated: created ?? '' }),
    pages: null,
    warning: body.byteLength > MAX_CHARS ? 'The document was too long: its end was left out.' : null,
  };
}

type Destination =
  | 'text'
  | 'hidden'
  | 'fonts'
  | 'styles'
  | 'instruction'
  | 'result'
  | 'note'
  | 'title'
  | 'author'
  /** Number or bullet of an item. */
  | 'marker'
  /** Name and value of a property of a picture. */
  | 'name'
  | 'value';

/** Destinations in which words about paragraphs and characters mean nothing. */
const SILENT: ReadonlySet<Destination> = new Set([
  'hidden',
  'marker',
  'name',
  'value',
  'title',
  'author',
  'instruction',
]);
/** Positions closer than this are the same edge of a table. */
const EDGE_TWIPS = 40;

interface Group {
  destination: Destination;
  isBold: boolean;
  isItalic: boolean;
  isHidden: boolean;
  /** Index of the font, which knows its code page. */
  font: number;
  /** Bytes that stand in for a `\u` character where it is not known. */
  fallbackChars: number;
  /** A group that starts with `\*` is skipped when its word is not known. */
  isOptional: boolean;
  /** A second copy of a picture, for old readers. */
  isCopy: boolean;
  field: Field | null;
}

interface Field {
  target: string;
  html: string;
}

interface Paragraph {
  html: string;
  heading: number;
  isCode: boolean;
  list: ListLine['level'] | null;
  marker: string;
  isInTable: boolean;
}

interface RowShape {
  /** Right edges of the cells. */
  edges: number[];
  /** Cells that continue the one before, or the one above. */
  continuesLeft: Set<number>;
  continuesUp: Set<number>;
}

function newShape(): RowShape {
  return { edges: [], continuesLeft: new Set(), continuesUp: new Set() };
}

const PLAIN_PARAGRAPH: Paragraph = { html: '', heading: 0, isCode: false, list: null, marker: '', isInTable: false };

class RtfReader {
  readonly info: { title?: string; author?: string; created?: string } = {};
  private group: Group = {
    destination: 'text',
    isBold: false,
    isItalic: false,
    isHidden: false,
    font: 0,
    fallbackChars: 1,
    isOptional: false,
    isCopy: false,
    field: null,
  };
  private readonly outer: Group[] = [];
  private codePage = 1252;
  private readonly fontPages = new Map<number, number>();
  private readonly headings = new Map<number, number>();
  private styleNumber = 0;
  private styleName = '';
  private skip = 0;
  private bytes: number[] = [];
  private pending = '';
  private readonly codeStyles = new Set<number>();
  private property = '';
  private paragraph: Paragraph = { ...PLAIN_PARAGRAPH };
  private note: string | null = null;
  private readonly notes: string[] = [];
  private readonly blocks: string[] = [];
  private items: ListLine[] = [];
  private code: string[] = [];
  private rows: { cells: string[]; shape: RowShape }[] = [];
  private row: string[] = [];
  private shape = newShape();

  take([, word, parameter, hex, symbol, brace, text]: RegExpMatchArray): void {
    if (hex !== undefined) return this.byte(Number.parseInt(hex, 16));
    if (text !== undefined) return this.plainText(text);
    this.flushBytes();
    if (brace === '{') this.open();
    else if (brace === '}') this.close();
    else if (word !== undefined) this.control(word, parameter === undefined ? null : Number(parameter));
    else if (symbol !== undefined) this.symbol(symbol);
  }

  html(): string {
    this.flushBytes();
    this.endParagraph();
    this.endBlocks();
    const notes = this.notes.map(
      (html, i) => `<li id="note-${i + 1}"><p>${html} <a href="#note-ref-${i + 1}">↑</a></p></li>`,
    );
    return this.blocks.join('\n') + (notes.length === 0 ? '' : `<ol>${notes.join('\n')}</ol>`);
  }

  // ---- groups

  private open(): void {
    if (this.outer.length >= MAX_DEPTH) throw unreadable(`The document is nested deeper than ${MAX_DEPTH} levels`);
    this.flushText();
    this.outer.push(this.group);
    this.group = { ...this.group, isOptional: false };
  }

  private close(): void {
    this.flushText();
    const ended = this.group;
    const outer = this.outer.pop();
    if (outer === undefined) return;
    if (ended.destination === 'value' && outer.destination !== 'value') this.property = '';
    if (ended.destination === 'styles' && outer.destination === 'styles') this.noteStyle();
    if (ended.destination === 'note' && outer.destination !== 'note') this.endNote();
    if (ended.field !== null && ended.field !== outer.field) this.endField(ended.field, outer);
    this.group = outer;
  }

  private enter(destination: Destination): void {
    this.flushText();
    this.group.destination = destination;
  }

  // ---- words

  private control(word: string, value: number | null): void {
    const { group } = this;
    if (this.skip > 0) this.skip = 0;
    if (this.enterDestination(word)) return;
    if (group.isOptional) {
      group.isOptional = false;
      return this.enter('hidden');
    }
    if (word === 'u') return this.unicode(value ?? 0);
    const symbol = SYMBOLS[word];
    if (symbol !== undefined) return this.write(symbol);
    this.format(word, value);
  }

  private enterDestination(word: string): boolean {
    const { group } = this;
    if (group.destination === 'hidden') return this.enterHidden(word);
    if (word === 'fonttbl') this.enter('fonts');
    else if (word === 'stylesheet') this.enter('styles');
    else if (word === 'field') group.field = { target: '', html: '' };
    else if (word === 'fldinst') this.enter('instruction');
    else if (word === 'fldrslt') this.enter('result');
    else if (word === 'footnote') this.startNote();
    else if (word === 'listtext' || word === 'pntext') this.enter('marker');
    else if (word === 'nonshppict') this.enterCopy();
    else if (HIDDEN.has(word)) this.enter('hidden');
    else if (word !== 'shptxt' && word !== 'shppict') return false;
    group.isOptional = false;
    return true;
  }

  /** Reads a word in a group that is not shown, if it tells something all the same. */
  private enterHidden(word: string): boolean {
    if ((word === 'title' || word === 'author') && this.info[word] === undefined) this.enter(word);
    else if (word === 'sn' && !this.group.isCopy) this.enter('name');
    else if (word === 'sv' && !this.group.isCopy) this.enter('value');
    else if (word === 'nonshppict') this.enterCopy();
    else return HIDDEN.has(word);
    this.group.isOptional = false;
    return true;
  }

  private enterCopy(): void {
    this.group.isCopy = true;
    this.enter('hidden');
  }

  // eslint-disable-next-line complexity -- one case a control word
  private format(word: string, value: number | null): void {
    const { group, paragraph } = this;
    if (SILENT.has(group.destination) && word !== 'uc' && word !== 'ansicpg' && word !== 'f') return;
    switch (word) {
      case 'par':
      case 'sect':
      case 'page':
        return this.group.destination === 'note' ? this.write(' ') : this.endParagraph();
      case 'pard':
        this.flushText();
        Object.assign(paragraph, { ...PLAIN_PARAGRAPH, html: paragraph.html, marker: paragraph.marker });
        return;
      case 'plain':
        this.flushText();
        Object.assign(group, { isBold: false, isItalic: false, isHidden: false });
        return;
      case 'b':
        this.flushText();
        group.isBold = value !== 0;
        return;
      case 'i':
        this.flushText();
        group.isItalic = value !== 0;
        return;
      case 'v':
        this.flushText();
        group.isHidden = value !== 0;
        return;
      case 'uc':
        group.fallbackChars = Math.min(10, value ?? 1);
        return;
      case 'ansicpg':
        this.codePage = value ?? 1252;
        return;
      case 'mac':
        this.codePage = 10000;
        return;
      case 'f':
        group.font = value ?? 0;
        return;
      case 'fcharset':
        if (group.destination === 'fonts') this.noteFont(value ?? 0);
        return;
      case 's':
        this.useStyle(value ?? 0);
        return;
      case 'outlinelevel':
        if (group.destination === 'styles') this.headings.set(this.styleNumber, (value ?? 9) + 1);
        else paragraph.heading = (value ?? 9) + 1;
        return;
      case 'ls':
        if (group.destination !== 'styles') paragraph.list ??= 0;
        return;
      case 'ilvl':
        if (group.destination !== 'styles') paragraph.list = value ?? 0;
        return;
      default:
        this.tableWord(word, value);
    }
  }

  private tableWord(word: string, value: number | null): void {
    switch (word) {
      case 'intbl':
        this.paragraph.isInTable = true;
        return;
      case 'trowd':
        this.shape = newShape();
        return;
      case 'clmrg':
        this.shape.continuesLeft.add(this.shape.edges.length);
        return;
      case 'clvmrg':
        this.shape.continuesUp.add(this.shape.edges.length);
        return;
      case 'cellx':
        if (this.shape.edges.length < MAX_COLUMNS) this.shape.edges.push(value ?? 0);
        return;
      case 'cell':
        return this.endCell();
      case 'row':
        return this.endRow();
    }
  }

  private symbol(symbol: string): void {
    if (symbol === '*') this.group.isOptional = true;
    else if (symbol === '\n' || symbol === '\r') this.endParagraph();
    else this.write(SYMBOLS[symbol] ?? symbol);
  }

  private noteFont(charset: number): void {
    const page = CODE_PAGE_OF_CHARSET[charset];
    if (page !== undefined) this.fontPages.set(this.group.font, page);
  }

  private useStyle(number: number): void {
    if (this.group.destination === 'styles') {
      this.styleNumber = number;
      return;
    }
    this.paragraph.heading = this.headings.get(number) ?? 0;
    this.paragraph.isCode = this.codeStyles.has(number);
  }

  private noteStyle(): void {
    const level = /^\s*heading (\d)/i.exec(this.styleName)?.[1];
    if (level !== undefined) this.headings.set(this.styleNumber, Number(level));
    else if (/^\s*title;?\s*$/i.test(this.styleName)) this.headings.set(this.styleNumber, 1);
    if (/preformatted|source code/i.test(this.styleName)) this.codeStyles.add(this.styleNumber);
    this.styleName = '';
    this.styleNumber = 0;
  }

  // ---- text

  private plainText(text: string): void {
    this.flushBytes();
    const skipped = Math.min(this.skip, text.length);
    this.skip -= skipped;
    this.write(text.slice(skipped));
  }

  private byte(byte: number): void {
    if (this.skip > 0) this.skip--;
    else this.bytes.push(byte);
  }

  /** Characters may have two bytes, so that bytes in a row are decoded together. */
  private flushBytes(): void {
    if (this.bytes.length === 0) return;
    const bytes = Uint8Array.from(this.bytes);
    this.bytes = [];
    this.write(decodePage(bytes, this.fontPages.get(this.group.font) ?? this.codePage));
  }

  private unicode(value: number): void {
    this.write(String.fromCharCode(value < 0 ? value + 0x10000 : value));
    this.skip = this.group.fallbackChars;
  }

  private write(text: string): void {
    const { destination, isHidden, field } = this.group;
    if (destination === 'styles') this.styleName += text;
    else if (destination === 'instruction' && field !== null) field.target += text;
    else if (destination === 'title' || destination === 'author')
      this.info[destination] = (this.info[destination] ?? '') + text;
    else if (destination === 'marker') this.paragraph.marker += text;
    else if (destination === 'name') this.property += text;
    else if (destination === 'value' && this.property === 'wzDescription') this.paragraph.html += imageText(text);
    else if (destination === 'text' || destination === 'result' || destination === 'note') {
      if (!isHidden) this.pending += text;
    }
  }

  /** Adds text of one look to the open link, note or paragraph. */
  private flushText(): void {
    this.flushBytes();
    if (this.pending === '') return;
    const { isBold, isItalic, field, destination } = this.group;
    let html = escapeHtml(this.pending).replaceAll('\n', '<br>');
    this.pending = '';
    if (isItalic) html = wrap('em', html);
    if (isBold) html = wrap('strong', html);
    this.append(html, field, destination);
  }

  private append(html: string, field: Field | null, destination: Destination): void {
    if (field !== null) field.html += html;
    else if (destination === 'note' && this.note !== null) this.note += html;
    else this.paragraph.html += html;
  }

  private endField({ target, html }: Field, outer: Group): void {
    const address = /HYPERLINK\s+(?:\\l\s+)?"?([^"\s]+)/i.exec(target)?.[1];
    const isPlace = /HYPERLINK\s+\\l/i.test(target);
    this.append(isPlace ? html : link(address, html), outer.field, outer.destination);
  }

  private startNote(): void {
    this.flushText();
    this.note = '';
    this.group.destination = 'note';
    this.group.field = null;
  }

  private endNote(): void {
    const html = (this.note ?? '').trim();
    this.note = null;
    if (html === '') return;
    this.notes.push(html);
    const n = this.notes.length;
    this.paragraph.html += `<sup><a href="#note-${n}" id="note-ref-${n}">${n}</a></sup>`;
  }

  // ---- blocks

  private endParagraph(): void {
    this.flushText();
    const { html, heading, list, isInTable, marker, isCode } = this.paragraph;
    if (isInTable) {
      if (html !== '') this.paragraph.html += '<br>';
      return;
    }
    Object.assign(this.paragraph, { html: '', marker: '' });
    if (isCode) return this.addCode(html);
    if (html.trim() === '') return;
    const isItem = list !== null && heading === 0;
    this.endBlocks(isItem ? 'items' : undefined);
    if (isItem)
      return void this.items.push({ level: list, isOrdered: /[\p{L}\p{N}]/u.test(marker), html: html.trim() });
    const tag = heading >= 1 && heading <= 6 ? `h${heading}` : 'p';
    this.blocks.push(`<${tag}>${html.trim()}</${tag}>`);
  }

  private addCode(html: string): void {
    this.endBlocks('code');
    this.code.push(html.replaceAll('<br>', '\n'));
  }

  private endCell(): void {
    this.flushText();
    this.row.push(this.paragraph.html.replace(/(<br>)+$/, '').trim());
    Object.assign(this.paragraph, { html: '', marker: '' });
  }

  private endRow(): void {
    this.endBlocks('rows');
    if (this.row.length > 0) this.rows.push({ cells: this.row, shape: this.shape });
    this.row = [];
  }

  /** Writes all gathered blocks but those that are still open. */
  private endBlocks(but?: 'items' | 'rows' | 'code'): void {
    if (but !== 'rows') this.endTable();
    if (but !== 'items' && this.items.length > 0) this.blocks.push(listHtml(this.items.splice(0)));
    if (but !== 'code' && this.code.length > 0)
      this.blocks.push(`<pre>${this.code.splice(0).join('\n').trimEnd()}</pre>`);
  }

  private endTable(): void {
    if (this.row.length > 0) this.rows.push({ cells: this.row.splice(0), shape: this.shape });
    if (this.rows.length > 0) this.blocks.push(tableHtml(tableCells(this.rows.splice(0))));
  }
}

/** RTF knows no columns, only where cells end: all ends of a table are its columns. */
function tableCells(rows: readonly { cells: string[]; shape: RowShape }[]): Cell[][] {
  const edges = distinctEdges(rows.flatMap(({ shape }) => shape.edges));
  const columnOf = (edge: number): number => edges.filter((one) => one < edge - EDGE_TWIPS).length;
  /** Cell above by the column in which it starts. */
  let above = new Map<number, Cell>();
  return rows.map(({ cells, shape }) => {
    const line: Cell[] = [];
    const next = new Map<number, Cell>();
    let from = 0;
    for (const [index, html] of cells.entries()) {
      const edge = shape.edges[index];
      const to = edge === undefined ? from + 1 : Math.max(from + 1, columnOf(edge) + 1);
      const before = line.at(-1);
      const up = above.get(from);
      if (shape.continuesLeft.has(index) && before !== undefined) before.colspan = (before.colspan ?? 1) + to - from;
      else if (shape.continuesUp.has(index) && up !== undefined) {
        up.rowspan = (up.rowspan ?? 1) + 1;
        next.set(from, up);
      } else {
        const cell: Cell = { html, colspan: to - from };
        line.push(cell);
        next.set(from, cell);
      }
      from = to;
    }
    above = next;
    return line;
  });
}

function distinctEdges(all: readonly number[]): number[] {
  const edges: number[] = [];
  for (const edge of [...new Set(all)].sort((a, b) => a - b)) {
    if (edges.length === 0 || edge - edges.at(-1)! > EDGE_TWIPS) edges.push(edge);
  }
  return edges.slice(0, MAX_COLUMNS);
}

function decodePage(bytes: Uint8Array, page: number): string {
  if (page === 1252 || page === 0) {
    return Buffer.from(bytes)
      .toString('latin1')
      .replace(/[\x80-\x9f]/g, (char) => WINDOWS_1252[char.charCodeAt(0) - 0x80]!);
  }
  try {
    return new TextDecoder(LABELS[page] ?? `windows-${page}`).decode(bytes);
  } catch {
    return decodePage(bytes, 1252);
  }
}
