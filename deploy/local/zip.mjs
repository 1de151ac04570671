import { inflateRawSync } from 'node:zlib';

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;

/** @param {Buffer} zip */
function findDirectory(zip) {
  for (let at = zip.length - 22; at >= Math.max(0, zip.length - 65_557); at--) {
    if (zip.readUInt32LE(at) === END_OF_DIRECTORY)
      return { count: zip.readUInt16LE(at + 10), offset: zip.readUInt32LE(at + 16) };
  }
  throw new Error('not a zip file');
}

/**
 * One file of a zip archive (stored or deflated, below 4 GB; wheels are such archives).
 *
 * @param {Buffer} zip
 * @param {(name: string) => boolean} isWanted the first match is read
 * @returns {Buffer}
 */
export function readZipEntry(zip, isWanted) {
  const { count, offset } = findDirectory(zip);
  let at = offset;
  for (let i = 0; i < count; i++) {
    if (zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw new Error('damaged zip directory');
    const nameLength = zip.readUInt16LE(at + 28);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    if (isWanted(name)) return readEntryAt(zip, at);
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error('the archive does not hold the wanted file');
}

/** @param {Buffer} zip @param {number} at */
function readEntryAt(zip, at) {
  const method = zip.readUInt16LE(at + 10);
  const packed = zip.readUInt32LE(at + 20);
  const local = zip.readUInt32LE(at + 42);
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const bytes = zip.subarray(start, start + packed);
  if (method !== 0 && method !== 8) throw new Error(`unknown compression method ${method} in the archive`);
  return method === 0 ? Buffer.from(bytes) : inflateRawSync(bytes);
}
