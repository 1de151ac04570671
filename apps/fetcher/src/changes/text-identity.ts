/** When two texts of a page count as the same (docs/api/formats.md, "changeTracking"). Pure. */
import { createHash } from 'node:crypto';

const HALF_BYTES = 16;

/**
 * Two prints side by side: of the text without its white space, and of its lines in no order. Markdown holds no frames,
 * so that their changing addresses are no part of either.
 */
export function identityOf(markdown: string): Buffer {
  const lines = markdown
    .split('\n')
    .map((line) => line.replace(/\s+/g, ''))
    .filter((line) => line !== '');
  return Buffer.concat([print(lines.join('')), print(lines.sort().join('\n'))]);
}

export function isSameText(a: Buffer, b: Buffer): boolean {
  return [0, HALF_BYTES].some((at) => a.subarray(at, at + HALF_BYTES).equals(b.subarray(at, at + HALF_BYTES)));
}

function print(text: string): Buffer {
  return createHash('sha256').update(text).digest().subarray(0, HALF_BYTES);
}
