/** The lines that a page draws, and the places of its images, read from the list of painting operations. */
import { area, boxThrough, IDENTITY, multiply, overlap, place, type Box, type Matrix } from './geometry.js';
import type { PdfJs } from './pdf-js.js';

export interface HorizontalRule {
  y: number;
  x0: number;
  x1: number;
}

export interface VerticalRule {
  x: number;
  y0: number;
  y1: number;
}

export interface PaintedImage {
  /** From the unit square to the page. */
  matrix: Matrix;
  /** Name of its pixels among the page's objects, or the image itself; null: it was not decoded. */
  source: unknown;
}

/** The middle of a small round or square shape. */
export interface Dot {
  x: number;
  y: number;
}

export interface Painted {
  dots: Dot[];
  horizontal: HorizontalRule[];
  vertical: VerticalRule[];
  images: PaintedImage[];
}

export interface OperatorList {
  fnArray: number[];
  argsArray: unknown[];
}

/** Rules of a page beyond this are a drawing. */
const MAX_RULES = 5_000;
const MAX_DOTS = 300;
/** Thicker is an area, in points. */
const MAX_THICKNESS = 3;
/** Shorter is an ornament or part of a letter, in points. */
const MIN_LENGTH = 6;
/** Depth of what a file may stack; more is not followed. */
const MAX_DEPTH = 200;

/** @param view from the page's own coordinates to ours */
// eslint-disable-next-line complexity -- one case an operator
export function readPainted(pdfJs: PdfJs, list: OperatorList, view: Matrix): Painted {
  const { OPS } = pdfJs;
  const reader = new PaintReader(view);
  const strokes = new Set([OPS.stroke, OPS.closeStroke, OPS.fillStroke, OPS.eoFillStroke, OPS.closeFillStroke]);
  const fills = new Set([OPS.fill, OPS.eoFill, OPS.fillStroke, OPS.eoFillStroke, OPS.closeFillStroke]);
  for (const [i, fn] of list.fnArray.entries()) {
    const args = list.argsArray[i];
    if (fn === OPS.save) reader.save();
    else if (fn === OPS.showText) reader.paint();
    else if (fn === OPS.restore || fn === OPS.paintFormXObjectEnd) reader.restore();
    else if (fn === OPS.transform) reader.transform(args);
    else if (fn === OPS.paintFormXObjectBegin) {
      reader.save();
      reader.transform((args as unknown[])[0]);
    } else if (fn === OPS.constructPath) {
      const [paint, [path], bounds] = args as [number, [ArrayLike<number> | null], ArrayLike<number> | null];
      if (path !== null && bounds !== null) reader.path(path, strokes.has(paint), fills.has(paint));
      if (bounds !== null && (strokes.has(paint) || fills.has(paint))) reader.dot(bounds);
    } else if (fn === OPS.paintImageXObject || fn === OPS.paintInlineImageXObject) {
      reader.image((args as unknown[])[0]);
    } else if (fn === OPS.paintImageMaskXObject) {
      const mask = (args as { data?: unknown }[])[0];
      reader.image(typeof mask?.data === 'string' ? mask.data : mask);
    }
  }
  return reader.painted;
}

class PaintReader {
  readonly painted: Painted = { dots: [], horizontal: [], vertical: [], images: [] };
  private matrix: Matrix;
  private readonly stack: Matrix[] = [];
  /** Something was painted since the coordinates changed. */
  private hasPainted = true;

  constructor(view: Matrix) {
    this.matrix = multiply(view, IDENTITY);
  }

  save(): void {
    if (this.stack.length < MAX_DEPTH) this.stack.push(this.matrix);
  }

  /** Coordinates changed for nothing: an image was to be painted in them that was not decoded. */
  restore(): void {
    if (!this.hasPainted) this.image(null);
    this.matrix = this.stack.pop() ?? this.matrix;
  }

  transform(args: unknown): void {
    const values = Array.isArray(args) || ArrayBuffer.isView(args) ? [...(args as ArrayLike<number> & number[])] : [];
    if (values.length === 6 && values.every(Number.isFinite)) {
      this.matrix = multiply(this.matrix, values as unknown as Matrix);
      this.hasPainted = false;
    }
  }

  paint(): void {
    this.hasPainted = true;
  }

  image(source: unknown): void {
    this.paint();
    if (this.painted.images.length < MAX_RULES) this.painted.images.push({ matrix: this.matrix, source });
  }

  path(path: ArrayLike<number>, isStroked: boolean, isFilled: boolean): void {
    this.paint();
    if (!isStroked && !isFilled) return;
    for (const points of subpaths(path)) {
      const placed = points.map(([x, y]) => place(this.matrix, x, y));
      const box = boundsOf(placed);
      const isThin = Math.min(box.x1 - box.x0, box.y1 - box.y0) <= MAX_THICKNESS;
      if (isThin) this.rule(box);
      else if (isStroked) this.edges(placed);
      else if (isRectangle(placed, box)) this.rectangle(box);
    }
  }

  dot(bounds: ArrayLike<number>): void {
    const { x0, y0, x1, y1 } = boxThrough(this.matrix, {
      x0: bounds[0]!,
      y0: bounds[1]!,
      x1: bounds[2]!,
      y1: bounds[3]!,
    });
    const isSmall = x1 - x0 > 1.5 && x1 - x0 < 7 && Math.abs(x1 - x0 - (y1 - y0)) < 1;
    if (isSmall && this.painted.dots.length < MAX_DOTS) this.painted.dots.push({ x: (x0 + x1) / 2, y: (y0 + y1) / 2 });
  }

  private edges(points: readonly (readonly [number, number])[]): void {
    for (let i = 1; i < points.length; i++) this.rule(boundsOf([points[i - 1]!, points[i]!]));
  }

  /** Cells are shaded as areas beside each other, whose edges are the lines between them. */
  private rectangle({ x0, y0, x1, y1 }: Box): void {
    if (y1 - y0 > 120) return;
    this.rule({ x0, x1, y0, y1: y0 });
    this.rule({ x0, x1, y0: y1, y1 });
    this.rule({ x0, x1: x0, y0, y1 });
    this.rule({ x0: x1, x1, y0, y1 });
  }

  private rule({ x0, y0, x1, y1 }: Box): void {
    const { horizontal, vertical } = this.painted;
    if (horizontal.length + vertical.length >= MAX_RULES) return;
    const width = x1 - x0;
    const height = y1 - y0;
    if (height <= MAX_THICKNESS && width >= MIN_LENGTH) horizontal.push({ y: (y0 + y1) / 2, x0, x1 });
    else if (width <= MAX_THICKNESS && height >= MIN_LENGTH) vertical.push({ x: (x0 + x1) / 2, y0, y1 });
  }
}

function boundsOf(points: readonly (readonly [number, number])[]): Box {
  const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  for (const [x, y] of points) {
    box.x0 = Math.min(box.x0, x);
    box.y0 = Math.min(box.y0, y);
    box.x1 = Math.max(box.x1, x);
    box.y1 = Math.max(box.y1, y);
  }
  return box;
}

function isRectangle(points: readonly (readonly [number, number])[], { x0, y0, x1, y1 }: Box): boolean {
  const isCorner = ([x, y]: readonly [number, number]) =>
    (Math.abs(x - x0) < 1 || Math.abs(x - x1) < 1) && (Math.abs(y - y0) < 1 || Math.abs(y - y1) < 1);
  return points.length >= 4 && points.length <= 6 && points.every(isCorner);
}

/** How many numbers follow each kind of step (move, line, curve, quadratic curve, close). */
const STEP_ARGUMENTS = [2, 2, 6, 4, 0];
const CLOSE = 4;

/** Straight pieces of a path; curves end what came before them. */
function subpaths(path: ArrayLike<number>): [number, number][][] {
  const all: [number, number][][] = [];
  let points: [number, number][] = [];
  for (let i = 0; i < path.length && all.length < MAX_RULES;) {
    const step = path[i]!;
    const count = STEP_ARGUMENTS[step];
    if (count === undefined) break;
    const x = path[i + count - 1]!;
    const y = path[i + count]!;
    if (step === CLOSE) {
      if (points.length > 1) points.push(points[0]!);
    } else if (step === 1) points.push([x, y]);
    else {
      if (points.length > 1) all.push(points);
      points = [[x, y]];
    }
    i += count + 1;
  }
  if (points.length > 1) all.push(points);
  return all;
}

/** How much of the page images cover, 0 to 1. */
export function coverage(images: readonly PaintedImage[], page: Box): number {
  const unit = { x0: 0, y0: 0, x1: 1, y1: 1 };
  const covered = images.reduce((sum, { matrix }) => sum + area(overlap(boxThrough(matrix, unit), page)), 0);
  return Math.min(1, covered / Math.max(1, area(page)));
}
