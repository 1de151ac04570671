/** One page of a file as spans, lines and links, in upright coordinates: the input of the layout. */
import { joinAccent } from './accents.js';
import { boxThrough, type Box, type Matrix, multiply, place } from './geometry.js';
import type { PdfJs, PdfPage } from './pdf-js.js';
import { readPainted, type Painted } from './rules.js';
import { nearestSpace } from './segments.js';
import { sliceSpan, spanBox, type Span } from './span.js';
import type { StructNode } from './tagged.js';

export interface RawPage {
  number: number;
  width: number;
  height: number;
  /** Text that runs the way most of the page's does, turned upright. */
  spans: Span[];
  /** Text that runs another way: names of axes, stamps at the edge. */
  turned: Span[][];
  painted: Painted;
  /** null: the page is not tagged. */
  structure: StructNode | null;
}

/** Text beyond this is not read from one page. */
const MAX_SPANS = 100_000;

interface TextItem {
  str: string;
  dir: string;
  width: number;
  height: number;
  transform: number[];
  fontName: string;
}

interface MarkItem {
  type: string;
  id?: string | null;
  tag?: string | null;
}

interface Face {
  isBold: boolean;
  isItalic: boolean;
  isMono: boolean;
}

export async function readPage(pdfJs: PdfJs, page: PdfPage): Promise<RawPage> {
  const viewport = page.getViewport({ scale: 1 });
  const view = viewport.transform as unknown as Matrix;
  const list = await page.getOperatorList();
  const painted = readPainted(pdfJs, list, view);
  const content = await page.getTextContent({ includeMarkedContent: true });
  const annotations = (await page.getAnnotations({ intent: 'display' })) as Annotation[];
  const structure = (await page.getStructTree().catch(() => null)) as StructNode | null;
  const size = { width: viewport.width, height: viewport.height };
  const styles = content.styles as Record<string, { fontFamily: string; vertical: boolean }>;
  const faces = new Map<string, Face>();
  const faceOf = (fontName: string): Face => {
    const known = faces.get(fontName) ?? readFace(page, fontName, styles[fontName]?.fontFamily ?? '');
    faces.set(fontName, known);
    return known;
  };
  const items = content.items as unknown as (TextItem | MarkItem)[];
  const byTurn = readSpans(items, { view, size, styles, faceOf });
  byTurn[0]!.push(...fieldSpans(annotations, view));
  const main = byTurn.reduce((most, spans, turn) => (lengthOf(spans) > lengthOf(byTurn[most]!) ? turn : most), 0);
  const links = annotations.flatMap((annotation) => linkOf(annotation, view));
  const spans = byTurn.map((each, turn) => each.flatMap((span) => linkedPieces(span, turnedLinks(links, turn, size))));
  const isTurned = main % 2 === 1;
  return {
    number: page.pageNumber,
    width: isTurned ? size.height : size.width,
    height: isTurned ? size.width : size.height,
    spans: spans[main]!,
    turned: spans.filter((each, turn) => turn !== main && each.length > 0),
    painted: main === 0 ? painted : { ...painted, horizontal: [], vertical: [] },
    structure,
  };
}

function lengthOf(spans: readonly Span[]): number {
  return spans.reduce((sum, span) => sum + span.text.length, 0);
}

interface Size {
  width: number;
  height: number;
}

interface Reading {
  view: Matrix;
  size: Size;
  styles: Record<string, { fontFamily: string; vertical: boolean }>;
  faceOf: (fontName: string) => Face;
}

/** Spans by the quarter turns that their text is turned, each set upright. */
function readSpans(items: readonly (TextItem | MarkItem)[], reading: Reading): Span[][] {
  const byTurn: Span[][] = [[], [], [], []];
  const marks: { id: string | null; isArtifact: boolean }[] = [];
  let count = 0;
  for (const item of items) {
    if (!('str' in item)) {
      if (item.type === 'endMarkedContent') marks.pop();
      else if (marks.length < 1000) marks.push({ id: item.id ?? null, isArtifact: item.tag === 'Artifact' });
      continue;
    }
    if (item.str.trim() === '' || count >= MAX_SPANS) continue;
    const placed = placeItem(item, reading);
    if (placed === null) continue;
    count++;
    const tag = marks.findLast(({ id }) => id !== null)?.id ?? null;
    const isArtifact = marks.some((mark) => mark.isArtifact);
    append(byTurn[placed.turn]!, { ...placed.span, tag, isArtifact });
  }
  return byTurn;
}

function append(spans: Span[], span: Span): void {
  const last = spans.at(-1);
  const joined = last === undefined ? null : joinAccent(last, span);
  if (joined !== null) spans.splice(-1, 1, ...(joined.before === null ? [] : [joined.before]));
  spans.push(joined?.span ?? span);
}

/** Letters in the shape they take beside others, and ligatures, stand for the letters themselves. */
const SHAPES = /[\ufb00-\ufb06\ufb1d-\ufdff\ufe70-\ufefc]+/g;
const INVISIBLE = /[\u0000\ufffe\uffff\u200b\ufeff]/g;

function placeItem(item: TextItem, { view, size, styles, faceOf }: Reading): { turn: number; span: Span } | null {
  const text = item.str
    .replace(INVISIBLE, '')
    .replace(/\u00a0/g, ' ')
    .replace(SHAPES, (shapes) => shapes.normalize('NFKC'));
  if (text.trim() === '') return null;
  const matrix = multiply(view, item.transform as unknown as Matrix);
  const isVertical = styles[item.fontName]?.vertical === true;
  const scale = Math.hypot(matrix[2], matrix[3]);
  const fontSize = isVertical || item.height <= 0 ? scale : item.height;
  const length = isVertical ? item.height : item.width;
  const angle = Math.atan2(matrix[1], matrix[0]) + (isVertical ? Math.PI / 2 : 0);
  const turn = ((Math.round(angle / (Math.PI / 2)) % 4) + 4) % 4;
  const [x, baseline] = turnPoint([matrix[4], matrix[5]], turn, size);
  const isOutside = x < -size.width || x > 2 * Math.max(size.width, size.height) || !Number.isFinite(x + baseline);
  if (isOutside || fontSize < 0.5 || fontSize > 2000) return null;
  const face = faceOf(item.fontName);
  const isRtl = item.dir === 'rtl';
  const span = { text, x0: x, x1: x + Math.max(length, 0.1), baseline, size: fontSize, isRtl, ...face };
  return { turn, span: { ...span, href: null, tag: null, isArtifact: false } };
}

/** Where a point lies when text that runs in this turn is set upright. */
function turnPoint([x, y]: [number, number], turn: number, { width, height }: Size): [number, number] {
  if (turn === 1) return [y, width - x];
  if (turn === 2) return [width - x, height - y];
  if (turn === 3) return [height - y, x];
  return [x, y];
}

const BOLD = /bold|black|heavy|demi|semib|cmb|sfbx|sfrb|\bbx\d|medi\b/i;
const ITALIC = /ital|obliq|cmti|cmsl|cmmi|slant|sfti|[-,]it\b/i;
const MONO =
  /mono|courier|consol|cmtt|cmsltt|typewriter|menlo|monaco|lettergothic|inconsolata|nimbusmon|sftt|teletype|fixed|\bcode/i;

function readFace(page: PdfPage, fontName: string, family: string): Face {
  const font = page.commonObjs.has(fontName) ? (page.commonObjs.get(fontName) as Record<string, unknown>) : {};
  const name = (typeof font.name === 'string' ? font.name : '').replace(/^[A-Z]{6}\+/, '');
  return {
    isBold: BOLD.test(name) || font.bold === true || font.black === true,
    isItalic: ITALIC.test(name) || font.italic === true,
    isMono: MONO.test(name) || family === 'monospace',
  };
}

interface Annotation {
  subtype?: string;
  rect?: number[];
  url?: string;
  fieldValue?: unknown;
  fieldType?: string;
  hidden?: boolean;
}

interface Link {
  box: Box;
  href: string;
}

function annotationBox({ rect }: Annotation, view: Matrix): Box | null {
  if (rect?.length !== 4) return null;
  return boxThrough(view, { x0: rect[0]!, y0: rect[1]!, x1: rect[2]!, y1: rect[3]! });
}

/** Links to places inside of the document lead nowhere outside of it. */
function linkOf(annotation: Annotation, view: Matrix): Link[] {
  const box = annotationBox(annotation, view);
  const isOutward = annotation.subtype === 'Link' && /^(?:https?|mailto|tel):/i.test(annotation.url ?? '');
  return box !== null && isOutward ? [{ box, href: annotation.url! }] : [];
}

function turnedLinks(links: readonly Link[], turn: number, size: Size): readonly Link[] {
  if (turn === 0) return links;
  return links.map(({ box, href }) => {
    const [ax, ay] = turnPoint([box.x0, box.y0], turn, size);
    const [bx, by] = turnPoint([box.x1, box.y1], turn, size);
    const turned = { x0: Math.min(ax, bx), y0: Math.min(ay, by), x1: Math.max(ax, bx), y1: Math.max(ay, by) };
    return { box: turned, href };
  });
}

/** A span split where links on it begin and end, at the nearest spaces. */
function linkedPieces(span: Span, links: readonly Link[]): Span[] {
  const { x0, x1, y0, y1 } = spanBox(span);
  const link = links.find(({ box }) => {
    const middle = (y0 + y1) / 2;
    return box.y0 <= middle && box.y1 >= middle && Math.min(x1, box.x1) - Math.max(x0, box.x0) > 1;
  });
  if (link === undefined) return [span];
  const { box, href } = link;
  if (span.isRtl || (box.x0 <= x0 + 2 && box.x1 >= x1 - 2)) return [{ ...span, href }];
  const perChar = (x1 - x0) / span.text.length;
  const from = box.x0 <= x0 + 2 ? 0 : wordEdge(span.text, Math.round((box.x0 - x0) / perChar));
  const to = box.x1 >= x1 - 2 ? span.text.length : wordEdge(span.text, Math.round((box.x1 - x0) / perChar));
  if (to <= from) return [span];
  const rest = links.filter((other) => other !== link);
  const before = from > 0 ? linkedPieces(sliceSpan(span, 0, from), rest) : [];
  const after = to < span.text.length ? linkedPieces(sliceSpan(span, to, span.text.length), rest) : [];
  return [...before, { ...sliceSpan(span, from, to), href }, ...after];
}

function wordEdge(text: string, at: number): number {
  const space = nearestSpace(text, at);
  const edge = space === null ? at : space < at ? space + 1 : space;
  return Math.max(0, Math.min(text.length, edge));
}

/** Text that was filled into fields. It stands in no text of the page. */
function fieldSpans(annotations: readonly Annotation[], view: Matrix): Span[] {
  return annotations.flatMap((annotation) => {
    const box = annotation.subtype === 'Widget' && annotation.hidden !== true ? annotationBox(annotation, view) : null;
    const isText = annotation.fieldType === 'Tx' || annotation.fieldType === 'Ch';
    const value = typeof annotation.fieldValue === 'string' ? annotation.fieldValue.trim() : '';
    if (box === null || !isText || value === '') return [];
    const [x0, baseline] = place([1, 0, 0, 1, 0, 0], box.x0, box.y1 - (box.y1 - box.y0) * 0.25);
    const size = Math.min(12, Math.max(4, (box.y1 - box.y0) * 0.7));
    const face = { isBold: false, isItalic: false, isMono: false, isRtl: false };
    return [
      {
        text: value.slice(0, 10_000),
        x0,
        x1: box.x1,
        baseline,
        size,
        ...face,
        href: null,
        tag: null,
        isArtifact: false,
      },
    ];
  });
}
