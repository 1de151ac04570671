/** PowerPoint slides in the order in which they are shown: title, text, tables, descriptions of pictures, and the notes. */
import type { DocumentContent } from '@troupe/contracts';
import { escapeHtml, imageText, link, listHtml, tableHtml, wrap, type Cell, type ListLine } from '@troupe/html';
import { attribute, childAt, childrenNamed, descendantsNamed, elementsOf, textOf, type XmlElement } from '../xml.js';
import type { ZipArchive } from '../zip-archive.js';
import { OfficePackage, relationId, type Relation } from './office-package.js';

const MAX_SLIDES = 2000;
/** Places of a slide that repeat on every one. */
const REPEATED = new Set(['dt', 'ftr', 'sldNum', 'hdr']);

export function readPptx(archive: ZipArchive): DocumentContent {
  const files = new OfficePackage(archive);
  const main = files.mainPart('ppt/presentation.xml');
  const relations = files.relations(main);
  const ids = childrenNamed(childAt(files.xml(main), 'sldIdLst'), 'sldId');
  const parts = ids
    .slice(0, MAX_SLIDES)
    .map((id) => relations.get(relationId(id))?.target)
    .map((target) => (target === undefined ? '' : new SlideReader(files, target).read()))
    .filter((html) => html !== '');
  const warning = ids.length > MAX_SLIDES ? `Slides beyond ${MAX_SLIDES} were left out.` : null;
  return { parts, ...files.properties(), pages: null, warning };
}

class SlideReader {
  private readonly relations: Map<string, Relation>;

  constructor(
    private readonly files: OfficePackage,
    private readonly part: string,
  ) {
    this.relations = files.relations(part);
  }

  read(): string {
    const slide = this.files.xml(this.part);
    if (slide === null || attribute(slide, 'show') === '0') return '';
    const shapes = this.shapesOf(childAt(slide, 'cSld', 'spTree'));
    const titles = shapes.filter(isTitle);
    const others = shapes.filter((shape) => !isTitle(shape));
    return [...titles, ...others].map((shape) => this.shape(shape)).join('\n') + this.notes();
  }

  /** Groups only serve to move shapes about. */
  private shapesOf(tree: XmlElement | null): XmlElement[] {
    return elementsOf(tree).flatMap((shape) => {
      if (shape.name === 'grpSp') return this.shapesOf(shape);
      if (shape.name !== 'AlternateContent') return [shape];
      return this.shapesOf(childAt(shape, 'Fallback') ?? childAt(shape, 'Choice'));
    });
  }

  private shape(shape: XmlElement): string {
    switch (shape.name) {
      case 'sp':
        return this.textShape(shape);
      case 'graphicFrame':
        return this.frame(shape);
      case 'pic':
        return wrap('p', imageText(attribute(childAt(shape, 'nvPicPr', 'cNvPr'), 'descr')));
      default:
        return '';
    }
  }

  private textShape(shape: XmlElement): string {
    const place = placeholderOf(shape);
    if (place !== null && REPEATED.has(place)) return '';
    const body = childAt(shape, 'txBody');
    const paragraphs = childrenNamed(body, 'p');
    if (isTitle(shape))
      return wrap(
        'h2',
        paragraphs
          .map((one) => this.runs(one))
          .join(' ')
          .trim(),
      );
    return this.paragraphs(paragraphs, place === 'body' || place === 'obj');
  }

  private paragraphs(paragraphs: XmlElement[], isBulleted: boolean): string {
    const html: string[] = [];
    let items: ListLine[] = [];
    const endList = (): void => {
      if (items.length > 0) html.push(listHtml(items));
      items = [];
    };
    for (const paragraph of paragraphs) {
      const text = this.runs(paragraph);
      if (text.trim() === '') continue;
      const bullet = bulletOf(paragraph, isBulleted && paragraphs.length > 1);
      if (bullet !== null) items.push({ ...bullet, html: text });
      else {
        endList();
        html.push(`<p>${text}</p>`);
      }
    }
    endList();
    return html.join('\n');
  }

  private runs(paragraph: XmlElement): string {
    return elementsOf(paragraph)
      .map((run) => {
        if (run.name === 'br') return '<br>';
        return run.name === 'r' || run.name === 'fld' ? this.run(run) : '';
      })
      .join('');
  }

  private run(run: XmlElement): string {
    const style = childAt(run, 'rPr');
    let html = escapeHtml(textOf(childAt(run, 't')));
    if (attribute(style, 'i') === '1') html = wrap('em', html);
    if (attribute(style, 'b') === '1') html = wrap('strong', html);
    const click = childAt(style, 'hlinkClick');
    const target = click === null ? undefined : this.relations.get(relationId(click));
    return target?.type === 'hyperlink' ? link(target.target, html) : html;
  }

  private frame(frame: XmlElement): string {
    const data = childAt(frame, 'graphic', 'graphicData');
    const table = childAt(data, 'tbl');
    if (table !== null) return tableHtml(childrenNamed(table, 'tr').map((row) => this.tableRow(row)));
    const diagram = childAt(data, 'relIds');
    if (diagram !== null) return this.diagram(this.relations.get(relationId(diagram, 'dm'))?.target);
    return wrap('p', imageText(attribute(childAt(frame, 'nvGraphicFramePr', 'cNvPr'), 'descr')));
  }

  private tableRow(row: XmlElement): Cell[] {
    return childrenNamed(row, 'tc')
      .filter((cell) => attribute(cell, 'hMerge') !== '1' && attribute(cell, 'vMerge') !== '1')
      .map((cell) => ({
        html: childrenNamed(childAt(cell, 'txBody'), 'p')
          .map((paragraph) => this.runs(paragraph))
          .join('<br>'),
        colspan: Number(attribute(cell, 'gridSpan') ?? 1),
        rowspan: Number(attribute(cell, 'rowSpan') ?? 1),
      }));
  }

  /** The texts of a drawing made of boxes and arrows. */
  private diagram(part: string | undefined): string {
    const points = childAt(part === undefined ? null : this.files.xml(part), 'ptLst');
    const texts = descendantsNamed(points, 'p').map((paragraph) => this.runs(paragraph));
    const lines = texts.filter((text) => text.trim() !== '').map((html) => ({ level: 0, isOrdered: false, html }));
    return listHtml(lines);
  }

  private notes(): string {
    const target = [...this.relations.values()].find(({ type }) => type === 'notesSlide')?.target;
    if (target === undefined) return '';
    const reader = new SlideReader(this.files, target);
    const shapes = reader.shapesOf(childAt(this.files.xml(target), 'cSld', 'spTree'));
    const html = shapes
      .filter((shape) => placeholderOf(shape) === 'body')
      .map((shape) => reader.paragraphs(childrenNamed(childAt(shape, 'txBody'), 'p'), false))
      .join('\n');
    return html.trim() === '' ? '' : `\n<h3>Notes</h3>\n${html}`;
  }
}

/** null for a shape of its own; `obj` for a place without a kind. */
function placeholderOf(shape: XmlElement): string | null {
  const place = childAt(elementsOf(shape)[0] ?? null, 'nvPr', 'ph');
  return place === null ? null : (attribute(place, 'type') ?? 'obj');
}

function isTitle(shape: XmlElement): boolean {
  return shape.name === 'sp' && /^(title|ctrTitle)$/.test(placeholderOf(shape) ?? '');
}

/** null: no item of a list. */
function bulletOf(paragraph: XmlElement, isUsual: boolean): Pick<ListLine, 'level' | 'isOrdered'> | null {
  const style = childAt(paragraph, 'pPr');
  const names = new Set(elementsOf(style).map(({ name }) => name));
  const isItem =
    names.has('buChar') || names.has('buAutoNum') || names.has('buBlip') || (isUsual && !names.has('buNone'));
  return isItem ? { level: Number(attribute(style, 'lvl') ?? 0), isOrdered: names.has('buAutoNum') } : null;
}
