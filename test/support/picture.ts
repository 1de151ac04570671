/** Pictures in answers, decoded: their size, their colours, and a hash that alike pictures share. */
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';

export interface Picture {
  type: 'png' | 'jpeg';
  width: number;
  height: number;
  bytes: number;
  /** `r,g,b` at a pixel, each rounded to 0, 128 or 255: JPEG is not exact. */
  colorAt(x: number, y: number): string;
  /** For each of 16 x 16 cells, whether it is brighter than the whole. */
  hash(): string;
}

export function readPicture(dataUri: string): Picture {
  const [, type, base64] = /^data:image\/(png|jpeg);base64,([A-Za-z0-9+/]+=*)$/.exec(dataUri) ?? [];
  if (base64 === undefined) throw new Error(`no picture: ${dataUri.slice(0, 80)}`);
  const file = Buffer.from(base64, 'base64');
  const { width, height, data } =
    type === 'png' ? PNG.sync.read(file) : jpeg.decode(file, { maxMemoryUsageInMB: 1024, useTArray: true });
  const at = (x: number, y: number): number[] => [...data.subarray(4 * (y * width + x), 4 * (y * width + x) + 3)];
  return {
    type: type as Picture['type'],
    width,
    height,
    bytes: file.length,
    colorAt: (x, y) =>
      at(x, y)
        .map((value) => Math.min(255, Math.round(value / 127.5) * 128))
        .join(','),
    hash: () => averageHash((x, y) => at(Math.floor(x * width), Math.floor(y * height))),
  };
}

export function hashDistance(one: string, other: string): number {
  return [...one].filter((bit, index) => bit !== other[index]).length;
}

const CELLS = 16;

function averageHash(at: (x: number, y: number) => number[]): string {
  const levels: number[] = [];
  for (let cell = 0; cell < CELLS * CELLS; cell++) {
    const [red = 0, green = 0, blue = 0] = at(((cell % CELLS) + 0.5) / CELLS, (Math.floor(cell / CELLS) + 0.5) / CELLS);
    levels.push(0.299 * red + 0.587 * green + 0.114 * blue);
  }
  const mean = levels.reduce((sum, level) => sum + level, 0) / levels.length;
  return levels.map((level) => (level > mean ? '1' : '0')).join('');
}
