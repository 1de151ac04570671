/**
 * Bytes of a page to text. Order: BOM, Content-Type, `<meta>` in the first 1,024 bytes, UTF-8 if the bytes are valid,
 * else windows-1252. Broken bytes become U+FFFD; an unknown charset name counts as none.
 */
import { isAscii, isUtf8 } from 'node:buffer';

const UTF_8 = new TextDecoder('utf-8');
const PRESCAN_BYTES = 1024;
const META_TAG = /<meta[\s/][^>]{0,1000}/gi;
const CHARSET = /charset\s{0,20}=\s{0,20}["']?\s{0,20}([a-z0-9_:.-]{1,40})/i;
/** windows-1252 for 0x80-0x9F: Node 20's decoder treats them as Latin-1 control characters. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
const C1 = /[\x80-\x9f]/g;

/** NUL characters are left out, as browsers do: no text means them, and not every store can keep them. */
export function decodeBody(bytes: Uint8Array, contentType: string | null, rendered = false): string {
  const text = decode(bytes, contentType, rendered);
  // Asked of the bytes, where the search is fast: only UTF-16 has zero bytes in other characters.
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(0) ? text.replaceAll('\0', '') : text;
}

function decode(bytes: Uint8Array, contentType: string | null, rendered: boolean): string {
  const bom = charsetOfBom(bytes);
  if (bom !== null) return decodeAs(bom, bytes) ?? '';
  if (rendered) return decodeUtf8(bytes);
  const declared = charsetIn(contentType ?? '') ?? charsetOfMeta(bytes);
  const text = declared === null ? null : decodeAs(declared, bytes);
  return text ?? decodeUnlabelled(bytes);
}

/** One character per byte, U+0000 to U+00FF. */
export function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

function charsetOfBom(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return null;
}

function charsetIn(text: string): string | null {
  return CHARSET.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** A `<meta>` that could be read as ASCII cannot stand in UTF-16: that label means UTF-8 (HTML standard). */
function charsetOfMeta(bytes: Uint8Array): string | null {
  const head = latin1(bytes.subarray(0, PRESCAN_BYTES));
  for (const [tag] of head.matchAll(META_TAG)) {
    const charset = charsetIn(tag);
    if (charset !== null) return charset.startsWith('utf-16') ? 'utf-8' : charset;
  }
  return null;
}

/** ASCII becomes a one-byte string, which every later pass reads faster. */
function decodeUtf8(bytes: Uint8Array): string {
  if (isAscii(bytes)) return latin1(bytes);
  return bytes.length <= MAX_SHARED_UNITS && isUtf8(bytes) ? decodeValidUtf8(bytes) : UTF_8.decode(bytes);
}

const MAX_SHARED_UNITS = 1 << 20;
const BYTE_ORDER_MARK = 0xfeff;
const SHARED_UNITS = new Uint16Array(MAX_SHARED_UNITS);
const SHARED_BYTES = Buffer.from(SHARED_UNITS.buffer);

/** Decodes as `UTF_8` does, in three quarters of its time: most of a page is ASCII, four bytes at once. Without a BOM. */
function decodeValidUtf8(bytes: Uint8Array): string {
  const units = SHARED_UNITS;
  const lastFour = bytes.length - 4;
  let to = 0;
  for (let i = 0; i < bytes.length;) {
    while (i <= lastFour) {
      const a = bytes[i]!;
      const b = bytes[i + 1]!;
      const c = bytes[i + 2]!;
      const d = bytes[i + 3]!;
      if ((a | b | c | d) > 0x7f) break;
      units[to] = a;
      units[to + 1] = b;
      units[to + 2] = c;
      units[to + 3] = d;
      to += 4;
      i += 4;
    }
    if (i >= bytes.length) break;
    const lead = bytes[i++]!;
    if (lead < 0x80) units[to++] = lead;
    else if (lead < 0xe0) units[to++] = ((lead & 0x1f) << 6) | (bytes[i++]! & 0x3f);
    else if (lead < 0xf0) units[to++] = ((lead & 0x0f) << 12) | ((bytes[i++]! & 0x3f) << 6) | (bytes[i++]! & 0x3f);
    else {
      const plane = ((lead & 0x07) << 18) | ((bytes[i++]! & 0x3f) << 12) | ((bytes[i++]! & 0x3f) << 6);
      const point = (plane | (bytes[i++]! & 0x3f)) - 0x10000;
      units[to++] = 0xd800 | (point >> 10);
      units[to++] = 0xdc00 | (point & 0x3ff);
    }
  }
  const from = units[0] === BYTE_ORDER_MARK ? 1 : 0;
  return SHARED_BYTES.toString('utf16le', 2 * from, 2 * to);
}

function decodeAs(charset: string, bytes: Uint8Array): string | null {
  if (charset === 'utf-8') return decodeUtf8(bytes);
  try {
    const decoder = new TextDecoder(charset);
    if (decoder.encoding === 'windows-1252') return decodeWindows1252(bytes);
    return decoder.encoding === 'utf-8' ? decodeUtf8(bytes) : decoder.decode(bytes);
  } catch {
    return null;
  }
}

function decodeWindows1252(bytes: Uint8Array): string {
  return latin1(bytes).replace(C1, (c) => WINDOWS_1252[c.charCodeAt(0) - 0x80]!);
}

function decodeUnlabelled(bytes: Uint8Array): string {
  return isUtf8(bytes) ? decodeUtf8(bytes) : decodeWindows1252(bytes);
}
