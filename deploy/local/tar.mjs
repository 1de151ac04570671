/** As much of tar as it takes to get one file out of an npm package. */
import { gunzipSync } from 'node:zlib';

const BLOCK = 512;

/** @param {Buffer} header @param {number} from @param {number} length */
const textOf = (header, from, length) => header.toString('utf8', from, from + length).replace(/\0.*$/s, '');

/**
 * @param {Buffer} tgz
 * @param {string} wanted whole name of the file in the archive
 * @returns {Buffer}
 */
export function readTarEntry(tgz, wanted) {
  const tar = gunzipSync(tgz);
  for (let at = 0; at + BLOCK <= tar.length;) {
    const header = tar.subarray(at, at + BLOCK);
    const size = parseInt(textOf(header, 124, 12), 8) || 0;
    const start = at + BLOCK;
    if (textOf(header, 0, 100) === wanted && start + size <= tar.length) return tar.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
  throw new Error(`the archive does not hold ${wanted}`);
}
