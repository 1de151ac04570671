/** Places on a page, in points; x grows to the right and y downwards, as one reads. */

export interface Box {
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

/** [a, b, c, d, e, f]: x' = ax + cy + e, y' = bx + dy + f. */
export type Matrix = readonly [number, number, number, number, number, number];

export const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

/** First `inner`, then `outer`. */
export function multiply(outer: Matrix, inner: Matrix): Matrix {
  return [
    outer[0] * inner[0] + outer[2] * inner[1],
    outer[1] * inner[0] + outer[3] * inner[1],
    outer[0] * inner[2] + outer[2] * inner[3],
    outer[1] * inner[2] + outer[3] * inner[3],
    outer[0] * inner[4] + outer[2] * inner[5] + outer[4],
    outer[1] * inner[4] + outer[3] * inner[5] + outer[5],
  ];
}

export function place([a, b, c, d, e, f]: Matrix, x: number, y: number): [number, number] {
  return [a * x + c * y + e, b * x + d * y + f];
}

/** null: the matrix flattens everything. */
export function invert([a, b, c, d, e, f]: Matrix): Matrix | null {
  const det = a * d - b * c;
  if (!Number.isFinite(det) || Math.abs(det) < 1e-12) return null;
  return [d / det, -b / det, -c / det, a / det, (c * f - d * e) / det, (b * e - a * f) / det];
}

/** The upright box around a rectangle seen through a matrix. */
export function boxThrough(matrix: Matrix, { x0, y0, x1, y1 }: Box): Box {
  const corners = [place(matrix, x0, y0), place(matrix, x1, y0), place(matrix, x0, y1), place(matrix, x1, y1)];
  const xs = corners.map(([x]) => x);
  const ys = corners.map(([, y]) => y);
  return { x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
}

export function area({ x0, y0, x1, y1 }: Box): number {
  return Math.max(0, x1 - x0) * Math.max(0, y1 - y0);
}

export function overlap(a: Box, b: Box): Box {
  return { x0: Math.max(a.x0, b.x0), y0: Math.max(a.y0, b.y0), x1: Math.min(a.x1, b.x1), y1: Math.min(a.y1, b.y1) };
}

export function around(boxes: readonly Box[]): Box {
  const all = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  for (const box of boxes) {
    all.x0 = Math.min(all.x0, box.x0);
    all.y0 = Math.min(all.y0, box.y0);
    all.x1 = Math.max(all.x1, box.x1);
    all.y1 = Math.max(all.y1, box.y1);
  }
  return all;
}

/** 0 for none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
